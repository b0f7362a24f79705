/* SPDX-License-Identifier: MIT */
/*
 * Turns assigned caps into moves. The cap of a held vGPU never changes. If the rule uses readings,
 * no cap changes by less than the dead band (deadband_pct).
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/id.h"
#include "policy/baseline/assign.h"
#include "policy/explain.h"
#include "policy/share.h"
#include "policy/signal.h"
#include "policy/window.h"

static bool is_fixed(const struct policy_vgpu *vgpu, bool uses_readings)
{
	return vgpu->held || (uses_readings && !vgpu->sample.busy_valid);
}

void assign_begin(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_terms *newcomer, bool uses_readings,
		  struct waterfill *ret_fill)
{
	int fixed_pct = gpu->absent.cap_pct, floors = 0, n = 0;

	for (int i = 0; i <= gpu->n_vgpus; i++) {
		const struct policy_vgpu *vgpu = i < gpu->n_vgpus ? &gpu->vgpus[i] : NULL;
		const struct policy_terms *terms = vgpu ? &vgpu->terms : newcomer;
		int most_pct;

		if (!terms)
			continue;
		/* A newcomer is not funded beyond its contract. */
		most_pct = vgpu ? policy_ceiling_pct(gpu, terms) : plan_contract_pct(gpu, terms);
		if (vgpu && is_fixed(vgpu, uses_readings)) {
			fixed_pct += vgpu->cap_pct;
			continue;
		}
		ret_fill->entries[n] = (struct waterfill_entry){
			.id = vgpu ? vgpu->id : NULL,
			.vgpu = i,
			.weight = 1,
			.steps = policy_floor_pct(params, gpu, terms) / gpu->step_pct,
			.limit = most_pct / gpu->step_pct,
		};
		floors += ret_fill->entries[n++].steps;
	}
	ret_fill->n = n;
	ret_fill->total = plan_whole_steps(gpu, 100 - fixed_pct);
	ret_fill->extra = ret_fill->total - floors;
}

void assign_finish(const struct policy_gpu *gpu, const struct waterfill *fill,
		   struct assignment *ret_assigned)
{
	*ret_assigned = (struct assignment){0};
	for (int i = 0; i < gpu->n_vgpus; i++)
		ret_assigned->cap_pct[i] = gpu->vgpus[i].cap_pct;
	ret_assigned->shared_pct = fill->total * gpu->step_pct;
	for (int i = 0; i < fill->n; i++) {
		const struct waterfill_entry *entry = &fill->entries[i];
		int pct = entry->steps * gpu->step_pct;

		if (entry->id)
			ret_assigned->cap_pct[entry->vgpu] = pct;
		else
			ret_assigned->newcomer_pct = pct;
	}
}

/* Plans to take @steps from the vGPUs above their assigned caps, in proportion to the excess.
 * Returns the steps taken. */
static int cut(const struct policy_gpu *gpu, const struct assignment *assigned, int steps,
	       struct plan *plan)
{
	struct share shares[POLICY_VGPUS_MAX];
	int n = 0, divided;

	for (int i = 0; i < gpu->n_vgpus; i++) {
		int above = (gpu->vgpus[i].cap_pct - assigned->cap_pct[i]) / gpu->step_pct;

		if (above > 0)
			shares[n++] = (struct share){
				.id = gpu->vgpus[i].id, .vgpu = i, .weight = above, .limit = above};
	}
	divided = share_divide(shares, n, steps);
	for (int i = 0; i < n; i++)
		plan->delta_pct[shares[i].vgpu] -= shares[i].steps * gpu->step_pct;
	return divided;
}

static void plan_all(const struct policy_gpu *gpu, const struct assignment *assigned,
		     struct plan *plan)
{
	for (int i = 0; i < gpu->n_vgpus; i++)
		plan->delta_pct[i] = assigned->cap_pct[i] - gpu->vgpus[i].cap_pct;
}

/* Plans all raises of at least the dead band, and cuts for these raises. The assigned caps together
 * fit the GPU, so the cuts are always large enough. */
