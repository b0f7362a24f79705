/* SPDX-License-Identifier: MIT */
/*
 * Static overbooking at ratio r (static_ratio): contracts are sold until they add up to r GPUs, and
 * each vGPU has 1/r of its contract for good, in whole steps. Contracts of 50 at r = 2: four of
 * them, 25 each; at 1.5 three, 33 each. Where floors, holds or a lowered ratio leave too little,
 * all have in proportion to their contracts. Burst buys nothing here.
 *
 * Reads nothing, as none. Must never sell what would shrink those who are there.
 */
#include "policy/explain.h"
#include "policy/qos/settle.h"
#include "policy/steps.h"

/* Nobody who is there gives a part of its share to @newcomer, who has all of its own or nothing. */
static bool add_newcomer(struct division *division, int extra)
{
	struct fill *newcomer = &division->fills[division->n - 1];
	int lack = newcomer->limit - newcomer->steps;

	newcomer->steps = newcomer->limit;
	return lack <= extra;
}

static bool aim_static(const struct policy_params *params, const struct policy_gpu *gpu,
		       const struct policy_terms *newcomer, struct aim *ret_aim)
{
	struct division division;
	int extra, others;

	settle_divide(params, gpu, newcomer, false, &division);
	if (division.extra < 0)
		return false;
	for (int i = 0; i < division.n; i++) {
		struct fill *fill = &division.fills[i];
		int contract_pct = fill->id ? gpu->vgpus[fill->vgpu].terms.initial_cap_pct
					    : newcomer->initial_cap_pct;
		int limit = plan_whole_steps(gpu, contract_pct / params->static_ratio);

		fill->weight = contract_pct;
		if (fill->limit > limit)
			fill->limit = limit > fill->steps ? limit : fill->steps;
	}
	others = newcomer ? division.n - 1 : division.n;
	extra = division.extra - fill_up(division.fills, others, division.extra);
	if (newcomer && !add_newcomer(&division, extra))
		return false;
	settle_aim(gpu, &division, ret_aim);
	return true;
}

static const struct settle_rule fixed = {
	.aim = aim_static,
	.explain = explain_static,
	.share = "what the overbooking ratio leaves of it",
};

static int sum_sold_pct(const struct policy_gpu *gpu)
{
	int sum_pct = 0;

	for (int i = 0; i < gpu->n_vgpus; i++)
		sum_pct += gpu->vgpus[i].terms.initial_cap_pct;
	return sum_pct;
}

void static_step(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out)
{
	bool moved = settle_step(params, gpu, &fixed, out);
	int sold_pct = sum_sold_pct(gpu);
	struct fund fund;

	gpu->calm_run = 0;
	if (moved || !settle_may_offer(gpu) ||
	    sold_pct + gpu->flavor.initial_cap_pct > 100 * params->static_ratio ||
	    settle_fund_plan(params, gpu, &gpu->flavor, &fixed, &fund) < 0)
		return;
	explain_offer_static(params, gpu, &fund, sold_pct, fund_offer(gpu, &fund, out));
}

int static_fund(const struct policy_params *params, struct policy_gpu *gpu,
		const struct policy_terms *terms, struct policy_out *out)
{
	return settle_fund(params, gpu, terms, &fixed, out);
}

void static_return(const struct policy_params *params, struct policy_gpu *gpu,
		   struct policy_out *out)
{
	settle_return(params, gpu, &fixed, out);
}
