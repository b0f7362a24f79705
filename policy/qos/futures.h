/* SPDX-License-Identifier: MIT */
/*
 * Samples possible futures of all vGPUs of a GPU and of one more vGPU. A future is the demand of
 * each vGPU at one instant of the next FUTURES_HORIZON_S seconds:
 *
 * - Demands of one earlier instant are drawn together, so vGPUs that were busy together are busy
 *   together. Of the past, each doubling of the age has the same weight.
 * - A demand that was never seen, the contract, has a probability that falls with the time for
 *   which the vGPU was observed. Rises that were seen on this GPU increase it, and time without
 *   rises decreases it.
 * - A demand that rises steadily continues to rise.
 * - The newcomer wants its contract, has the past of a random present vGPU, or has a larger demand
 *   than all of them.
 *
 * If a future exceeds the GPU, each vGPU gets at most its weighted max-min fair share; a vGPU that
 * wants more is broken.
 *
 * If the GPU survives a rise of the newcomer and, at once, of any present vGPU, then futures with a
 * demand that was never seen weigh less: their probability is the least certain estimate.
 */
#ifndef POLICY_QOS_FUTURES_H
#define POLICY_QOS_FUTURES_H

#include "policy/policy.h"

#define FUTURES_SLOT_S	  4.0 /* length of a slot of struct policy_past */
#define FUTURES_HORIZON_S 1800.0

/* Means over all sampled futures. */
struct futures {
	double over;   /* fraction of the futures in which the total demand exceeds the GPU */
	double broken; /* fraction of the vGPUs, with the newcomer, that are broken, with the
			  weights above */
};

/* Stores the demands of one period. demand_learn() must have been called for each vGPU. */
void futures_learn(struct policy_gpu *gpu);

/*
 * Stores earlier demands of @vgpu, for example from a database. @pct: the largest demand of each
 * slot in percent of the GPU, the oldest first; the last one is the slot before the present one.
 * @vgpu must be new: its track must be 0.
 */
void futures_fill(const struct policy_gpu *gpu, struct policy_vgpu *vgpu, const unsigned char *pct,
		  int n);

/*
 * Samples the futures with one more vGPU, for each of the @n contracts @terms: at most
 * POLICY_FLAVORS_MAX. The same pasts give the same futures, and neither the order of the vGPUs nor
 * the other contracts have an effect. The present vGPUs are drawn once for all contracts, so that
 * further contracts cost little.
 */
void futures_sample(const struct policy_params *params, const struct policy_gpu *gpu,
		    const struct policy_terms *terms, int n, struct futures *ret_futures);

#endif
