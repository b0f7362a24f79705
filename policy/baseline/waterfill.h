/* SPDX-License-Identifier: MIT */
/* Filling up from below: whole steps to whoever has least for its weight, as water finds its level.
 */
#ifndef POLICY_BASELINE_WATERFILL_H
#define POLICY_BASELINE_WATERFILL_H

#include <stdint.h>

#include "policy/policy.h"

#define WATERFILL_MAX (POLICY_VGPUS_MAX + 1) /* all vGPUs and a newcomer */

/* One who takes part. Integers, so that no result depends on an order. */
struct waterfill_entry {
	const char *id; /* NULL: the newcomer, who stands after all others */
	int vgpu;	/* index, the caller's own */
	int64_t weight; /* 1 to 1e9, in any unit */
	int steps;	/* in: what it has, its floor; out: what it has then */
	int limit;	/* at most so many steps, 100 at most */
};

/*
 * Gives @extra steps one by one, each to who has least for its weight and is below its limit, ties
 * to the lowest id: weighted max-min, whole steps apart. Returns the steps given, @extra or what
 * the limits allow; 0 when @extra is not above 0.
 */
int waterfill_allocate(struct waterfill_entry *fills, int n, int extra);

#endif
