/* SPDX-License-Identifier: MIT */
/* Sorts vGPUs, and divides whole steps among them in proportion to weights, with limits. */
#ifndef POLICY_SHARE_H
#define POLICY_SHARE_H

#include <stdint.h>

#include "policy/policy.h"

/* Sorts @n indices of vGPUs by id. */
void sort_by_id(const struct policy_gpu *gpu, int *vgpus, int n);

/* Sets @ret_vgpus to the indices of all vGPUs, sorted by id. */
void sort_all_by_id(const struct policy_gpu *gpu, int ret_vgpus[POLICY_VGPUS_MAX]);

/* A vGPU that gets a part. All members are integers, so that no result depends on the order. */
struct share {
	const char *id;
	int vgpu;	/* index for the caller; not used here */
	int64_t weight; /* weight relative to the other entries, 1 to 1e9 */
	int limit;	/* largest part in steps, 1 to 100 */
	int steps;	/* out */
	int64_t rest;	/* internal */
};

/*
 * Divides @total steps among at most POLICY_VGPUS_MAX @shares in proportion to their weights. No
 * share exceeds its limit. Steps left over by rounding go to the largest remainders; ties go to the
 * lowest id. Returns the steps divided: the smaller of @total and the sum of limits, or 0 if @total
 * is negative.
 */
int share_divide(struct share *shares, int n, int total);

#endif
