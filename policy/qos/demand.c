/* SPDX-License-Identifier: MIT */
/*
 * Learns the demand of a vGPU. If a vGPU uses all time that was available to it, its load is not
 * its demand.
 */
#include <math.h>
#include <string.h>

#include "policy/qos/demand.h"
#include "policy/qos/moving.h"
#include "policy/signal.h"
#include "policy/window.h"

/* While a vGPU is probed, its demand is estimated as this multiple of its use. */
#define PROBE 3.0

#define COLD_S	       15    /* seconds for which a new vGPU is cold */
#define COLD_MOVING_S  1     /* the same, if vGPUs are known to be migrated */
#define CENSORED_UTIL  0.97  /* at this use of the cap and above, the demand is unknown */
#define FADING	       0.998 /* old counts of a level are multiplied by this in each second */
#define TO_CONTRACT    0.05  /* assumed transitions to the contract, in addition to those seen */
#define MARGIN_STEP    0.5 /* increase of the margin, percent per second of demand above need_pct */
#define MARGIN_MISSES  0.01 /* accepted fraction of the time with a demand above need_pct */
#define MARGIN_MIN     0.3
#define BARE_TOLERANCE 0.98 /* without frames: fraction of the demand that must be served */

#define COST_S		   3.0 /* the GPU time of a frame is a mean over about this time */
#define SETTLE_S	   3 /* time after which a new GPU time of a frame is sufficiently exact */
#define LIMITED_S	   1 /* see is_limited() */
#define COST_SHORT	   3 /* seconds with too few frames that show a larger GPU time */
#define COST_COUNT	   1.5	/* error of a count of frames, in frames */
#define COST_SHARE	   0.02 /* further error, as a fraction: frames differ */
#define COUNTING_FRAMES	   0.6	/* error of a rate by counting frames for a second, in frames */
#define SAME_SHARE	   0.02 /* a demand by frames that differs by this fraction is the same */
#define LEVEL_SLACK_FRAMES 0.05 /* the same for a demand that is measured by frames */
#define LEVEL_SLACK	   0.02 /* a demand outside of a level by this fraction stays on it */
#define ROUNDING_S	   1e-4
#define ROUNDING_PCT	   1e-4

/* Upper ends of the levels as fractions of the contract. */
static const double level_end[POLICY_LEVELS] = {0.02, 0.04, 0.06, 0.10, 0.14, 0.20, 0.26, 0.33,
						0.40, 0.50, 0.60, 0.70, 0.80, 0.90, 0.96, 1.00};

static double contract_pct(const struct policy_vgpu *vgpu)
{
	return policy_terms_ceiling_pct(&vgpu->terms);
}

static int level_of(const struct policy_vgpu *vgpu, double pct)
{
	double share = pct / contract_pct(vgpu);
	int level = 0;

	while (level < POLICY_LEVELS - 1 && share > level_end[level])
		level++;
	return level;
}

/* Returns true if the GPU time of a frame is known. The GPU time of a frame does not depend on the
 * cap. */
static bool is_measured_by_frames(const struct policy_vgpu *vgpu)
{
	return vgpu->terms.target_fps > 0 && vgpu->sample.fps_valid &&
	       vgpu->track->demand.cost.frames > 0;
}

/* Returns the level of @pct. A vGPU stays on level @present while its demand is hardly outside of
 * it, because each level has counts of its own. */
static int next_level(const struct policy_vgpu *vgpu, double pct, int present)
{
	double slack = is_measured_by_frames(vgpu) ? LEVEL_SLACK_FRAMES : LEVEL_SLACK;

	if (level_of(vgpu, pct * (1 - slack)) <= present &&
	    level_of(vgpu, fmin(contract_pct(vgpu), pct * (1 + slack))) >= present)
		return present;
	return level_of(vgpu, pct);
}

/*
 * With guarantees, only a saturated GPU limits a vGPU below its ceiling, and a vGPU that fills its
 * ceiling shows all of the demand that counts.
 */
static bool is_censored(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu)
{
	if (gpu->sharing == POLICY_SHARING_GUARANTEE && !gpu->saturated)
		return false;
	return signal_use(gpu, vgpu) >= CENSORED_UTIL && vgpu->cap_pct < contract_pct(vgpu) &&
	       !signal_fills_ceiling(gpu, vgpu);
}

/* Returns the largest demand that has followed the level of the last measured demand, or 0 if no
 * such demand exceeds @load_pct. */
