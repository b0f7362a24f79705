/* SPDX-License-Identifier: MIT */
/* Rules 1 to 3 and 11: signals, conditions and broken time from one period's readings. */
#include <math.h>

#include "policy/signal.h"
#include "policy/window.h"

#define SERVED_ENOUGH 0.98 /* fraction of min(demand, contract) below which a vGPU is broken */
#define NEAR_CEILING  0.95 /* if the GPU idles: fraction of the ceiling that counts as the whole */
#define SATURATED     0.97 /* fraction of the GPU in use from which no time counts as unused */

struct rules rules_in_force(const struct policy_params *params)
{
	bool paper = params->paper_mode;

	return (struct rules){
		.met_target_excuses = !paper && params->use_ignores_met_target,
		.gpu_bound = paper ? 0 : params->qos_gpu_bound_pct / 100.0,
		.helpless_count = paper,
		.pool_first = !paper,
		.donor_below_line = !paper,
		.wake = !paper,
	};
}

static bool has_target(const struct policy_vgpu *vgpu)
{
	return vgpu->terms.target_fps > 0;
}

static bool is_short(const struct policy_vgpu *vgpu)
{
	return has_target(vgpu) && vgpu->sample.fps_valid &&
	       vgpu->terms.target_fps - rate_mean(vgpu) > rate_tolerated(vgpu);
}

static bool guarantees(const struct policy_gpu *gpu)
{
	return gpu->sharing == POLICY_SHARING_GUARANTEE;
}

static double ceiling_of(const struct policy_vgpu *vgpu)
{
	return policy_terms_ceiling_pct(&vgpu->terms) / 100.0;
}

double signal_use(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu)
{
	double of_ceiling = vgpu->sample.load / ceiling_of(vgpu);

	if (!guarantees(gpu))
		return vgpu->sample.util;
	return gpu->saturated ? fmax(vgpu->sample.util / gpu->held_util, of_ceiling) : of_ceiling;
}

bool signal_fills_ceiling(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu)
{
	double near = (gpu->saturated ? SERVED_ENOUGH : NEAR_CEILING) * ceiling_of(vgpu);

	return guarantees(gpu) && vgpu->sample.busy_valid && vgpu->sample.load >= near &&
	       vgpu->cap_pct / 100.0 < near;
}

/* Compares the use with a fraction instead of 100 u with a percentage, so that a u of exactly
 * overload_pct is not above the threshold after rounding. */
static bool is_above_line(const struct policy_params *params, const struct policy_gpu *gpu,
			  const struct policy_vgpu *vgpu)
{
	return vgpu->sample.busy_valid && signal_use(gpu, vgpu) > params->overload_pct / 100.0;
}

static bool all_busy_valid(const struct policy_gpu *gpu)
{
	for (int i = 0; i < gpu->n_vgpus; i++)
		if (!gpu->vgpus[i].sample.busy_valid)
			return false;
	return true;
}

bool signal_gpu_bound(double line, const struct policy_gpu *gpu, const struct policy_vgpu *vgpu)
{
	if (!vgpu->sample.busy_valid || rate_util(vgpu) < line)
		return false;
	return !guarantees(gpu) || gpu->total_load >= line || !all_busy_valid(gpu) ||
	       vgpu->sample.load >= line * ceiling_of(vgpu);
}

int signal_room_steps(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu)
{
	int room_pct = policy_ceiling_pct(gpu, &vgpu->terms) - vgpu->cap_pct;

	if (vgpu->held || room_pct < 0 || signal_fills_ceiling(gpu, vgpu))
		return 0;
	return room_pct / gpu->step_pct;
}

static bool all_served(const struct policy_gpu *gpu)
{
	for (int i = 0; i < gpu->n_vgpus; i++)
		if (gpu->vgpus[i].service != POLICY_SERVED)
			return false;
	return true;
}

bool signal_all_read(const struct policy_gpu *gpu)
{
	return all_busy_valid(gpu) && all_served(gpu) && !gpu->gap;
}

