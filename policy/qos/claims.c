/* SPDX-License-Identifier: MIT */
/* Collects claims, and divides the GPU into shares by contract. */
#include <math.h>

#include "base/number.h"
#include "policy/qos/claims.h"
#include "policy/qos/demand.h"
#include "policy/share.h"
#include "policy/sort.h"

#define ROUNDING 1e-4 /* steps */

int claims_whole_pct(const struct allocator *alloc, const struct claim *claim, double pct)
{
	int step_pct = alloc->gpu->step_pct;
	int whole_pct = (int)ceil(pct / step_pct - ROUNDING) * step_pct;

	return max_int(claim->floor_pct, min_int(claim->ceiling_pct, whole_pct));
}

int claims_level_pct(const struct allocator *alloc, const struct claim *claim, int level,
		     bool tolerated)
{
	double pct = demand_level_pct(claim->vgpu, level);

	return claims_whole_pct(alloc, claim,
				tolerated ? demand_tolerance(claim->vgpu) * pct : pct);
}

void claims_keep_caps(struct allocator *alloc)
{
	for (int i = 0; i < alloc->n; i++)
		alloc->claims[i].cap_pct = alloc->claims[i].vgpu->cap_pct;
}

/* Divides @steps by contract among the claims without a share. Returns true if the part of a claim
 * is below its floor. The share of this claim is then its floor. */
static bool divide(struct allocator *alloc, int steps)
{
	struct share shares[POLICY_VGPUS_MAX];
	bool below = false;
	int n = 0;

	for (int i = 0; i < alloc->n; i++) {
		const struct claim *claim = &alloc->claims[i];

		if (claim->share_pct == 0)
			shares[n++] = (struct share){
				.id = claim->vgpu->id,
				.vgpu = i,
				.weight = claim->vgpu->terms.initial_cap_pct,
				.limit = claim->ceiling_pct / alloc->gpu->step_pct,
			};
	}
	(void)share_divide(shares, n, steps);
	for (int i = 0; i < n; i++) {
		struct claim *claim = &alloc->claims[shares[i].vgpu];

		if (shares[i].steps * alloc->gpu->step_pct < claim->floor_pct) {
			claim->share_pct = claim->floor_pct;
			below = true;
		}
	}
	for (int i = 0; !below && i < n; i++)
		alloc->claims[shares[i].vgpu].share_pct = shares[i].steps * alloc->gpu->step_pct;
	return below;
}

/*
 * Weighted max-min shares in whole steps: the weight is the contract, and a share is between floor
 * and ceiling. The remainders of rounding go to the largest remainders, so that no share is a whole
 * step below its exact value.
 */
static void find_shares(struct allocator *alloc)
{
	bool again = true;

	for (int i = 0; i < alloc->n; i++)
		alloc->claims[i].share_pct = 0;
	while (again) {
		int left_pct = alloc->room_pct;

		for (int i = 0; i < alloc->n; i++)
			left_pct -= alloc->claims[i].share_pct;
		again = divide(alloc, max_int(0, left_pct) / alloc->gpu->step_pct);
	}
}

void claims_collect(const struct policy_params *params, const struct policy_gpu *gpu,
		    int spared_pct, struct allocator *ret_alloc)
{
	struct allocator *alloc = ret_alloc;
	int by_id[POLICY_VGPUS_MAX];

	alloc->gpu = gpu;
	alloc->room_pct = 100 - gpu->absent.cap_pct - spared_pct;
	alloc->n = 0;
	sort_all_by_id(gpu, by_id);
	for (int i = 0; i < gpu->n_vgpus; i++) {
		const struct policy_vgpu *vgpu = &gpu->vgpus[by_id[i]];
		struct claim *claim = &alloc->claims[alloc->n];

		if (vgpu->held) {
			alloc->room_pct -= vgpu->cap_pct;
			continue;
		}
		alloc->n++;
		claim->vgpu = vgpu;
		claim->floor_pct = policy_floor_pct(params, gpu, &vgpu->terms);
		claim->ceiling_pct = policy_ceiling_pct(gpu, &vgpu->terms);
		claim->least_pct = claims_whole_pct(alloc, claim,
						    demand_tolerance(vgpu) * demand_now_pct(vgpu));
		claim->shown_pct = max_int(
			claim->least_pct,
			claims_whole_pct(alloc, claim, demand_observable_cap_pct(gpu, vgpu)));
		claim->now_pct =
			max_int(claim->shown_pct,
				claims_whole_pct(alloc, claim, demand_tolerated_pct(vgpu)));
		demand_predict(gpu, vgpu, claim->above);
	}
	find_shares(alloc);
}