static double habit_pct(const struct policy_demand *demand, double load_pct)
{
	const float *follows = demand->follows[demand->level];
	double most_pct = 0;

	for (int i = 0; i < POLICY_LEVELS; i++)
		if (follows[i] > 0)
			most_pct = fmax(most_pct, (double)demand->peak_pct[i]);
	return most_pct > load_pct ? most_pct : 0;
}

/* Returns slightly more than the estimated demand, so that part of the cap stays unused if the
 * estimate is right. */
static double estimate_pct(const struct policy_vgpu *vgpu, enum policy_demand_source *ret_source)
{
	double load_pct = 100 * vgpu->sample.load;
	double pct = habit_pct(&vgpu->track->demand, load_pct);

	*ret_source = pct > 0 ? POLICY_DEMAND_BY_HABIT : POLICY_DEMAND_PROBED;
	return (pct > 0 ? pct : PROBE * load_pct) / BARE_TOLERANCE;
}

/* Returns true if counting errors do not explain the difference between @frames and the number of
 * frames that @busy_s seconds of GPU time are expected to render. */
static bool is_other_cost(const struct policy_cost *cost, double frames, double busy_s)
{
	double expected = busy_s * (double)cost->frames / fmax((double)cost->busy_s, 1e-9);

	return fabs(frames - expected) > COST_COUNT + COST_SHARE * expected;
}

static void begin_cost(struct policy_cost *cost, double frames, double busy_s)
{
	*cost = (struct policy_cost){.frames = (float)frames, .busy_s = (float)busy_s};
}

/* Returns true if the present second shows that the vGPU misses its target although its cap should
 * serve the demand. */
static bool is_underestimated(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu,
			      const struct policy_cost *cost)
{
	double target = vgpu->terms.target_fps;
	double seen_fps = (double)cost->block_frames / (double)cost->block_s;
	double pct = target * 100 * (double)cost->busy_s / (double)cost->frames;

	return signal_use(gpu, vgpu) >= CENSORED_UTIL && target - seen_fps > rate_tolerated(vgpu) &&
	       vgpu->cap_pct >= demand_tolerance(vgpu) * pct;
}

/*
 * A period contains a whole number of frames, so the GPU time of a frame seems to change from
 * period to period. It is the mean of the last seconds, until a period or a second shows another
 * value beyond the errors of counting.
 */
static void learn_cost(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu)
{
	struct policy_cost *cost = &vgpu->track->demand.cost;
	double frames = vgpu->sample.fps * gpu->period_s,
	       busy_s = vgpu->sample.load * gpu->period_s;
	double keep = fmax(0, 1 - gpu->period_s / COST_S);

	if (!vgpu->sample.fps_valid || vgpu->terms.target_fps <= 0) {
		*cost = (struct policy_cost){.frames = 0};
		return;
	}
	if (vgpu->track->rates.periods > 1) { /* units of work that take long */
		begin_cost(cost, rate_mean(vgpu), rate_load(vgpu));
		return;
	}
	if (cost->frames <= 0 || is_other_cost(cost, frames, busy_s)) {
		begin_cost(cost, frames, busy_s);
		return;
	}
	cost->settles = (double)cost->age_s < SETTLE_S &&
			(double)cost->age_s + gpu->period_s >= SETTLE_S - ROUNDING_S;
	cost->age_s += (float)gpu->period_s;
	cost->frames = (float)(keep * (double)cost->frames + frames);
	cost->busy_s = (float)(keep * (double)cost->busy_s + busy_s);
	cost->block_frames += (float)frames;
	cost->block_busy_s += (float)busy_s;
	cost->block_s += (float)gpu->period_s;
	if ((double)cost->block_s < 1 - ROUNDING_S)
		return;
	cost->short_blocks = is_underestimated(gpu, vgpu, cost) ? cost->short_blocks + 1 : 0;
	if (cost->block_frames <= 0 || cost->short_blocks >= COST_SHORT ||
	    is_other_cost(cost, (double)cost->block_frames, (double)cost->block_busy_s))
		begin_cost(cost, (double)cost->block_frames, (double)cost->block_busy_s);
	cost->block_frames = cost->block_busy_s = cost->block_s = 0;
}

/* With guarantees, the spare time of a short period depends on the order in which vGPUs run. So a
 * demand that was limited is measured again after a second without a limit. */
static bool is_limited(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu)
{
	struct policy_demand *demand = &vgpu->track->demand;

	demand->limited_s -= (float)gpu->period_s;
	if (is_censored(gpu, vgpu)) {
		demand->limited_s = gpu->sharing == POLICY_SHARING_GUARANTEE ? LIMITED_S : 0;
		return true;
	}
	return (double)demand->limited_s > ROUNDING_S;
}

