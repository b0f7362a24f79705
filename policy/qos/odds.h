/* SPDX-License-Identifier: MIT */
/* The chance that a GPU is wanted more than whole, from what its vGPUs wanted lately. */
#ifndef POLICY_QOS_ODDS_H
#define POLICY_QOS_ODDS_H

#include "policy/policy.h"

#define ODDS_WANTS 101 /* 0..100 percent of the GPU */

/* What all vGPUs together want, if what one wants says nothing of another: the chance of each whole
 * percent, and last of more than there is. */
struct odds {
	double share[ODDS_WANTS + 1];
	int top; /* no chance above it */
};

/*
 * Sums up the vGPUs of @gpu. Floors count, and who is held counts at its cap. Where nobody can be
 * moved away (gpu->migrates), what has not been seen yet of a vGPU counts too.
 */
void odds_sum(const struct policy_params *params, const struct policy_gpu *gpu,
	      struct odds *ret_odds);

/* One vGPU's part of that sum: how often, of 1, it wants each percent. */
void odds_of(const struct policy_params *params, const struct policy_gpu *gpu, int index,
	     double ret_share[ODDS_WANTS]);

/* The chance, of 1, that with one more that wants @share all together want more than there is. */
double odds_crowded(const struct odds *odds, const double share[ODDS_WANTS]);

#endif
