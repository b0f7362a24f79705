/* SPDX-License-Identifier: MIT */
/*
 * The decisions of policies that say what every vGPU should have, in words: what the rule is, the
 * numbers it was used with, and whom it moves. Must never decide anything.
 */
#include "policy/explain.h"
#include "policy/say.h"

/* Of whom the caps are shared out; the held ones are not. */
static int count_sharers(const struct policy_gpu *gpu)
{
	int n = 0;

	for (int i = 0; i < gpu->n_vgpus; i++)
		n += !gpu->vgpus[i].held;
	return n;
}

static void tell_shared(const struct policy_gpu *gpu, const struct aim *aim,
			struct policy_decision *decision)
{
	say_number(decision, "vgpus", count_sharers(gpu));
	say_number(decision, "shared_pct", aim->shared_pct);
}

void explain_equal(const struct policy_params *params, const struct policy_gpu *gpu,
		   const struct policy_out *out, const struct aim *aim,
		   struct policy_decision *decision)
{
	(void)params;
	tell_shared(gpu, aim, decision);
	say_text(decision,
		 "%d vGPUs have equal shares of %d %% of the GPU, none above its contract",
		 count_sharers(gpu), aim->shared_pct);
	say_moves(gpu, out, decision);
}

void explain_static(const struct policy_params *params, const struct policy_gpu *gpu,
		    const struct policy_out *out, const struct aim *aim,
		    struct policy_decision *decision)
{
	tell_shared(gpu, aim, decision);
	say_number(decision, "static_ratio", params->static_ratio);
	say_text(decision, "At an overbooking ratio of %.4g each vGPU has ", params->static_ratio);
	say_fraction(decision, 1 / params->static_ratio);
	say_text(decision, " of its contract");
	say_moves(gpu, out, decision);
}

static void tell_demand(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct aim *aim, struct policy_decision *decision)
{
	tell_shared(gpu, aim, decision);
	say_number(decision, "wanting", aim->wanting);
	say_number(decision, "demand_pct", aim->demand_pct);
	say_number(decision, "spare_pct", aim->spare_pct);
	say_number(decision, "deadband_pct", params->deadband_pct);
	say_text(decision, "%d of %d vGPUs use all they have", aim->wanting, count_sharers(gpu));
}

void explain_credit(const struct policy_params *params, const struct policy_gpu *gpu,
		    const struct policy_out *out, const struct aim *aim,
		    struct policy_decision *decision)
{
	tell_demand(params, gpu, aim, decision);
	say_text(decision, "; credits for %d %% of the GPU are given for claims of %d %%",
		 aim->shared_pct, aim->demand_pct);
	if (aim->spare_pct > 0)
		say_text(decision, ", and %d %% of it go from who needs less to who has too little",
			 aim->spare_pct);
	say_moves(gpu, out, decision);
}

void explain_fair(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_out *out, const struct aim *aim,
		  struct policy_decision *decision)
{
	tell_demand(params, gpu, aim, decision);
	say_text(decision, "; all want %d %% of %d %%", aim->demand_pct, aim->shared_pct);
	if (aim->demand_pct > aim->shared_pct)
		say_text(decision,
			 ", so nobody who wants more has less for its weight than another");
	else
		say_text(decision, ", which they have, and %d %% beside it is lent by weight",
			 aim->spare_pct);
	say_moves(gpu, out, decision);
}

void explain_offer_equal(const struct policy_params *params, const struct policy_gpu *gpu,
			 const struct fund *fund, struct policy_decision *decision)
{
	say_number(decision, "vgpus", gpu->n_vgpus);
	say_number(decision, "none_vgpus", params->none_vgpus);
	say_number(decision, "total_load_pct", 100 * gpu->total_load);
	explain_newcomer(params, gpu, fund, decision);
	say_text(decision,
		 "The GPU is set up for %d vGPUs and has %d: one more of %d %% can be sold, its "
		 "equal share is %d %% now, %d %% of it by others",
		 params->none_vgpus, gpu->n_vgpus, gpu->flavor.initial_cap_pct, fund->cap_pct,
		 fund->given_pct);
}

void explain_offer_static(const struct policy_params *params, const struct policy_gpu *gpu,
			  const struct fund *fund, int sold_pct, struct policy_decision *decision)
{
	say_number(decision, "sold_pct", sold_pct);
	say_number(decision, "static_ratio", params->static_ratio);
	say_number(decision, "total_load_pct", 100 * gpu->total_load);
	explain_newcomer(params, gpu, fund, decision);
	say_text(decision,
		 "%d %% of the GPU are sold and an overbooking ratio of %.4g allows %.4g %%: one "
		 "more of %d %% can be sold and has %d %%",
		 sold_pct, params->static_ratio, 100 * params->static_ratio,
		 gpu->flavor.initial_cap_pct, fund->cap_pct);
}

void explain_fund_share(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_out *out, const struct policy_terms *terms,
			const struct fund *fund, const char *share,
			struct policy_decision *decision)
{
	say_number(decision, "contract_pct", terms->initial_cap_pct);
	say_number(decision, "funded_pct", fund->cap_pct);
	say_number(decision, "free_pct", 100 - plan_sum_cap_pct(gpu));
	say_number(decision, "given_pct", fund->given_pct);
	say_number(decision, "givers", fund->givers);
	say_number(decision, "min_newcomer_pct", params->min_newcomer_pct);
	say_text(decision, "A newcomer with a contract of %d %% gets %d %%, %s",
		 terms->initial_cap_pct, fund->cap_pct, share);
	if (fund->givers > 0)
		say_text(decision, "; %d %% come from those who have more than theirs then",
			 fund->given_pct);
	say_moves(gpu, out, decision);
}