static double wanted_pct(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu,
			 enum policy_demand_source *ret_source)
{
	const struct policy_cost *cost = &vgpu->track->demand.cost;
	double load_pct = 100 * vgpu->sample.load;

	*ret_source = POLICY_DEMAND_SEEN;
	if (is_measured_by_frames(vgpu))
		return vgpu->terms.target_fps * 100 * (double)cost->busy_s / (double)cost->frames;
	if (!is_limited(gpu, vgpu))
		return load_pct;
	return estimate_pct(vgpu, ret_source);
}

double demand_tolerance(const struct policy_vgpu *vgpu)
{
	double target = vgpu->terms.target_fps;

	if (target <= 0 || !vgpu->sample.fps_valid)
		return BARE_TOLERANCE;
	return fmax(0.5, 1 - rate_tolerated(vgpu) / target);
}

/* Returns the cap in whole percent with which a vGPU with demand @pct is not broken. */
static int whole_tolerated_pct(const struct policy_vgpu *vgpu, double pct)
{
	return (int)ceil(demand_tolerance(vgpu) * pct - ROUNDING_PCT);
}

/* A wrong guess about a new vGPU costs less if the vGPU can be migrated. */
static double cold_s(const struct policy_gpu *gpu)
{
	return moving_is_known(gpu) ? COLD_MOVING_S : COLD_S;
}

static void learn_margin(struct policy_demand *demand, double tolerance, double period_s)
{
	bool missed = tolerance * demand->now_pct > demand->need_pct;
	double margin = demand->margin_pct;

	margin += period_s * MARGIN_STEP * ((missed ? 1 : 0) - MARGIN_MISSES);
	demand->margin_pct = (float)fmax(MARGIN_MIN, margin);
}

/* Counts a transition between the largest measured demands of two seconds. Seconds with estimated
 * demands only are skipped. A period of more than one second is counted once. */
static void count_transition(struct policy_demand *demand, int seconds)
{
	float *follows = demand->follows[demand->counted_level];

	if (demand->counted) {
		for (int i = 0; i < POLICY_LEVELS; i++)
			follows[i] *= (float)pow(FADING, seconds);
		follows[demand->level] += 1;
	}
	demand->counted_level = demand->level;
	demand->counted = true;
}

static void add_to_ring(struct policy_demand *demand, int whole_pct)
{
	demand->ring_pct[demand->ring_next] = (unsigned char)whole_pct;
	demand->ring_next = (demand->ring_next + 1) % POLICY_DEMAND_WINDOW;
	if (demand->ring_fill < POLICY_DEMAND_WINDOW)
		demand->ring_fill++;
}

/* Ends the present second. A period of several seconds ends them all. */
static void end_second(const struct policy_vgpu *vgpu, struct policy_demand *demand)
{
	int seconds = (int)((double)demand->second_s + ROUNDING_S);

	if (seconds < 1)
		return;
	if (demand->second_seen)
		count_transition(demand, seconds);
	for (int i = 0; i < seconds && i < POLICY_DEMAND_WINDOW; i++)
		add_to_ring(demand, whole_tolerated_pct(vgpu, (double)demand->second_lately_pct));
	demand->second_s -= (float)seconds;
	demand->second_pct = demand->second_lately_pct = 0;
	demand->second_seen = false;
}

void demand_learn(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu)
{
	struct policy_demand *demand = &vgpu->track->demand;
	double pct, lately_pct;

	learn_cost(gpu, vgpu);
	pct = fmin(wanted_pct(gpu, vgpu, &demand->source), contract_pct(vgpu));
	if (is_measured_by_frames(vgpu) && !demand->cost.settles &&
	    fabs(pct - (double)demand->now_pct) <= SAME_SHARE * (double)demand->now_pct)
		pct = (double)demand->now_pct;
	demand->now_pct = (float)pct;
	if (demand->source == POLICY_DEMAND_SEEN) {
		demand->second_pct = fmaxf(demand->second_pct, (float)pct);
		demand->level = demand->age_s > 0 ? next_level(vgpu, (double)demand->second_pct,
							       demand->level)
						  : level_of(vgpu, pct);
		demand->peak_pct[demand->level] =
			fmaxf(demand->peak_pct[demand->level], (float)pct);
		demand->second_seen = true;
	}
	lately_pct = demand->source == POLICY_DEMAND_SEEN ? pct : contract_pct(vgpu);
	if (demand->age_s <= 0)
		demand->margin_pct = MARGIN_MIN;
	if (demand->known)
		learn_margin(demand, demand_tolerance(vgpu), gpu->period_s);
	demand->age_s += (float)gpu->period_s;
	demand->known = demand->known || (double)demand->age_s >= cold_s(gpu) - ROUNDING_S;
	if (gpu->clock > 0)
		lately_pct *= gpu->clock;
	demand->second_lately_pct = fmaxf(demand->second_lately_pct, (float)lately_pct);
	demand->second_s += (float)gpu->period_s;
	end_second(vgpu, demand);
}

