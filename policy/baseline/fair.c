/* SPDX-License-Identifier: MIT */
/*
 * The shares of FairGV (IEEE TPDS 2017, section 3.2) as caps. Among the VMs with waiting work,
 * FairGV serves the VM with the smallest start tag (GPU time used / weight). Over a period, the
 * result is a weighted max-min allocation. The terms of the paper and their counterparts here:
 *
 *   weight            the weight of the contract
 *   blocked (no work) the vGPU uses less than its cap. Its demand is its largest use in the last
 *                     demand_periods
 *   runnable          the vGPU uses its whole cap, so its demand is unknown. Its cap is raised to
 *                     its share at once, because FairGV serves a waking VM first. Above the share,
 *                     the cap grows by demand_probe each period
 *   work-conserving   GPU time that no vGPU demands is lent by weight
 *   coscheduling      none, because it concerns CPUs
 *
 * Floors and contracts bound the caps. FairGV has no admission, so vGPUs are sold as by gover
 * (rule 4). Frames have no influence.
 */
#include <math.h>

#include "policy/baseline/assign.h"
#include "policy/explain.h"
#include "policy/fund.h"
#include "policy/plan.h"
#include "policy/share.h"
#include "policy/signal.h"

static int clamp(int value, int low, int high)
{
	return value < low ? low : value > high ? high : value;
}

static int64_t weight_of(const struct policy_terms *terms)
{
	int64_t weight = llround(terms->weight * 1e6);

	return weight > 1 ? weight : 1;
}

/* Returns the demand in steps. @share_steps is the share of the vGPU by weight. The demand of a
 * newcomer is its contract. */
static int demand_of(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct waterfill_entry *entry, int share_steps)
{
	const struct policy_vgpu *vgpu = entry->id ? &gpu->vgpus[entry->vgpu] : NULL;
	int probe;

	if (!vgpu)
		return entry->limit;
	if (!probe_is_censored(params, gpu, vgpu))
		return probe_need_steps(params, gpu, vgpu);
	probe = probe_more_steps(params, gpu, vgpu->cap_pct);
	return probe > share_steps ? probe : share_steps;
}

/* Divides @spare steps by weight, up to the ceilings. Returns the steps divided. */
static int lend(struct waterfill *fill, const int *ceilings, int spare)
{
	struct share shares[POLICY_VGPUS_MAX];
	int n = 0, lent;

	for (int i = 0; i < fill->n; i++) {
		const struct waterfill_entry *entry = &fill->entries[i];

		if (entry->id && ceilings[i] > entry->steps)
			shares[n++] = (struct share){.id = entry->id,
						     .vgpu = i,
						     .weight = entry->weight,
						     .limit = ceilings[i] - entry->steps};
	}
	lent = share_divide(shares, n, spare);
	for (int i = 0; i < n; i++)
		fill->entries[shares[i].vgpu].steps += shares[i].steps;
	return lent;
}

static bool compute_fair(const struct policy_params *params, const struct policy_gpu *gpu,
			 const struct policy_terms *newcomer, struct assignment *ret_assigned)
{
	struct waterfill fill;
	int ceilings[WATERFILL_MAX], demand = 0, wanting = 0, spare;
	int64_t weight = 0;

	assign_begin(params, gpu, newcomer, true, &fill);
	if (fill.extra < 0)
		return false;
	for (int i = 0; i < fill.n; i++) {
		struct waterfill_entry *entry = &fill.entries[i];

		entry->weight = weight_of(entry->id ? &gpu->vgpus[entry->vgpu].terms : newcomer);
		weight += entry->weight;
		wanting += entry->id && probe_is_censored(params, gpu, &gpu->vgpus[entry->vgpu]);
	}
	for (int i = 0; i < fill.n; i++) {
		struct waterfill_entry *entry = &fill.entries[i];
		int share = (int)((fill.total * entry->weight + weight - 1) / weight);

		ceilings[i] = entry->limit;
		entry->limit =
			clamp(demand_of(params, gpu, entry, share), entry->steps, ceilings[i]);
		demand += entry->limit;
	}
	spare = fill.extra - waterfill_allocate(fill.entries, fill.n, fill.extra);
	spare = lend(&fill, ceilings, spare);
	assign_finish(gpu, &fill, ret_assigned);
	ret_assigned->wanting = wanting;
	ret_assigned->demand_pct = demand * gpu->step_pct;
	ret_assigned->spare_pct = spare * gpu->step_pct;
	return true;
}

static void explain_fair(const struct policy_params *params, const struct policy_gpu *gpu,
			 const struct policy_out *out, const struct assignment *assigned,
			 struct policy_decision *decision)
{
	assign_explain_demand(params, gpu, assigned, decision);
	reason_add_text(decision, "; the total demand is %d %%, and %d %% of the GPU can be shared",
			assigned->demand_pct, assigned->shared_pct);
	if (assigned->demand_pct > assigned->shared_pct)
		reason_add_text(
			decision,
			", so the GPU is divided by weight, and no vGPU gets more than its demand");
	else
		reason_add_text(decision,
				": every demand is met, and the other %d %% are lent by weight",
				assigned->spare_pct);
	reason_add_moves(gpu, out, decision);
}

static const struct assign_rule fair = {
	.compute = compute_fair,
	.explain = explain_fair,
	.share = "its share by weight",
	.uses_readings = true,
};

static int fund_fair(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_terms *terms, struct fund *ret_fund)
{
	return assign_fund_plan(params, gpu, terms, &fair, ret_fund);
}

void fair_step(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out)
{
	bool moved = assign_step(params, gpu, &fair, out);

	admit_period(params, gpu, &admit_by_load, fund_fair, assign_is_calm(gpu), moved, out);
}

ASSIGN_FUNCTIONS(fair, fair)
