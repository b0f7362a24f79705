/* SPDX-License-Identifier: MIT */
/* The chance that a GPU is wanted more than whole, from what its vGPUs wanted lately. */
#ifndef POLICY_QOS_OVERLOAD_H
#define POLICY_QOS_OVERLOAD_H

#include "policy/policy.h"

#define OVERLOAD_PCTS 101 /* 0..100 percent of the GPU */

/* What all vGPUs together want, if what one wants says nothing of another: the chance of each whole
 * percent, and last of more than there is. */
struct overload {
	double share[OVERLOAD_PCTS + 1];
	int top; /* no chance above it */
};

/*
 * Sums up the vGPUs of @gpu. Floors count, and who is held counts at its cap. Where nobody can be
 * moved away (gpu->migrates), what has not been seen yet of a vGPU counts too.
 */
void overload_sum_demands(const struct policy_params *params, const struct policy_gpu *gpu,
			  struct overload *ret_overload);

/* One vGPU's part of that sum: how often, of 1, it wants each percent. */
void overload_demand_of(const struct policy_params *params, const struct policy_gpu *gpu, int index,
			double ret_share[OVERLOAD_PCTS]);

/* The chance, of 1, that with one more that wants @share all together want more than there is. */
double overload_probability(const struct overload *overload, const double share[OVERLOAD_PCTS]);

#endif
