/* SPDX-License-Identifier: MIT */
/* Dividing whole steps in proportion: what the pool gives, what givers lose, what a fit cuts. */
#ifndef POLICY_SHARE_H
#define POLICY_SHARE_H

#include <stdint.h>

/* One who takes part in a division. Integers, so that no result depends on the order of a sum. */
struct share {
	const char *id;
	int vgpu;	/* index, the caller's own */
	int64_t weight; /* 1 to 1e9, in any unit */
	int limit;	/* at most so many steps, 1 to 100 */
	int steps;	/* out: what falls to it */
	int64_t rest;	/* used inside */
};

/*
 * Divides @total steps among at most POLICY_VGPUS_MAX @shares in proportion to their weights, none
 * above its limit; odd steps go to the largest remainders, ties to the lowest id. Returns the steps
 * divided: @total or the sum of limits, whichever is less; 0 when @total is not above 0.
 */
int share_divide(struct share *shares, int n, int total);

#endif