double demand_now_pct(const struct policy_vgpu *vgpu)
{
	return (double)vgpu->track->demand.now_pct;
}

double demand_tolerated_pct(const struct policy_vgpu *vgpu)
{
	double tolerated = demand_tolerance(vgpu);

	if (is_measured_by_frames(vgpu))
		tolerated = fmin(1, tolerated + COUNTING_FRAMES / vgpu->terms.target_fps);
	return tolerated * demand_now_pct(vgpu);
}

double demand_observable_cap_pct(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu)
{
	if (gpu->sharing == POLICY_SHARING_GUARANTEE && !gpu->saturated)
		return 0;
	if (is_measured_by_frames(vgpu) || vgpu->track->demand.source != POLICY_DEMAND_SEEN)
		return 0;
	return demand_now_pct(vgpu) / (CENSORED_UTIL - 0.005);
}

double demand_peak_pct(const struct policy_vgpu *vgpu)
{
	const struct policy_demand *demand = &vgpu->track->demand;
	double pct = 0;

	if (!demand->known)
		return contract_pct(vgpu);
	/* gcc 12 for arm64 cannot compile fmax() in such a loop: internal error. */
	for (int i = 0; i < POLICY_LEVELS; i++)
		if ((double)demand->peak_pct[i] > pct)
			pct = (double)demand->peak_pct[i];
	return pct;
}

/* Adds up the counts of the seconds that may follow the present level. Returns their sum. */
static double count_next(const struct policy_demand *demand, double ret_counts[POLICY_LEVELS])
{
	double sum = 0;

	for (int i = 0; i < POLICY_LEVELS; i++) {
		ret_counts[i] = demand->source != POLICY_DEMAND_SEEN
					? 0
					: (double)demand->follows[demand->level][i];
		sum += ret_counts[i];
	}
	if (demand->source != POLICY_DEMAND_SEEN) {
		ret_counts[POLICY_LEVELS - 1] = sum = 1;
	} else if (!demand->known) { /* as likely to stay as to rise to the contract */
		ret_counts[demand->level] += 1;
		ret_counts[POLICY_LEVELS - 1] += sum + 1;
		sum = 2 * (sum + 1);
	} else {
		ret_counts[POLICY_LEVELS - 1] += TO_CONTRACT;
		sum += TO_CONTRACT;
	}
	return sum;
}

void demand_predict(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu,
		    double ret_above[POLICY_LEVELS])
{
	const struct policy_demand *demand = &vgpu->track->demand;
	double counts[POLICY_LEVELS], sum = count_next(demand, counts), above = 0;

	if (demand->source == POLICY_DEMAND_SEEN && demand->known && gpu->period_s < 1) {
		double stays = sum * (1 / gpu->period_s - 1);

		counts[demand->level] += stays;
		sum += stays;
	}
	for (int i = POLICY_LEVELS - 1; i >= 0; i--) {
		ret_above[i] = above / sum;
		above += counts[i];
	}
}

double demand_level_pct(const struct policy_vgpu *vgpu, int level)
{
	const struct policy_demand *demand = &vgpu->track->demand;
	double end_pct = level_end[level] * contract_pct(vgpu);
	double peak_pct = (double)demand->peak_pct[level];

	if (peak_pct > 0)
		end_pct = fmin(fmax(end_pct, peak_pct), peak_pct + (double)demand->margin_pct);
	return end_pct;
}

void demand_note_need(const struct policy_vgpu *vgpu, double need_pct)
{
	vgpu->track->demand.need_pct = (float)need_pct;
}

void demand_distribution(const struct policy_vgpu *vgpu, double ret_share[101])
{
	const struct policy_demand *demand = &vgpu->track->demand;

	memset(ret_share, 0, 101 * sizeof(*ret_share));
	if (!demand->known || demand->ring_fill == 0) {
		ret_share[whole_tolerated_pct(vgpu, contract_pct(vgpu))] = 1;
		return;
	}
	for (int i = 0; i < demand->ring_fill; i++)
		ret_share[demand->ring_pct[i]] += 1;
	for (int i = 0; i <= 100; i++)
		ret_share[i] /= demand->ring_fill;
}
