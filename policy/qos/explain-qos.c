/* SPDX-License-Identifier: MIT */
/* The decisions of policy qos in words, with what it expected. Must never decide anything. */
#include "policy/qos/demand.h"
#include "policy/explain.h"
#include "policy/say.h"

void explain_ration(const struct policy_gpu *gpu, const struct policy_out *out, enum ration ration,
		    const struct ration_view *view, struct policy_decision *decision)
{
	const struct policy_vgpu *vgpu = view->largest < 0 ? NULL : &gpu->vgpus[view->largest];

	decision->vgpu = view->largest;
	if (vgpu) {
		say_number(decision, "demand_pct", demand_now_pct(vgpu));
		say_number(decision, "need_pct", view->largest_pct);
		say_number(decision, "margin_pct", (double)vgpu->track->demand.margin_pct);
		say_number(decision, "u_pct", 100 * vgpu->util);
		say_number(decision, "cap_pct", vgpu->cap_pct);
		say_text(decision, "%s wants %.1f %% of the GPU and may want %d %% next; ",
			 vgpu->id, demand_now_pct(vgpu), view->largest_pct);
	}
	say_number(decision, "all_now_pct", view->now_pct);
	say_number(decision, "all_need_pct", view->need_pct);
	say_number(decision, "lent_back_pct", say_moved_pct(out, decision, -1));
	if (ration == RATION_SHORT)
		say_text(decision,
			 "all together may want %d %%, more than there is: the caps leave the "
			 "fewest short",
			 view->need_pct);
	else
		say_text(decision, "all together may want %d %%%s", view->need_pct,
			 ration == RATION_TIGHT ? ", without a margin" : "");
	say_moves(gpu, out, decision);
}

void explain_crowded(const struct policy_gpu *gpu, const struct ration_view *view,
		     double relief_pct, struct policy_decision *decision)
{
	const struct policy_vgpu *vgpu = &gpu->vgpus[decision->vgpu];

	say_number(decision, "all_now_pct", view->now_pct);
	say_number(decision, "demand_pct", demand_now_pct(vgpu));
	say_number(decision, "relief_pct", relief_pct);
	say_number(decision, "cap_pct", vgpu->cap_pct);
	say_number(decision, "contract_pct", vgpu->terms.initial_cap_pct);
	say_number(decision, "total_load_pct", 100 * gpu->total_load);
	say_text(decision,
		 "%d vGPUs want %.0f %% of the GPU together, and no cap moved between them makes "
		 "up for that; moving %s to another host relieves most for least: it wants %.1f %%",
		 gpu->n_vgpus, view->now_pct, vgpu->id, demand_now_pct(vgpu));
}

void explain_bargain(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct fund *fund, const struct bargain *bargain,
		     struct policy_decision *decision)
{
	say_number(decision, "flavor_cap_pct", gpu->flavor.initial_cap_pct);
	say_number(decision, "fundable_pct", fund->cap_pct);
	say_number(decision, "min_newcomer_pct", params->min_newcomer_pct);
	say_number(decision, "total_load_pct", 100 * gpu->total_load);
	say_number(decision, "price_per_hour", bargain->price);
	say_number(decision, "misfit_pct", 100 * bargain->misfit);
	say_number(decision, "crowded_pct", 100 * bargain->crowded);
	say_number(decision, "broken_last_hour_s", gpu->broken_s);
	say_number(decision, "broken_s", bargain->broken_s);
	say_number(decision, "penalty_per_hour", bargain->penalty);
	say_number(decision, "profit_per_hour", bargain->profit);
	say_text(
		decision,
		"One more of %d %% brings %.3g an hour and fits with %.1f %%; %.1f broken seconds "
		"an hour are to be expected, %.3g of penalty: %.3g is won. %d %% can be funded now",
		gpu->flavor.initial_cap_pct, bargain->price, 100 * (1 - bargain->misfit),
		bargain->broken_s, bargain->penalty, bargain->profit, fund->cap_pct);
}
