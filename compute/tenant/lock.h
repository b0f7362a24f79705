/* SPDX-License-Identifier: MIT */
/*
 * A lock for sections of a few hundred nanoseconds. Unlike a mutex, it can be reset in a forked
 * child: false means unlocked.
 */
#ifndef COMPUTE_TENANT_LOCK_H
#define COMPUTE_TENANT_LOCK_H

#include <sched.h>
#include <stdbool.h>

#include "base/preload/sandbox.h"

#define TENANT_LOCK_SPINS 1000

static inline void tenant_lock(bool *locked)
{
	for (unsigned int spins = 1; __atomic_exchange_n(locked, true, __ATOMIC_ACQUIRE); spins++)
		if (spins % TENANT_LOCK_SPINS == 0 && sandbox_allows_calls())
			(void)sched_yield();
}

static inline void tenant_unlock(bool *locked)
{
	__atomic_store_n(locked, false, __ATOMIC_RELEASE);
}

#endif
