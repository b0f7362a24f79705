/* SPDX-License-Identifier: MIT */
/* Writes the numbers and the sentences that explain the decisions of policy qos. */
#include "policy/explain.h"
#include "policy/qos/demand.h"
#include "policy/qos/explain-qos.h"

void explain_allocation(const struct policy_gpu *gpu, const struct policy_out *out,
			enum allocation result, const struct allocation_summary *summary,
			struct policy_decision *decision)
{
	const struct policy_vgpu *vgpu =
		summary->largest < 0 ? NULL : &gpu->vgpus[summary->largest];

	decision->vgpu = summary->largest;
	if (vgpu) {
		reason_add_number(decision, "demand_pct", demand_now_pct(vgpu));
		reason_add_number(decision, "need_pct", summary->largest_pct);
		reason_add_number(decision, "margin_pct", (double)vgpu->track->demand.margin_pct);
		reason_add_number(decision, "u_pct", 100 * vgpu->util);
		reason_add_number(decision, "cap_pct", vgpu->cap_pct);
		/* A cap that only has to serve the tolerated part of the demand can be less than
		 * the present demand. */
		reason_add_text(decision,
				summary->largest_pct < demand_now_pct(vgpu)
					? "%s wants %.1f %% of the GPU now and needs a cap of %d "
					  "%% in the next period; "
					: "%s wants %.1f %% of the GPU now and may want up to %d "
					  "%% in the next period; ",
				vgpu->id, demand_now_pct(vgpu), summary->largest_pct);
	}
	reason_add_number(decision, "all_now_pct", summary->now_pct);
	reason_add_number(decision, "all_need_pct", summary->need_pct);
	reason_add_number(decision, "lent_back_pct", reason_sum_moved_pct(out, decision, -1));
	if (result == ALLOCATION_SHORT)
		reason_add_text(decision,
				"all vGPUs together may want %d %%, which exceeds the GPU: each "
				"gets at least the smaller of its demand and its share by contract",
				summary->need_pct);
	else
		reason_add_text(decision, "all vGPUs together may want %d %%%s", summary->need_pct,
				result == ALLOCATION_TIGHT ? " (without a margin)" : "");
	reason_add_moves(gpu, out, decision);
}

void explain_overcommitted(const struct policy_gpu *gpu, const struct allocation_summary *summary,
			   double relief_pct, struct policy_decision *decision)
{
	const struct policy_vgpu *vgpu = &gpu->vgpus[decision->vgpu];

	reason_add_number(decision, "all_now_pct", summary->now_pct);
	reason_add_number(decision, "demand_pct", demand_now_pct(vgpu));
	reason_add_number(decision, "relief_pct", relief_pct);
	reason_add_number(decision, "cap_pct", vgpu->cap_pct);
	reason_add_number(decision, "contract_pct", vgpu->terms.initial_cap_pct);
	reason_add_number(decision, "total_load_pct", 100 * gpu->total_load);
	reason_add_text(
		decision,
		"%d vGPUs together want %.0f %% of the GPU, which no change of caps can provide; "
		"migrating %s relieves the GPU at the least cost: it wants %.1f %%",
		gpu->n_vgpus, summary->now_pct, vgpu->id, demand_now_pct(vgpu));
}

void explain_profit(const struct policy_params *params, const struct policy_gpu *gpu,
		    const struct policy_terms *terms, const struct fund *fund,
		    const struct profit *profit, struct policy_decision *decision)
{
	reason_add_number(decision, "flavor_cap_pct", terms->initial_cap_pct);
	reason_add_number(decision, "fundable_pct", fund->cap_pct);
	reason_add_number(decision, "min_newcomer_pct", params->min_newcomer_pct);
	reason_add_number(decision, "total_load_pct", 100 * gpu->total_load);
	reason_add_number(decision, "price_per_hour", profit->price);
	reason_add_number(decision, "misfit_pct", 100 * profit->misfit);
	reason_add_number(decision, "overload_risk_pct", 100 * profit->overload);
	reason_add_number(decision, "broken_risk_pct", 100 * profit->risk);
	reason_add_number(decision, "sale_risk_pct", params->sale_risk_pct);
	reason_add_number(decision, "broken_last_hour_s", gpu->broken_s);
	reason_add_number(decision, "broken_s", profit->broken_s);
	reason_add_number(decision, "penalty_per_hour", profit->penalty);
	reason_add_number(decision, "profit_per_hour", profit->expected);
	reason_add_text(decision, "One more contract of %d %% earns %.3g per hour",
			terms->initial_cap_pct, profit->price);
	if (profit->trust > 0)
		reason_add_text(decision, " and fits with a probability of %.1f %%",
				100 * (1 - profit->misfit));
	reason_add_text(decision,
			"; broken time and migrations are expected to cost %.3g: the expected "
			"profit is %.3g",
			profit->penalty, profit->expected);
	if (profit->trust < 1)
		reason_add_text(decision,
				"; %.2g %% of the time of all vGPUs may be broken (limit %.4g %%)",
				100 * profit->risk, params->sale_risk_pct);
	reason_add_text(decision, ". %d %% can be funded now", fund->cap_pct);
	explain_absent(gpu, decision);
}
