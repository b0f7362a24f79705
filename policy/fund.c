/* SPDX-License-Identifier: MIT */
/*
 * Rules 4, 8, 9, 10 and 12: offer one more vGPU, fund a newcomer, redistribute the cap of a removed
 * vGPU, cut caps to 100 %, set a cap for an operator, and adapt a cap to a changed contract. No
 * rule takes cap from a held vGPU or sets a cap below a floor.
 */
#include <errno.h>
#include <math.h>

#include "base/number.h"
#include "policy/explain.h"
#include "policy/fund.h"
#include "policy/share.h"
#include "policy/signal.h"
#include "policy/window.h"

/* Returns the part of the cap that stayed unused in every period of the window, or 0 if no use is
 * known. */
static double unused_pct(const struct policy_params *params, const struct policy_vgpu *vgpu)
{
	if (!vgpu->sample.busy_valid)
		return 0;
	return fmax(0, vgpu->cap_pct - 100 * window_max(vgpu->track, params->fund_window_periods));
}

static struct share share_of(const struct policy_gpu *gpu, int index, double weight_pct, int limit)
{
	return (struct share){
		.id = gpu->vgpus[index].id,
		.vgpu = index,
		.weight = llround(weight_pct * 1e6) + 1, /* never 0 */
		.limit = limit,
	};
}

/* Divides @steps among @shares and adds the parts to the plan: as raises, or as cuts if @sign is
 * -1. Returns the steps divided. */
static int divide(const struct policy_gpu *gpu, struct share *shares, int n, int steps, int sign,
		  struct plan *plan)
{
	int divided = share_divide(shares, n, steps);

	for (int i = 0; i < n; i++)
		plan->delta_pct[shares[i].vgpu] += sign * shares[i].steps * gpu->step_pct;
	return divided;
}

/* Collects the donors of rule 9: vGPUs that are not held and not overloaded, are above their floors
 * and have unused cap. */
static int find_givers(const struct policy_params *params, const struct policy_gpu *gpu,
		       struct share *shares)
{
	int n = 0;

	for (int i = 0; i < gpu->n_vgpus; i++) {
		const struct policy_vgpu *vgpu = &gpu->vgpus[i];
		double unused = unused_pct(params, vgpu);
		int above_floor = vgpu->cap_pct - policy_floor_pct(params, gpu, &vgpu->terms);
		int limit = min_int(plan_whole_steps(gpu, params->fund_fraction * unused),
				    plan_whole_steps(gpu, above_floor));

		if (limit > 0 && !vgpu->held && signal_cause(params, gpu, vgpu) == SIGNAL_NONE)
			shares[n++] = share_of(gpu, i, unused, limit);
	}
	return n;
}

int fund_plan(const struct policy_params *params, const struct policy_gpu *gpu,
	      const struct policy_terms *terms, struct fund *ret_fund)
{
	struct share shares[POLICY_VGPUS_MAX];
	int n = find_givers(params, gpu, shares);
	int free_steps = plan_free_steps(gpu);
	int contract_pct = plan_contract_pct(gpu, terms);
	int least_pct = max_int(params->min_newcomer_pct, policy_floor_pct(params, gpu, terms));
	int steps = free_steps, given;

	for (int i = 0; i < n; i++)
		steps += shares[i].limit;
	steps = min_int(steps, contract_pct / gpu->step_pct);
	if (steps * gpu->step_pct < least_pct)
		return -ENOSPC;

	plan_init(&ret_fund->plan, gpu);
	given = divide(gpu, shares, n, steps - free_steps, -1, &ret_fund->plan);
	ret_fund->cap_pct = steps * gpu->step_pct;
	ret_fund->given_pct = given * gpu->step_pct;
	ret_fund->givers = 0;
	for (int i = 0; i < n; i++)
		ret_fund->givers += shares[i].steps > 0;
	return 0;
}

struct policy_decision *fund_decide(struct policy_gpu *gpu, const struct fund *fund,
				    struct policy_out *out)
{
	struct policy_decision *decision = plan_decide(&fund->plan, gpu, POLICY_FUND, out);

	if (decision->n_moves == 1)
		decision->donor = out->moves[decision->first_move].vgpu;
	return decision;
}

bool fund_list(struct policy_gpu *gpu, int flavor, const struct fund *fund,
	       struct policy_decision **decision, struct policy_out *out)
{
	bool leads = !*decision;

	if (leads)
		*decision = plan_decide_nothing(gpu, POLICY_OFFER, out);
	(*decision)->fundable_pct[flavor] = fund->cap_pct;
	return leads;
}

int policy_fund(const struct policy_params *params, struct policy_gpu *gpu,
		const struct policy_terms *terms, struct policy_out *out)
{
	struct fund fund;
	int r;

	plan_clear(out);
	r = fund_plan(params, gpu, terms, &fund);
	if (r < 0)
		return r;
	explain_fund(params, gpu, out, terms, &fund, fund_decide(gpu, &fund, out));
	return fund.cap_pct;
}

