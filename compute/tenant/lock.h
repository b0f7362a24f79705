/* SPDX-License-Identifier: MIT */
/*
 * A lock for sections of a few hundred nanoseconds. Unlike a mutex, it can be reset in a forked
 * child: false means unlocked.
 */
#ifndef COMPUTE_TENANT_LOCK_H
#define COMPUTE_TENANT_LOCK_H

#include <sched.h>
#include <stdbool.h>

static inline void tenant_lock(bool *locked)
{
	while (__atomic_exchange_n(locked, true, __ATOMIC_ACQUIRE))
		(void)sched_yield();
}

static inline void tenant_unlock(bool *locked)
{
	__atomic_store_n(locked, false, __ATOMIC_RELEASE);
}

#endif
