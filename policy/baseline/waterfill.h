/* SPDX-License-Identifier: MIT */
/* Water-filling: weighted max-min allocation of whole steps. */
#ifndef POLICY_BASELINE_WATERFILL_H
#define POLICY_BASELINE_WATERFILL_H

#include <stdint.h>

#include "policy/policy.h"

#define WATERFILL_MAX \
	(POLICY_VGPUS_MAX + 1) /* largest number of entries: all vGPUs and a newcomer */

/* A vGPU or a newcomer. All members are integers, so that no result depends on the order. */
struct waterfill_entry {
	const char *id; /* NULL: the newcomer, which loses every tie */
	int vgpu;	/* index for the caller; not used here */
	int64_t weight; /* weight relative to the other entries, 1 to 1e9 */
	int steps;	/* before the call: the floor; after the call: the allocation */
	int limit;	/* largest allocation in steps, at most 100 */
};

/*
 * Gives @extra steps one by one, each to the entry whose allocation is smallest in proportion to
 * its weight. An entry at its limit gets no step. Ties go to the lowest id. Returns the steps
 * given: fewer than @extra if the limits do not allow more.
 */
int waterfill_allocate(struct waterfill_entry *fills, int n, int extra);

#endif