void policy_return(const struct policy_params *params, struct policy_gpu *gpu,
		   struct policy_out *out)
{
	struct share shares[POLICY_VGPUS_MAX];
	struct plan plan;
	int n = 0;

	(void)params;
	plan_clear(out);
	plan_init(&plan, gpu);
	for (int i = 0; i < gpu->n_vgpus; i++) {
		const struct policy_vgpu *vgpu = &gpu->vgpus[i];
		int lack_pct = plan_contract_pct(gpu, &vgpu->terms) - vgpu->cap_pct;

		if (!vgpu->held && lack_pct >= gpu->step_pct)
			shares[n++] = share_of(gpu, i, lack_pct, lack_pct / gpu->step_pct);
	}
	divide(gpu, shares, n, plan_free_steps(gpu), 1, &plan);
	if (plan_apply(&plan, gpu) > 0)
		explain_return(gpu, out, plan_decide(&plan, gpu, POLICY_RETURN, out));
}

/* Plans to take up to @steps from the vGPUs that are not held, except vGPU @except. The parts
 * are in proportion to the unused caps if @unused_only is true, otherwise to the planned caps.
 * Returns the steps that are still missing. */
static int shrink_by(const struct policy_params *params, const struct policy_gpu *gpu, int except,
		     bool unused_only, int steps, struct plan *plan)
{
	struct share shares[POLICY_VGPUS_MAX];
	int n = 0;

	for (int i = 0; i < gpu->n_vgpus; i++) {
		const struct policy_vgpu *vgpu = &gpu->vgpus[i];
		int cap_pct = vgpu->cap_pct + plan->delta_pct[i];
		double weight_pct = unused_only ? unused_pct(params, vgpu) : cap_pct;
		int above_floor = cap_pct - policy_floor_pct(params, gpu, &vgpu->terms);
		int limit = min_int(plan_whole_steps(gpu, weight_pct),
				    plan_whole_steps(gpu, above_floor));

		if (limit > 0 && i != except && !vgpu->held)
			shares[n++] = share_of(gpu, i, weight_pct, limit);
	}
	return steps - divide(gpu, shares, n, steps, -1, plan);
}

/* Plans cuts that free @over_pct. Returns the percent that cannot be freed because of floors and
 * holds. */
static int shrink(const struct policy_params *params, const struct policy_gpu *gpu, int except,
		  int over_pct, struct plan *plan)
{
	int steps = -plan_whole_steps(gpu, -over_pct);

	if (steps > 0)
		steps = shrink_by(params, gpu, except, true, steps, plan);
	if (steps > 0)
		steps = shrink_by(params, gpu, except, false, steps, plan);
	return max_int(0, steps) * gpu->step_pct;
}

int policy_fit(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out)
{
	int over_pct = plan_sum_cap_pct(gpu) - 100;
	struct plan plan;
	int left_pct;

	plan_clear(out);
	plan_init(&plan, gpu);
	left_pct = shrink(params, gpu, -1, over_pct, &plan);
	if (plan_apply(&plan, gpu) > 0)
		explain_fit(gpu, out, over_pct, left_pct, plan_decide(&plan, gpu, POLICY_FIT, out));
	return left_pct > 0 ? -ENOSPC : 0;
}

/* Plans @cap_pct for vGPU @index. If this is a raise, also plans the necessary cuts of other
 * vGPUs. Returns NULL if the raise does not fit. */
static struct policy_decision *place(const struct policy_params *params, struct policy_gpu *gpu,
				     int index, int cap_pct, enum policy_kind kind,
				     struct policy_out *out, int *ret_largest_pct)
{
	int raise_pct = cap_pct - gpu->vgpus[index].cap_pct;
	struct policy_decision *decision;
	struct plan plan;
	int left_pct;

	plan_init(&plan, gpu);
	left_pct = shrink(params, gpu, index, plan_sum_cap_pct(gpu) + raise_pct - 100, &plan);
	if (left_pct > 0 && raise_pct > 0) {
		*ret_largest_pct = max_int(cap_pct - left_pct, gpu->vgpus[index].cap_pct);
		return NULL;
	}
	plan.delta_pct[index] = raise_pct;
	decision = plan_decide(&plan, gpu, kind, out);
	decision->vgpu = index;
	return decision;
}

int policy_hold(const struct policy_params *params, struct policy_gpu *gpu, int index, int cap_pct,
		struct policy_out *out, int *ret_largest_pct)
{
	struct policy_decision *decision;

	plan_clear(out);
	decision = place(params, gpu, index, cap_pct, POLICY_HOLD, out, ret_largest_pct);
	if (!decision)
		return -ENOSPC;
	explain_hold(gpu, out, cap_pct, decision);
	return 0;
}

