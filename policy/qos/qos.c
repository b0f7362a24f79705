/* SPDX-License-Identifier: MIT */
/*
 * gover's own policy: caps follow the expected demand of each vGPU, and one more vGPU is sold while
 * a profit is expected. A period with an invalid reading changes nothing.
 *
 * Caps (allocation.h): a cap is cut only if another vGPU may need the cut part. If more is wanted
 * than the GPU has, no vGPU gets less than the smaller of its demand and its share by contract.
 * Overload: if the total demand exceeds the GPU, the policy warns of a severe overload and names
 * the vGPU whose migration relieves the GPU enough at the least cost.
 * Selling (profit.h): the expected profit is the price times the probability that the newcomer
 * fits, minus the expected penalties. If vGPUs are migrated automatically, a newcomer that does not
 * fit costs little.
 */
#include <errno.h>
#include <math.h>

#include "base/id.h"
#include "base/number.h"
#include "policy/explain.h"
#include "policy/fund.h"
#include "policy/plan.h"
#include "policy/qos/allocation.h"
#include "policy/qos/demand.h"
#include "policy/qos/futures.h"
#include "policy/qos/moving.h"
#include "policy/qos/profit.h"
#include "policy/signal.h"

static void explain_allocation(const struct policy_gpu *gpu, const struct policy_out *out,
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
		reason_add_number(decision, "u_pct", 100 * vgpu->sample.util);
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

/* Explains a decision of kind POLICY_SEVERE: removing decision->vgpu frees @relief_pct. */
static void explain_overcommitted(const struct policy_gpu *gpu,
				  const struct allocation_summary *summary, double relief_pct,
				  struct policy_decision *decision)
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

/* Explains a decision of kind POLICY_OFFER. */
static void explain_profit(const struct policy_params *params, const struct policy_gpu *gpu,
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

#define OVERCOMMITTED_S 1   /* a total demand above 100 % for longer is a severe overload */
#define REPEAT_S	30  /* after this time, a vGPU is named again if the overload continues */
#define MOVE_FRACTION	0.5 /* a vGPU is named if the overload has cost this part of a move */
#define COST_FADES_S	600

/* Returns true if @periods take at least @seconds. Keys in periods count seconds, so that the
 * policy acts alike at all lengths of a period. */
static bool lasts(const struct policy_gpu *gpu, int periods, double seconds)
{
	return periods * gpu->period_s >= seconds - 1e-6;
}

/* Returns true if the overload lasts for OVERCOMMITTED_S after the first reading that shows it. A
 * reading of twice this time shows it alone. */
static bool is_severe(const struct policy_gpu *gpu)
{
	return lasts(gpu, gpu->overcommitted_run - 1, OVERCOMMITTED_S) ||
	       lasts(gpu, gpu->overcommitted_run, 2 * OVERCOMMITTED_S);
}

static void learn(struct policy_gpu *gpu)
{
	int broken = 0;

	for (int i = 0; i < gpu->n_vgpus; i++) {
		demand_learn(gpu, &gpu->vgpus[i]);
		broken += gpu->vgpus[i].broken;
	}
	futures_learn(gpu);
	moving_learn(gpu);
	gpu->broken_s += gpu->period_s * (broken - gpu->broken_s / PROFIT_HOUR_S);
}

/* --- severe overload --- */

static double relief_pct(const struct policy_params *params, const struct policy_gpu *gpu,
			 int index)
{
	const struct policy_vgpu *vgpu = &gpu->vgpus[index];

	return vgpu->held ? vgpu->cap_pct
			  : fmax(policy_floor_pct(params, gpu, &vgpu->terms),
				 ceil(demand_tolerance(vgpu) * demand_now_pct(vgpu)));
}

/* Returns true if migrating vGPU @a is better than migrating vGPU @b. A vGPU whose removal ends the
 * overload is preferred. Among these vGPUs, the newcomer on probation is preferred, then a smaller
 * contract, then a larger demand. Among the other vGPUs, a larger demand is preferred. */
static bool is_better_to_migrate(const struct policy_params *params, const struct policy_gpu *gpu,
				 double over_pct, int a, int b)
{
	double a_pct = relief_pct(params, gpu, a), b_pct = relief_pct(params, gpu, b);
	int a_sold = gpu->vgpus[a].terms.initial_cap_pct;
	int b_sold = gpu->vgpus[b].terms.initial_cap_pct;

	if ((a_pct >= over_pct) != (b_pct >= over_pct))
		return a_pct >= over_pct;
	if (a_pct < over_pct && a_pct != b_pct)
		return a_pct > b_pct;
	if (gpu->vgpus[a].newcomer != gpu->vgpus[b].newcomer)
		return gpu->vgpus[a].newcomer;
	if (a_sold != b_sold)
		return a_sold < b_sold;
	if (a_pct != b_pct)
		return a_pct > b_pct;
	return id_compare(gpu->vgpus[a].id, gpu->vgpus[b].id) < 0;
}

static int find_vgpu_to_migrate(const struct policy_params *params, const struct policy_gpu *gpu,
				double over_pct)
{
	int best = 0;

	for (int i = 1; i < gpu->n_vgpus; i++)
		if (is_better_to_migrate(params, gpu, over_pct, i, best))
			best = i;
	return best;
}

/* Adds the cost of the present overload, as far as it is certain: if the largest demand gets
 * nothing, the others are served. Cost of earlier overloads fades. */
static void add_cost(const struct policy_params *params, struct policy_gpu *gpu, double over_pct)
{
	double largest_pct = 1;

	for (int i = 0; i < gpu->n_vgpus; i++)
		largest_pct = fmax(largest_pct, demand_now_pct(&gpu->vgpus[i]));
	gpu->overload_cost *= fmax(0, 1 - gpu->period_s / COST_FADES_S);
	if (over_pct > 0)
		gpu->overload_cost +=
			params->penalty_per_broken_s * gpu->period_s * over_pct / largest_pct;
}

/* Returns true if the overload has cost enough to migrate a vGPU. */
static bool is_worth_a_move(const struct policy_params *params, const struct policy_gpu *gpu)
{
	return gpu->overload_cost >= MOVE_FRACTION * params->price_per_move;
}

/* Counts the periods of an overload, which ends after more than overload_periods seconds without
 * overload. Returns true if a vGPU must be named for migration now. */
static bool count_overcommitted(const struct policy_params *params, struct policy_gpu *gpu,
				bool overcommitted)
{
	gpu->overcommitted_run = overcommitted ? gpu->overcommitted_run + 1 : 0;
	gpu->name_again_s = fmax(0, gpu->name_again_s - gpu->period_s);
	if (gpu->n_vgpus < gpu->severe_vgpus)
		gpu->name_again_s = 0; /* After a removal, the next vGPU can be named at once. */
	gpu->severe_vgpus = gpu->n_vgpus;
	if (is_severe(gpu)) {
		gpu->severe_quiet = 0;
		gpu->severe_run++;
		return gpu->name_again_s < 1e-6 && is_worth_a_move(params, gpu);
	}
	if (!overcommitted && lasts(gpu, gpu->severe_quiet++, params->overload_periods)) {
		gpu->severe_run = 0;
		gpu->name_again_s = 0;
	}
	return false;
}

static bool is_caused_by_newcomer(const struct policy_params *params, const struct policy_gpu *gpu,
				  double over_pct)
{
	for (int i = 0; i < gpu->n_vgpus; i++)
		if (gpu->vgpus[i].newcomer)
			return relief_pct(params, gpu, i) >= over_pct;
	return false;
}

static void warn_overcommitted(const struct policy_params *params, struct policy_gpu *gpu,
			       const struct allocation_summary *summary, struct policy_out *out)
{
	bool overcommitted = summary->now_pct > 100;
	bool name, severe;
	struct policy_decision *decision;

	add_cost(params, gpu, summary->now_pct - 100);
	name = count_overcommitted(params, gpu, overcommitted);
	severe = is_severe(gpu);
	gpu->severe_in_doubt = gpu->severe_run > 0 && !severe;
	if (severe)
		gpu->conditions |= POLICY_SEVERE_OVERLOAD;
	gpu->severe_without_newcomer = !is_caused_by_newcomer(params, gpu, summary->now_pct - 100);
	if (!name)
		return;
	decision = plan_decide_nothing(gpu, POLICY_SEVERE, out);
	decision->vgpu = find_vgpu_to_migrate(params, gpu, summary->now_pct - 100);
	moving_name(gpu, decision->vgpu);
	gpu->overload_cost = 0;
	gpu->name_again_s = REPEAT_S;
	explain_overcommitted(gpu, summary, relief_pct(params, gpu, decision->vgpu), decision);
}

/* --- selling --- */

/* The newcomer's first cap is the part of the GPU that the other vGPUs are not expected to need. */
static int plan_fund(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_terms *terms, struct fund *ret_fund)
{
	int contract_pct = plan_contract_pct(gpu, terms);
	int least_pct = policy_floor_pct(params, gpu, terms);
	int absent_pct = gpu->absent.demand_pct - gpu->absent.cap_pct;
	struct allocation_summary summary;
	int spare_pct;

	(void)allocation_plan(params, gpu, 0, &ret_fund->plan, &summary);
	spare_pct = plan_whole_steps(gpu, 100 - summary.need_pct - absent_pct) * gpu->step_pct;
	spare_pct = min_int(spare_pct, contract_pct);
	if (spare_pct < least_pct || spare_pct < params->min_newcomer_pct)
		return moving_trust(gpu) > 0 ? fund_plan(params, gpu, terms, ret_fund) : -ENOSPC;
	(void)allocation_plan(params, gpu, spare_pct, &ret_fund->plan, &summary);
	ret_fund->cap_pct = spare_pct;
	ret_fund->given_pct = 0;
	ret_fund->givers = 0;
	for (int i = 0; i < gpu->n_vgpus; i++) {
		/* Funding never raises the cap of another vGPU. */
		int delta_pct = min_int(ret_fund->plan.delta_pct[i], 0);

		ret_fund->plan.delta_pct[i] = delta_pct;
		ret_fund->given_pct -= delta_pct;
		ret_fund->givers += delta_pct < 0;
	}
	return 0;
}

int qos_fund(const struct policy_params *params, struct policy_gpu *gpu,
	     const struct policy_terms *terms, struct policy_out *out)
{
	struct fund fund;
	int r;

	plan_clear(out);
	r = plan_fund(params, gpu, terms, &fund);
	if (r < 0)
		return r;
	explain_fund_share(params, gpu, out, terms, &fund,
			   "the part of the GPU that the other vGPUs are not expected to need",
			   fund_decide(gpu, &fund, out));
	return fund.cap_pct;
}

/* Returns true in one period of each second. In short periods, sampling futures costs too much. */
static bool is_new_second(const struct policy_gpu *gpu)
{
	return floor(gpu->past_s + 1e-6) > floor(gpu->past_s - gpu->period_s + 1e-6);
}

/* Offers each contract that can be funded and is worth its risk. The futures of all contracts are
 * sampled together, at the first contract that can be funded. */
static void offer(const struct policy_params *params, struct policy_gpu *gpu,
		  struct policy_out *out)
{
	struct profit profits[POLICY_FLAVORS_MAX];
	struct policy_decision *decision = NULL;
	bool sampled = false;
	struct fund fund;

	for (int i = 0; i < gpu->n_flavors; i++) {
		if (plan_fund(params, gpu, &gpu->flavors[i], &fund) < 0)
			continue;
		if (!sampled)
			profit_expect(params, gpu, gpu->flavors, gpu->n_flavors, profits);
		sampled = true;
		if (profit_is_enough(params, &profits[i]) &&
		    fund_list(gpu, i, &fund, &decision, out))
			explain_profit(params, gpu, &gpu->flavors[i], &fund, &profits[i], decision);
	}
	if (decision)
		gpu->calm_run = 0;
}

static void sell(const struct policy_params *params, struct policy_gpu *gpu, bool overcommitted,
		 struct policy_out *out)
{
	gpu->calm_run = overcommitted || gpu->offered ? 0 : gpu->calm_run + 1;
	if (lasts(gpu, gpu->calm_run, params->quiet_periods) && gpu->selling && is_new_second(gpu))
		offer(params, gpu, out);
}

void qos_step(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out)
{
	struct allocation_summary summary;
	struct plan plan;
	enum allocation result;

	plan_clear(out);
	signal_read(params, gpu);
	if (!signal_all_read(gpu)) {
		gpu->calm_run = 0;
		gpu->severe_in_doubt = true;
		return;
	}
	learn(gpu);
	result = allocation_plan(params, gpu, 0, &plan, &summary);
	warn_overcommitted(params, gpu, &summary, out);
	sell(params, gpu, summary.now_pct > 100, out);
	if (plan_apply(&plan, gpu) > 0)
		explain_allocation(gpu, out, result, &summary,
				   plan_decide(&plan, gpu, POLICY_SHARE, out));
}