/* Rule 11: at the floor, the first period above overload_pct is a signal, unless the vGPU cannot
 * receive a step. */
static bool is_waking(const struct policy_params *params, const struct policy_gpu *gpu,
		      const struct policy_vgpu *vgpu)
{
	return !gpu->gap && is_above_line(params, gpu, vgpu) &&
	       vgpu->cap_pct <= policy_floor_pct(params, gpu, &vgpu->terms) &&
	       signal_room_steps(gpu, vgpu) > 0;
}

/* Rule 1: a vGPU that meets its target FPS is not overloaded by use. */
static bool is_excused(const struct rules *rules, const struct policy_vgpu *vgpu)
{
	return rules->met_target_excuses && has_target(vgpu) && vgpu->sample.fps_valid &&
	       !is_short(vgpu);
}

enum signal_cause signal_cause(const struct policy_params *params, const struct policy_gpu *gpu,
			       const struct policy_vgpu *vgpu)
{
	struct rules rules = rules_in_force(params);

	if (vgpu->track->short_run >= params->qos_periods)
		return SIGNAL_QOS;
	if (is_excused(&rules, vgpu))
		return SIGNAL_NONE;
	if (vgpu->track->overload_run >= params->overload_periods)
		return SIGNAL_USE;
	if (rules.wake && is_waking(params, gpu, vgpu))
		return SIGNAL_WAKE;
	return SIGNAL_NONE;
}

/* Returns true if it is unknown whether a vGPU without a signal is overloaded: its reading is not
 * valid or shows no demand, or it was above a threshold, but not in enough periods. */
static bool is_in_doubt(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_vgpu *vgpu)
{
	struct rules rules = rules_in_force(params);

	if (gpu->gap || !vgpu->sample.busy_valid || vgpu->service != POLICY_SERVED)
		return true;
	return vgpu->track->short_run > 0 ||
	       (vgpu->track->overload_run > 0 && !is_excused(&rules, vgpu));
}

/*
 * Paper mode does not change this rule, because broken time measures the service. Without a target
 * or a valid FPS, a vGPU is broken if it gets less than 98 % of min(demand, contract). If the use
 * exceeds overload_pct, the demand is assumed to be at least the contract. With guarantees, the
 * vGPU may have got its contract without having it as cap, and while the GPU idles, nothing but its
 * ceiling limits it.
 */
static bool is_broken(const struct policy_params *params, const struct policy_gpu *gpu,
		      const struct policy_vgpu *vgpu)
{
	if (vgpu->service == POLICY_STALLED)
		return true;
	if (has_target(vgpu) && vgpu->sample.fps_valid)
		return is_short(vgpu) &&
		       signal_gpu_bound(params->qos_gpu_bound_pct / 100.0, gpu, vgpu);
	if (guarantees(gpu) &&
	    (!gpu->saturated ||
	     100 * vgpu->sample.load >= SERVED_ENOUGH * vgpu->terms.initial_cap_pct))
		return false;
	return is_above_line(params, gpu, vgpu) &&
	       vgpu->cap_pct + gpu->step_pct <= vgpu->terms.initial_cap_pct &&
	       vgpu->cap_pct < SERVED_ENOUGH * vgpu->terms.initial_cap_pct;
}

static unsigned int find_conditions(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu,
				    bool gpu_bound)
{
	unsigned int conditions = 0;

	if (has_target(vgpu) && !vgpu->sample.fps_valid)
		conditions |= POLICY_FPS_MISSING;
	if (vgpu->short_of_target && vgpu->sample.busy_valid && !gpu_bound)
		conditions |= POLICY_QOS_NOT_GPU_BOUND;
	if (vgpu->overloaded && vgpu->held)
		conditions |= POLICY_HELD_OVERLOADED;
	else if (vgpu->overloaded && signal_room_steps(gpu, vgpu) == 0)
		conditions |= POLICY_CONTRACT_LIMIT;
	return conditions;
}