int policy_reserve(const struct policy_params *params, struct policy_gpu *gpu, int reserved_pct,
		   int cap_pct, struct policy_out *out, int *ret_largest_pct)
{
	int over_pct = plan_sum_cap_pct(gpu) - reserved_pct + cap_pct - 100;
	struct plan plan;
	int left_pct;

	plan_clear(out);
	plan_init(&plan, gpu);
	left_pct = shrink(params, gpu, -1, over_pct, &plan);
	if (left_pct > 0 && cap_pct > reserved_pct) {
		*ret_largest_pct = max_int(cap_pct - left_pct, reserved_pct);
		return -ENOSPC;
	}
	if (plan_apply(&plan, gpu) > 0)
		explain_fit(gpu, out, over_pct, 0, plan_decide(&plan, gpu, POLICY_FIT, out));
	return 0;
}

int policy_set(const struct policy_params *params, struct policy_gpu *gpu, int index,
	       const struct policy_terms *terms, struct policy_out *out, int *ret_largest_pct)
{
	int least_pct = policy_floor_pct(params, gpu, terms);
	int most_pct = policy_ceiling_pct(gpu, terms);
	int is_pct = gpu->vgpus[index].cap_pct;
	int cap_pct = max_int(least_pct, min_int(is_pct, most_pct));
	struct policy_decision *decision;
	struct plan none;

	plan_clear(out);
	if (cap_pct == is_pct) {
		plan_init(&none, gpu);
		(void)plan_apply(&none, gpu);
		return 0;
	}
	decision = place(params, gpu, index, cap_pct, POLICY_SET, out, ret_largest_pct);
	if (!decision)
		return -ENOSPC;
	explain_set(gpu, out, least_pct, most_pct, decision);
	return 0;
}

const struct admission admit_by_load = {NULL, NULL};

/* @peak: the prediction, if there is one. */
static bool has_room(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct peak *peak, const struct policy_terms *terms)
{
	int absent_pct = gpu->absent.demand_pct;

	return peak ? peak->pct + absent_pct + terms->initial_cap_pct <= 100
		    : gpu->total_load + absent_pct / 100.0 < params->lowload_pct / 100.0;
}

/* Explains an offer by a predicted peak instead of the total load. */
static void explain_peak(const struct policy_params *params, const struct policy_gpu *gpu,
			 const struct admission *admission, const struct peak *peak,
			 const struct policy_terms *terms, const struct fund *fund,
			 struct policy_decision *decision)
{
	reason_add_number(decision, "calm_periods", gpu->calm_run);
	reason_add_number(decision, "total_load_pct", 100 * gpu->total_load);
	reason_add_number(decision, "peak_pct", peak->pct);
	explain_newcomer(params, gpu, terms, fund, decision);
	reason_add_number(decision, "cold", peak->cold);
	reason_add_number(decision, "predict_periods", params->predict_periods);
	reason_add_number(decision, "predict_sigmas", params->predict_sigmas);
	reason_add_text(decision, "No vGPU needed help for %d periods, and ", gpu->calm_run);
	admission->describe(params, decision);
	reason_add_text(decision, " over %d periods add up to %.1f %%", params->predict_periods,
			peak->pct);
	if (peak->cold > 0)
		reason_add_text(
			decision,
			" (%d vGPUs are younger than %d periods and count with their contracts)",
			peak->cold, params->predict_warm_periods);
	reason_add_text(decision,
			": a contract of %d %% fits; %d %% can be funded now, of which other vGPUs "
			"give %d %%",
			terms->initial_cap_pct, fund->cap_pct, fund->given_pct);
	explain_absent(gpu, decision);
}

void admit_period(const struct policy_params *params, struct policy_gpu *gpu,
		  const struct admission *admission, admit_fund_fn *fund_newcomer, bool calm,
		  bool moved, struct policy_out *out)
{
	struct policy_decision *decision = NULL;
	struct peak peak = {0}, *seen = admission->predict ? &peak : NULL;
	struct fund fund;

	gpu->calm_run = calm && signal_all_read(gpu) && !gpu->offered ? gpu->calm_run + 1 : 0;
	if (moved || gpu->calm_run < params->quiet_periods || !gpu->selling)
		return;
	if (seen)
		peak = admission->predict(params, gpu);
	for (int i = 0; i < gpu->n_flavors; i++) {
		const struct policy_terms *terms = &gpu->flavors[i];

		if (!has_room(params, gpu, seen, terms) ||
		    fund_newcomer(params, gpu, terms, &fund) < 0 ||
		    !fund_list(gpu, i, &fund, &decision, out))
			continue;
		if (seen)
			explain_peak(params, gpu, admission, seen, terms, &fund, decision);
		else
			explain_offer(params, gpu, terms, &fund, decision);
	}
	if (decision)
		gpu->calm_run = 0;
}
