/* SPDX-License-Identifier: MIT */
/*
 * Static overbooking with ratio r (static_ratio): contracts are sold until they add up to r GPUs,
 * and each vGPU gets 1/r of its contract, in whole steps. With r = 2, four contracts of 50 % get 25
 * % each; with r = 1.5, three get 33 % each. If floors, holds or a lowered ratio leave too little,
 * the shares are in proportion to the contracts. Burst has no effect.
 *
 * Caps depend on no reading. A sale never reduces the share of another vGPU.
 */
#include "policy/baseline/assign.h"
#include "policy/explain.h"
#include "policy/plan.h"

/* Gives the newcomer its whole share. Returns false if @extra, the number of unallocated steps, is
 * too small. */
static bool add_newcomer(struct waterfill *fill, int extra)
{
	struct waterfill_entry *newcomer = &fill->entries[fill->n - 1];
	int missing = newcomer->limit - newcomer->steps;

	newcomer->steps = newcomer->limit;
	return missing <= extra;
}

static bool compute_static(const struct policy_params *params, const struct policy_gpu *gpu,
			   const struct policy_terms *newcomer, struct assignment *ret_assigned)
{
	struct waterfill fill;
	int extra, others;

	assign_begin(params, gpu, newcomer, false, &fill);
	if (fill.extra < 0)
		return false;
	for (int i = 0; i < fill.n; i++) {
		struct waterfill_entry *entry = &fill.entries[i];
		int contract_pct = entry->id ? gpu->vgpus[entry->vgpu].terms.initial_cap_pct
					     : newcomer->initial_cap_pct;
		int limit = plan_whole_steps(gpu, contract_pct / params->static_ratio);

		entry->weight = contract_pct;
		if (entry->limit > limit)
			entry->limit = limit > entry->steps ? limit : entry->steps;
	}
	others = newcomer ? fill.n - 1 : fill.n;
	extra = fill.extra - waterfill_allocate(fill.entries, others, fill.extra);
	if (newcomer && !add_newcomer(&fill, extra))
		return false;
	assign_finish(gpu, &fill, ret_assigned);
	return true;
}

static void explain_static(const struct policy_params *params, const struct policy_gpu *gpu,
			   const struct policy_out *out, const struct assignment *assigned,
			   struct policy_decision *decision)
{
	assign_explain_shared(gpu, assigned, decision);
	reason_add_number(decision, "static_ratio", params->static_ratio);
	reason_add_text(decision, "At an overbooking ratio of %.4g each vGPU gets ",
			params->static_ratio);
	reason_add_fraction(decision, 1 / params->static_ratio);
	reason_add_text(decision, " of its contract");
	reason_add_moves(gpu, out, decision);
}

static void explain_offer_static(const struct policy_params *params, const struct policy_gpu *gpu,
				 const struct policy_terms *terms, const struct fund *fund,
				 int sold_pct, struct policy_decision *decision)
{
	reason_add_number(decision, "sold_pct", sold_pct);
	reason_add_number(decision, "static_ratio", params->static_ratio);
	reason_add_number(decision, "total_load_pct", 100 * gpu->total_load);
	explain_newcomer(params, gpu, terms, fund, decision);
	reason_add_text(decision,
			"All contracts add up to %d %%, and the overbooking ratio of %.4g allows "
			"%.4g %%: a contract of %d %% can be sold; the new vGPU would get %d %%",
			sold_pct, params->static_ratio, 100 * params->static_ratio,
			terms->initial_cap_pct, fund->cap_pct);
	explain_absent(gpu, decision);
}

static const struct assign_rule fixed = {
	.compute = compute_static,
	.explain = explain_static,
	.share = "as the overbooking ratio allows",
};

static int sum_sold_pct(const struct policy_gpu *gpu)
{
	int sum_pct = gpu->absent.demand_pct;

	for (int i = 0; i < gpu->n_vgpus; i++)
		sum_pct += gpu->vgpus[i].terms.initial_cap_pct;
	return sum_pct;
}

void static_step(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out)
{
	bool moved = assign_step(params, gpu, &fixed, out);
	int sold_pct = sum_sold_pct(gpu);
	struct policy_decision *decision = NULL;
	struct fund fund;

	gpu->calm_run = 0;
	if (moved || !assign_may_offer(gpu))
		return;
	for (int i = 0; i < gpu->n_flavors; i++) {
		const struct policy_terms *terms = &gpu->flavors[i];

		if (sold_pct + terms->initial_cap_pct <= 100 * params->static_ratio &&
		    assign_fund_plan(params, gpu, terms, &fixed, &fund) == 0 &&
		    fund_list(gpu, i, &fund, &decision, out))
			explain_offer_static(params, gpu, terms, &fund, sold_pct, decision);
	}
}

ASSIGN_FUNCTIONS(static, fixed)
