/* SPDX-License-Identifier: MIT */
/* Proportional division of whole steps, with limits. */
#ifndef POLICY_SHARE_H
#define POLICY_SHARE_H

#include <stdint.h>

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