static void plan_raises(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct assignment *assigned, struct plan *plan)
{
	int steps = -plan_free_steps(gpu);
	bool any = false;

	for (int i = 0; i < gpu->n_vgpus; i++) {
		int below_pct = assigned->cap_pct[i] - gpu->vgpus[i].cap_pct;

		if (below_pct < gpu->step_pct || below_pct < params->deadband_pct)
			continue;
		plan->delta_pct[i] = below_pct;
		steps += below_pct / gpu->step_pct;
		any = true;
	}
	if (any)
		(void)cut(gpu, assigned, steps, plan);
}

/* Returns the vGPU whose cap is raised by the decision (or is cut, if @sign is -1). Returns -1
 * if there is no such vGPU or more than one. */
static int only_one(const struct policy_out *out, const struct policy_decision *decision, int sign)
{
	int found = -1;

	for (int i = 0; i < decision->n_moves; i++) {
		const struct policy_move *move = &out->moves[decision->first_move + i];

		if (sign * (move->to_pct - move->from_pct) < 0)
			continue;
		if (found >= 0)
			return -1;
		found = move->vgpu;
	}
	return found;
}

/* Returns true if a cap changes. */
static bool assign(const struct policy_params *params, struct policy_gpu *gpu,
		   const struct assign_rule *rule, struct policy_out *out)
{
	struct policy_decision *decision;
	struct plan plan;
	struct assignment assigned;

	if (!rule->compute(params, gpu, NULL, &assigned))
		return false;
	plan_init(&plan, gpu);
	if (rule->uses_readings)
		plan_raises(params, gpu, &assigned, &plan);
	else
		plan_all(gpu, &assigned, &plan);
	if (plan_apply(&plan, gpu) == 0)
		return false;
	decision = plan_decide(&plan, gpu, POLICY_SHARE, out);
	decision->vgpu = only_one(out, decision, 1);
	decision->donor = only_one(out, decision, -1);
	rule->explain(params, gpu, out, &assigned, decision);
	return true;
}

bool assign_step(const struct policy_params *params, struct policy_gpu *gpu,
		 const struct assign_rule *rule, struct policy_out *out)
{
	plan_clear(out);
	signal_read(params, gpu);
	gpu->severe_run = gpu->severe_quiet = 0; /* no rule 7 */
	gpu->severe_in_doubt = false;
	if (signal_all_read(gpu) && rule->read)
		rule->read(params, gpu);
	return (signal_all_read(gpu) || !rule->uses_readings) && assign(params, gpu, rule, out);
}

bool assign_may_offer(const struct policy_gpu *gpu)
{
	return signal_all_read(gpu) && gpu->selling && !gpu->offered;
}

bool assign_is_calm(const struct policy_gpu *gpu)
{
	for (int i = 0; i < gpu->n_vgpus; i++)
		if (gpu->vgpus[i].receiver)
			return false;
	return true;
}

int assign_fund_plan(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_terms *terms, const struct assign_rule *rule,
		     struct fund *ret_fund)
{
	int free_steps = plan_free_steps(gpu), given;
	struct assignment assigned;

	if (!rule->compute(params, gpu, terms, &assigned))
		return -ENOSPC;
	plan_init(&ret_fund->plan, gpu);
	given = cut(gpu, &assigned, assigned.newcomer_pct / gpu->step_pct - free_steps,
		    &ret_fund->plan);
	ret_fund->given_pct = given * gpu->step_pct;
	ret_fund->cap_pct = (free_steps + given) * gpu->step_pct;
	if (ret_fund->cap_pct > assigned.newcomer_pct)
		ret_fund->cap_pct = assigned.newcomer_pct;
	if (ret_fund->cap_pct > plan_contract_pct(gpu, terms))
		return -ENOSPC; /* the newcomer's floor is above its contract */
	ret_fund->givers = 0;
	for (int i = 0; i < gpu->n_vgpus; i++)
		ret_fund->givers += ret_fund->plan.delta_pct[i] != 0;
	if (ret_fund->cap_pct < policy_floor_pct(params, gpu, terms) ||
	    ret_fund->cap_pct < params->min_newcomer_pct)
		return -ENOSPC;
	return 0;
}

int assign_fund(const struct policy_params *params, struct policy_gpu *gpu,
		const struct policy_terms *terms, const struct assign_rule *rule,
		struct policy_out *out)
{
	struct fund fund;
	int r;