static void read_vgpu(const struct policy_params *params, const struct policy_gpu *gpu,
		      struct policy_vgpu *vgpu)
{
	struct policy_track *track = vgpu->track;
	bool gpu_bound, starved;

	rate_add(gpu, vgpu);
	gpu_bound = signal_gpu_bound(rules_in_force(params).gpu_bound, gpu, vgpu);
	vgpu->rate = rate_mean(vgpu);
	vgpu->short_of_target = is_short(vgpu);
	starved = vgpu->short_of_target && gpu_bound;
	track->overload_run =
		!gpu->gap && is_above_line(params, gpu, vgpu) ? track->overload_run + 1 : 0;
	track->short_run = !gpu->gap && starved ? track->short_run + 1 : 0;
	if (vgpu->sample.busy_valid && vgpu->service == POLICY_SERVED)
		window_add(track, vgpu->sample.load);

	vgpu->want_cap_pct = vgpu->cap_pct;
	vgpu->e = starved ? (vgpu->terms.target_fps - vgpu->rate) / vgpu->terms.target_fps : 0;
	vgpu->broken = is_broken(params, gpu, vgpu);
	vgpu->overloaded = signal_cause(params, gpu, vgpu) != SIGNAL_NONE;
	vgpu->receiver = vgpu->overloaded && signal_room_steps(gpu, vgpu) > 0;
	vgpu->in_doubt = !vgpu->overloaded && is_in_doubt(params, gpu, vgpu);
	vgpu->conditions = find_conditions(gpu, vgpu, gpu_bound);
}

/*
 * Returns the mean u, weighted by allotted time, of the vGPUs that could use more time and whose u
 * is at least @from. Sums of integers do not depend on the order of the vGPUs.
 */
static double mean_util(const struct policy_gpu *gpu, double from)
{
	long long used = 0, allotted = 0; /* billionths of the GPU */

	for (int i = 0; i < gpu->n_vgpus; i++) {
		const struct policy_vgpu *vgpu = &gpu->vgpus[i];

		if (!vgpu->sample.busy_valid || vgpu->sample.util < 0.999999 * from ||
		    signal_fills_ceiling(gpu, vgpu))
			continue;
		used += llround(vgpu->sample.load * 1e9);
		allotted += llround(vgpu->sample.load / vgpu->sample.util * 1e9);
	}
	return allotted > 0 ? (double)used / (double)allotted : 1;
}

/*
 * The scheduler divides spare time in proportion to the caps, so all vGPUs that want more have the
 * same u. A vGPU with a smaller u got what it wants. The second mean leaves out those that
 * used spare time and want no more.
 */
static void read_saturation(struct policy_gpu *gpu)
{
	long long load_billionths = 0; /* an integer sum does not depend on the order */

	for (int i = 0; i < gpu->n_vgpus; i++)
		if (gpu->vgpus[i].sample.busy_valid)
			load_billionths += llround(gpu->vgpus[i].sample.load * 1e9);
	gpu->total_load = (double)load_billionths / 1e9;
	gpu->saturated = guarantees(gpu) && gpu->total_load >= SATURATED;
	gpu->held_util = gpu->saturated ? fmax(1, mean_util(gpu, mean_util(gpu, 1))) : 1;
}

void signal_read(const struct policy_params *params, struct policy_gpu *gpu)
{
	int sum_pct = gpu->absent.cap_pct;

	read_saturation(gpu);
	for (int i = 0; i < gpu->n_vgpus; i++) {
		read_vgpu(params, gpu, &gpu->vgpus[i]);
		sum_pct += gpu->vgpus[i].cap_pct;
	}
	gpu->severe_without_newcomer = false;
	gpu->conditions = sum_pct > 100 ? POLICY_SUM_OVER_100 : 0;
	gpu->free_pct = sum_pct < 100 ? 100 - sum_pct : 0;
}
