/* SPDX-License-Identifier: MIT */
/* Proportional division of whole steps, with limits. */
#ifndef POLICY_SHARE_H
#define POLICY_SHARE_H

#include <stdint.h>

/* One participant. All members are integers, so that no result depends on the order of a sum. */
struct share {
	const char *id;
	int vgpu;	/* an index that only the caller uses */
	int64_t weight; /* 1 to 1e9, in any unit */
	int limit;	/* steps, 1 to 100 */
	int steps;	/* out */
	int64_t rest;	/* internal */
};

/*
 * Divides @total steps among at most POLICY_VGPUS_MAX @shares in proportion to their weights, none
 * above its limit. Steps left over by the division go to the largest remainders; ties go to the
 * lowest id. Returns the steps divided: the lesser of @total and the sum of limits, or 0 if @total
 * is negative.
 */
int share_divide(struct share *shares, int n, int total);

#endif