	plan_clear(out);
	r = assign_fund_plan(params, gpu, terms, rule, &fund);
	if (r < 0)
		return r;
	explain_fund_share(params, gpu, out, terms, &fund, rule->share,
			   fund_decide(gpu, &fund, out));
	return fund.cap_pct;
}

void assign_return(const struct policy_params *params, struct policy_gpu *gpu,
		   const struct assign_rule *rule, struct policy_out *out)
{
	plan_clear(out);
	(void)assign(params, gpu, rule, out);
}

/* --- water-filling --- */

/*
 * Each step goes to the entry with the smallest (steps + 1/2) / weight (Webster's rule), so that
 * rounding favours neither large nor small weights.
 */
static bool goes_first(const struct waterfill_entry *a, const struct waterfill_entry *b)
{
	int64_t level_a = (2 * (int64_t)a->steps + 1) * b->weight;
	int64_t level_b = (2 * (int64_t)b->steps + 1) * a->weight;

	if (level_a != level_b)
		return level_a < level_b;
	if (!a->id || !b->id)
		return a->id != NULL;
	return id_compare(a->id, b->id) < 0;
}

int waterfill_allocate(struct waterfill_entry *fills, int n, int extra)
{
	int given = 0;

	while (given < extra) {
		struct waterfill_entry *lowest = NULL;

		for (int i = 0; i < n; i++)
			if (fills[i].steps < fills[i].limit &&
			    (!lowest || goes_first(&fills[i], lowest)))
				lowest = &fills[i];
		if (!lowest)
			break;
		lowest->steps++;
		given++;
	}
	return given;
}

/* --- demand --- */

/* The factor 1.001 tolerates rounding. A vGPU with a cap of probe_need_steps() must not count as
 * using its whole cap; otherwise the cap would alternate by one step. */
bool probe_is_censored(const struct policy_params *params, const struct policy_gpu *gpu,
		       const struct policy_vgpu *vgpu)
{
	return vgpu->sample.busy_valid &&
	       signal_use(gpu, vgpu) > 1.001 * params->overload_pct / 100.0;
}

/* Rounds up and, like plan_whole_steps(), tolerates a rounding error. */
static int steps_up(const struct policy_gpu *gpu, double pct)
{
	return (int)ceil(pct / gpu->step_pct - 1e-4);
}

int probe_need_steps(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_vgpu *vgpu)
{
	double load = window_max(vgpu->track, params->demand_periods);

	return steps_up(gpu, fmin(100, 100 * load / (params->overload_pct / 100.0)));
}

int probe_more_steps(const struct policy_params *params, const struct policy_gpu *gpu, int pct)
{
	int least_pct = probe_band_steps(params, gpu) * gpu->step_pct;

	return steps_up(gpu, pct + fmax(least_pct, pct * params->demand_probe));
}

int probe_band_steps(const struct policy_params *params, const struct policy_gpu *gpu)
{
	int steps = steps_up(gpu, params->deadband_pct);

	return steps > 1 ? steps : 1;
}

/* --- explanations --- */

int assign_count_sharers(const struct policy_gpu *gpu)
{
	int n = 0;

	for (int i = 0; i < gpu->n_vgpus; i++)
		n += !gpu->vgpus[i].held;
	return n;
}

void assign_explain_shared(const struct policy_gpu *gpu, const struct assignment *assigned,
			   struct policy_decision *decision)
{
	reason_add_number(decision, "vgpus", assign_count_sharers(gpu));
	reason_add_number(decision, "shared_pct", assigned->shared_pct);
}

void assign_explain_demand(const struct policy_params *params, const struct policy_gpu *gpu,
			   const struct assignment *assigned, struct policy_decision *decision)
{
	assign_explain_shared(gpu, assigned, decision);
	reason_add_number(decision, "wanting", assigned->wanting);
	reason_add_number(decision, "demand_pct", assigned->demand_pct);
	reason_add_number(decision, "spare_pct", assigned->spare_pct);
	reason_add_number(decision, "deadband_pct", params->deadband_pct);
	reason_add_text(decision, "%d of %d vGPUs use their whole cap", assigned->wanting,
			assign_count_sharers(gpu));
}
