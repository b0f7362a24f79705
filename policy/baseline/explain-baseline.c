/* SPDX-License-Identifier: MIT */
/*
 * The decisions of policies that say what every vGPU should have, in words: what the rule is, the
 * numbers it was used with, and whom it moves. Must never decide anything.
 */
#include "policy/baseline/explain-baseline.h"
#include "policy/reason.h"

/* Of whom the caps are shared out; the held ones are not. */
static int count_sharers(const struct policy_gpu *gpu)
{
	int n = 0;

	for (int i = 0; i < gpu->n_vgpus; i++)
		n += !gpu->vgpus[i].held;
	return n;
}

static void tell_shared(const struct policy_gpu *gpu, const struct assignment *assigned,
			struct policy_decision *decision)
{
	reason_add_number(decision, "vgpus", count_sharers(gpu));
	reason_add_number(decision, "shared_pct", assigned->shared_pct);
}

void explain_equal(const struct policy_params *params, const struct policy_gpu *gpu,
		   const struct policy_out *out, const struct assignment *assigned,
		   struct policy_decision *decision)
{
	(void)params;
	tell_shared(gpu, assigned, decision);
	reason_add_text(decision,
			"%d vGPUs have equal shares of %d %% of the GPU, none above its contract",
			count_sharers(gpu), assigned->shared_pct);
	reason_add_moves(gpu, out, decision);
}

void explain_static(const struct policy_params *params, const struct policy_gpu *gpu,
		    const struct policy_out *out, const struct assignment *assigned,
		    struct policy_decision *decision)
{
	tell_shared(gpu, assigned, decision);
	reason_add_number(decision, "static_ratio", params->static_ratio);
	reason_add_text(decision, "At an overbooking ratio of %.4g each vGPU has ",
			params->static_ratio);
	reason_add_fraction(decision, 1 / params->static_ratio);
	reason_add_text(decision, " of its contract");
	reason_add_moves(gpu, out, decision);
}

static void tell_demand(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct assignment *assigned, struct policy_decision *decision)
{
	tell_shared(gpu, assigned, decision);
	reason_add_number(decision, "wanting", assigned->wanting);
	reason_add_number(decision, "demand_pct", assigned->demand_pct);
	reason_add_number(decision, "spare_pct", assigned->spare_pct);
	reason_add_number(decision, "deadband_pct", params->deadband_pct);
	reason_add_text(decision, "%d of %d vGPUs use all they have", assigned->wanting,
			count_sharers(gpu));
}

void explain_credit(const struct policy_params *params, const struct policy_gpu *gpu,
		    const struct policy_out *out, const struct assignment *assigned,
		    struct policy_decision *decision)
{
	tell_demand(params, gpu, assigned, decision);
	reason_add_text(decision, "; credits for %d %% of the GPU are given for claims of %d %%",
			assigned->shared_pct, assigned->demand_pct);
	if (assigned->spare_pct > 0)
		reason_add_text(decision,
				", and %d %% of it go from who needs less to who has too little",
				assigned->spare_pct);
	reason_add_moves(gpu, out, decision);
}

void explain_fair(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_out *out, const struct assignment *assigned,
		  struct policy_decision *decision)
{
	tell_demand(params, gpu, assigned, decision);
	reason_add_text(decision, "; all want %d %% of %d %%", assigned->demand_pct,
			assigned->shared_pct);
	if (assigned->demand_pct > assigned->shared_pct)
		reason_add_text(decision,
				", so nobody who wants more has less for its weight than another");
	else
		reason_add_text(decision,
				", which they have, and %d %% beside it is lent by weight",
				assigned->spare_pct);
	reason_add_moves(gpu, out, decision);
}

void explain_offer_equal(const struct policy_params *params, const struct policy_gpu *gpu,
			 const struct fund *fund, struct policy_decision *decision)
{
	reason_add_number(decision, "vgpus", gpu->n_vgpus);
	reason_add_number(decision, "none_vgpus", params->none_vgpus);
	reason_add_number(decision, "total_load_pct", 100 * gpu->total_load);
	explain_newcomer(params, gpu, fund, decision);
	reason_add_text(
		decision,
		"The GPU is set up for %d vGPUs and has %d: one more of %d %% can be sold, its "
		"equal share is %d %% now, %d %% of it by others",
		params->none_vgpus, gpu->n_vgpus, gpu->flavor.initial_cap_pct, fund->cap_pct,
		fund->given_pct);
}

void explain_offer_static(const struct policy_params *params, const struct policy_gpu *gpu,
			  const struct fund *fund, int sold_pct, struct policy_decision *decision)
{
	reason_add_number(decision, "sold_pct", sold_pct);
	reason_add_number(decision, "static_ratio", params->static_ratio);
	reason_add_number(decision, "total_load_pct", 100 * gpu->total_load);
	explain_newcomer(params, gpu, fund, decision);
	reason_add_text(
		decision,
		"%d %% of the GPU are sold and an overbooking ratio of %.4g allows %.4g %%: one "
		"more of %d %% can be sold and has %d %%",
		sold_pct, params->static_ratio, 100 * params->static_ratio,
		gpu->flavor.initial_cap_pct, fund->cap_pct);
}
