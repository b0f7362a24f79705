/* SPDX-License-Identifier: MIT */
/*
 * The paper's policy (Algorithm 1 with rules 4 to 7 and 11). If one vGPU is overloaded, a donor
 * gives cap to this vGPU. If two or more vGPUs are overloaded, the GPU has a severe overload. If no
 * vGPU is overloaded for some periods at low load, one more vGPU is offered. While the free pool
 * can give a step to an overloaded vGPU, no donor gives cap and no warning is raised.
 */
#include <math.h>

#include "base/id.h"
#include "policy/explain.h"
#include "policy/fund.h"
#include "policy/plan.h"
#include "policy/share.h"
#include "policy/signal.h"

/* Breaks a tie: returns true if the id of @a is lower, or if @b is -1 (no vGPU). */
static bool lower_id(const struct policy_gpu *gpu, int a, int b)
{
	return b < 0 || id_compare(gpu->vgpus[a].id, gpu->vgpus[b].id) < 0;
}

/* Counts the overloaded vGPUs to which rules 4, 6 and 7 apply. */
static int count_signals(const struct rules *rules, const struct policy_gpu *gpu)
{
	int n = 0;

	for (int i = 0; i < gpu->n_vgpus; i++)
		n += rules->helpless_count ? gpu->vgpus[i].overloaded : gpu->vgpus[i].receiver;
	return n;
}

/* Counts the vGPUs whose overload is in doubt and to which rules 4, 6 and 7 apply. */
static int count_doubts(const struct rules *rules, const struct policy_gpu *gpu)
{
	int n = 0;

	for (int i = 0; i < gpu->n_vgpus; i++) {
		const struct policy_vgpu *vgpu = &gpu->vgpus[i];

		n += vgpu->in_doubt && (rules->helpless_count || signal_room_steps(gpu, vgpu) > 0);
	}
	return n;
}

/* Returns the first receiver, or -1 if there is none. In paper mode an overloaded vGPU need not
 * be a receiver. */
static int find_receiver(const struct policy_gpu *gpu)
{
	for (int i = 0; i < gpu->n_vgpus; i++)
		if (gpu->vgpus[i].receiver)
			return i;
	return -1;
}

static enum policy_kind kind_of_help(const struct policy_params *params,
				     const struct policy_gpu *gpu, int receiver,
				     enum policy_kind otherwise)
{
	return signal_cause(params, gpu, &gpu->vgpus[receiver]) == SIGNAL_WAKE ? POLICY_WAKE
									       : otherwise;
}

/* Rule 5. Returns false if the free pool has less than one step or no vGPU is a receiver. */
static bool give_pool(const struct policy_params *params, struct policy_gpu *gpu,
		      struct policy_out *out)
{
	struct share shares[POLICY_VGPUS_MAX];
	struct policy_decision *decision;
	enum policy_kind kind = POLICY_POOL;
	struct plan plan;
	int n = 0;

	plan_init(&plan, gpu);
	for (int i = 0; i < gpu->n_vgpus; i++) {
		const struct policy_vgpu *vgpu = &gpu->vgpus[i];
		int short_steps = signal_room_steps(gpu, vgpu);

		if (vgpu->receiver)
			shares[n++] = (struct share){.id = vgpu->id,
						     .vgpu = i,
						     .weight = short_steps,
						     .limit = short_steps};
	}
	if (share_divide(shares, n, plan_free_steps(gpu)) == 0)
		return false;
	for (int i = 0; i < n; i++)
		plan.delta_pct[shares[i].vgpu] = shares[i].steps * gpu->step_pct;
	if (n == 1)
		kind = kind_of_help(params, gpu, shares[0].vgpu, kind);
	decision = plan_decide(&plan, gpu, kind, out);
	if (n == 1)
		decision->vgpu = shares[0].vgpu;
	explain_pool(params, gpu, out, decision);
	return true;
}

static void bound_steal(struct steal *steal, int steps, enum steal_bound bound)
{
	if (steps < steal->steps) {
		steal->steps = steps;
		steal->bound = bound;
	}
}

/* Rule 6: computes the steps that @donor can give to @receiver; 0 steps if it cannot give. */
static struct steal plan_steal(const struct policy_params *params, const struct policy_gpu *gpu,
			       int receiver, int donor)
{
	const struct policy_vgpu *from = &gpu->vgpus[donor];
	int above_floor = from->cap_pct - policy_floor_pct(params, gpu, &from->terms);
	struct steal steal = {.receiver = receiver, .donor = donor};

	if (from->held || from->overloaded || !from->sample.busy_valid)
		return steal;
	steal.unused_pct = from->cap_pct * fmax(0, 1 - from->sample.util);
	steal.steps = plan_whole_steps(gpu, params->steal_fraction * steal.unused_pct);
	if (steal.steps == 0 && plan_whole_steps(gpu, steal.unused_pct) > 0) {
		steal.steps = 1;
		steal.bound = STEAL_ONE_STEP;
	}
	bound_steal(&steal, plan_whole_steps(gpu, above_floor), STEAL_FLOOR);
	bound_steal(&steal, signal_room_steps(gpu, &gpu->vgpus[receiver]), STEAL_CEILING);
	if (rules_in_force(params).donor_below_line) {
		double needed_pct = 100 * from->sample.load / (params->overload_pct / 100.0);

		bound_steal(&steal, plan_whole_steps(gpu, from->cap_pct - needed_pct), STEAL_LINE);
	}
	return steal;
}

