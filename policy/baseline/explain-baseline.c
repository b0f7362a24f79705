/* SPDX-License-Identifier: MIT */
/* Writes the numbers and the sentences that explain the decisions of the baseline policies. */
#include "policy/baseline/explain-baseline.h"
#include "policy/reason.h"

static int count_sharers(const struct policy_gpu *gpu)
{
	int n = 0;

	for (int i = 0; i < gpu->n_vgpus; i++)
		n += !gpu->vgpus[i].held;
	return n;
}

static void add_shared(const struct policy_gpu *gpu, const struct assignment *assigned,
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
	add_shared(gpu, assigned, decision);
	reason_add_text(decision,
			"%d vGPUs share %d %% of the GPU equally; no cap exceeds its contract",
			count_sharers(gpu), assigned->shared_pct);
	reason_add_moves(gpu, out, decision);
}

void explain_static(const struct policy_params *params, const struct policy_gpu *gpu,
		    const struct policy_out *out, const struct assignment *assigned,
		    struct policy_decision *decision)
{
	add_shared(gpu, assigned, decision);
	reason_add_number(decision, "static_ratio", params->static_ratio);
	reason_add_text(decision, "At an overbooking ratio of %.4g each vGPU gets ",
			params->static_ratio);
	reason_add_fraction(decision, 1 / params->static_ratio);
	reason_add_text(decision, " of its contract");
	reason_add_moves(gpu, out, decision);
}

static void add_demand(const struct policy_params *params, const struct policy_gpu *gpu,
		       const struct assignment *assigned, struct policy_decision *decision)
{
	add_shared(gpu, assigned, decision);
	reason_add_number(decision, "wanting", assigned->wanting);
	reason_add_number(decision, "demand_pct", assigned->demand_pct);
	reason_add_number(decision, "spare_pct", assigned->spare_pct);
	reason_add_number(decision, "deadband_pct", params->deadband_pct);
	reason_add_text(decision, "%d of %d vGPUs use their whole cap", assigned->wanting,
			count_sharers(gpu));
}

void explain_credit(const struct policy_params *params, const struct policy_gpu *gpu,
		    const struct policy_out *out, const struct assignment *assigned,
		    struct policy_decision *decision)
{
	add_demand(params, gpu, assigned, decision);
	reason_add_text(decision,
			"; the vGPUs share %d %% of the GPU by their estimated demands, which add "
			"up to %d %%",
			assigned->shared_pct, assigned->demand_pct);
	if (assigned->spare_pct > 0)
		reason_add_text(decision,
				"; %d %% go from vGPUs that need less than their share to "
				"vGPUs that need more",
				assigned->spare_pct);
	reason_add_moves(gpu, out, decision);
}

void explain_fair(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_out *out, const struct assignment *assigned,
		  struct policy_decision *decision)
{
	add_demand(params, gpu, assigned, decision);
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

void explain_offer_equal(const struct policy_params *params, const struct policy_gpu *gpu,
			 const struct policy_terms *terms, const struct fund *fund,
			 struct policy_decision *decision)
{
	reason_add_number(decision, "vgpus", gpu->n_vgpus + gpu->absent.n);
	reason_add_number(decision, "none_vgpus", params->none_vgpus);
	reason_add_number(decision, "total_load_pct", 100 * gpu->total_load);
	explain_newcomer(params, gpu, terms, fund, decision);
	reason_add_text(decision,
			"The GPU has %d of at most %d vGPUs: a contract of %d %% can be sold; the "
			"new vGPU would get %d %% now (an equal share), of which other vGPUs give "
			"%d %%",
			gpu->n_vgpus + gpu->absent.n, params->none_vgpus, terms->initial_cap_pct,
			fund->cap_pct, fund->given_pct);
	explain_absent(gpu, decision);
}

void explain_offer_static(const struct policy_params *params, const struct policy_gpu *gpu,
			  const struct policy_terms *terms, const struct fund *fund, int sold_pct,
			  struct policy_decision *decision)
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
