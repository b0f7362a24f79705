/* SPDX-License-Identifier: MIT */
/* Computes the probability that the total demand of all vGPUs exceeds the GPU, from their recent
 * demands. */
#ifndef POLICY_QOS_OVERLOAD_H
#define POLICY_QOS_OVERLOAD_H

#include "policy/policy.h"

#define OVERLOAD_PCTS 101 /* number of whole percents of the GPU, 0 to 100 */

/* The distribution of the total demand, if the demands are independent. Elements 0 to 100 are the
 * probabilities of each whole percent; the last element is the probability of more than 100 %. */
struct overload {
	double share[OVERLOAD_PCTS + 1];
	int top; /* the largest possible total demand, percent */
};

/*
 * Computes the distribution for the vGPUs of @gpu. A demand below the floor counts as the floor.
 * The demand of a held vGPU is its cap.
 */
void overload_sum_demands(const struct policy_params *params, const struct policy_gpu *gpu,
			  struct overload *ret_overload);

/* Computes the distribution of one vGPU's demand. */
void overload_demand_of(const struct policy_params *params, const struct policy_gpu *gpu, int index,
			double ret_share[OVERLOAD_PCTS]);

/* Returns the probability that the total demand exceeds 100 % after one more vGPU is added. @share
 * is the distribution of the demand of that vGPU. */
double overload_probability(const struct overload *overload, const double share[OVERLOAD_PCTS]);

#endif