/* Returns the steal from the least loaded donor for @receiver; 0 steps if no vGPU can give. */
static struct steal find_steal(const struct policy_params *params, const struct policy_gpu *gpu,
			       int receiver)
{
	struct steal best = {.receiver = receiver, .donor = -1};
	double lightest = INFINITY;

	for (int i = 0; i < gpu->n_vgpus; i++) {
		const struct policy_vgpu *vgpu = &gpu->vgpus[i];
		double weight =
			params->weight_util * vgpu->sample.util + params->weight_qos * vgpu->e;
		struct steal steal = plan_steal(params, gpu, receiver, i);

		if (steal.steps < 1 || weight > lightest ||
		    (weight == lightest && !lower_id(gpu, i, best.donor)))
			continue;
		lightest = weight;
		best = steal;
	}
	return best;
}

static void steal_for_receiver(const struct policy_params *params, struct policy_gpu *gpu,
			       struct policy_out *out)
{
	int receiver = find_receiver(gpu);
	struct policy_decision *decision;
	struct steal steal;
	struct plan plan;

	if (receiver < 0)
		return;
	steal = find_steal(params, gpu, receiver);
	if (steal.steps < 1)
		return;
	plan_init(&plan, gpu);
	plan.delta_pct[steal.donor] = -steal.steps * gpu->step_pct;
	plan.delta_pct[receiver] = steal.steps * gpu->step_pct;
	decision = plan_decide(&plan, gpu, kind_of_help(params, gpu, receiver, POLICY_STEAL), out);
	decision->vgpu = receiver;
	decision->donor = steal.donor;
	explain_steal(params, gpu, out, &steal, decision);
}

/*
 * Counts the periods of a severe overload. The overload ends after more than overload_periods
 * periods that were certainly not severe (@quiet). A late tick resets the signals for several
 * periods, and must not split one overload into two, because each overload causes a migration.
 */
static void count_severe(const struct policy_params *params, struct policy_gpu *gpu, bool severe,
			 bool quiet)
{
	if (severe) {
		gpu->severe_run++;
		gpu->severe_quiet = 0;
	} else if (quiet && ++gpu->severe_quiet > params->overload_periods) {
		gpu->severe_run = 0;
		gpu->severe_quiet = 0;
	}
	gpu->severe_in_doubt = !severe && (gpu->severe_run > 0 || !quiet);
}

/* Returns the vGPU with the largest load (rule 7). */
static int find_heaviest(const struct policy_gpu *gpu)
{
	int heaviest = -1;

	for (int i = 0; i < gpu->n_vgpus; i++) {
		double load = gpu->vgpus[i].sample.load;

		if (!gpu->vgpus[i].sample.busy_valid)
			continue;
		if (heaviest < 0 || load > gpu->vgpus[heaviest].sample.load ||
		    (load == gpu->vgpus[heaviest].sample.load && lower_id(gpu, i, heaviest)))
			heaviest = i;
	}
	return heaviest;
}

/* Rule 7. Sets POLICY_SEVERE_OVERLOAD in every period of an overload, but makes a decision only
 * in the first period. */
static void warn_severe(struct policy_gpu *gpu, int n_signals, struct policy_out *out)
{
	struct policy_decision *decision;

	gpu->conditions |= POLICY_SEVERE_OVERLOAD;
	if (gpu->severe_run > 1)
		return;
	decision = plan_decide_nothing(gpu, POLICY_SEVERE, out);
	decision->vgpu = find_heaviest(gpu);
	explain_severe(gpu, n_signals, decision);
}

void gover_step_with(const struct policy_params *params, struct policy_gpu *gpu,
		     const struct admission *admission, struct policy_out *out)
{
	struct rules rules = rules_in_force(params);
	bool pooled, severe, quiet;
	int n_signals;

	plan_clear(out);
	signal_read(params, gpu);
	n_signals = count_signals(&rules, gpu);
	pooled = rules.pool_first && give_pool(params, gpu, out);
	severe = n_signals > 1 && !pooled;

	quiet = signal_all_read(gpu) && (pooled || n_signals + count_doubts(&rules, gpu) < 2);
	count_severe(params, gpu, severe, quiet);
	admit_period(params, gpu, admission, fund_plan, n_signals == 0, false, out);
	if (severe)
		warn_severe(gpu, n_signals, out);
	else if (n_signals == 1 && !pooled)
		steal_for_receiver(params, gpu, out);
}

void gover_step(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out)
{
	gover_step_with(params, gpu, &admit_by_load, out);
}
