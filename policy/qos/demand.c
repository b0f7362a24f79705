/* SPDX-License-Identifier: MIT */
/*
 * Learns the demand of a vGPU. If a vGPU uses all time that was available to it, its load is not
 * its demand.
 */
#include <math.h>
#include <string.h>

#include "policy/qos/demand.h"
#include "policy/rate.h"
#include "policy/signal.h"

/* While a vGPU is probed, its demand is estimated as this multiple of its use. */
#define PROBE 3.0

#define COLD_PERIODS   15    /* number of periods for which a new vGPU is cold */
#define CENSORED_UTIL  0.97  /* at this use of the cap and above, the demand is unknown */
#define FADING	       0.998 /* old counts of a level are multiplied by this at each new count */
#define TO_CONTRACT    0.05  /* assumed transitions to the contract, in addition to those seen */
#define MARGIN_STEP    0.5   /* increase of the margin, in percent, after a demand above need_pct */
#define MARGIN_MISSES  0.01  /* accepted fraction of periods with a demand above need_pct */
#define MARGIN_MIN     0.3
#define BARE_TOLERANCE 0.98 /* without frames: fraction of the demand that must be served */
#define UNSEEN_BARE    4    /* without frames: number of assumed periods with an unseen demand */
#define UNSEEN_GROWTH  1.5  /* with frames: assumed unseen demand / largest measured demand */

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
	double load_pct = 100 * vgpu->load;
	double pct = habit_pct(&vgpu->track->demand, load_pct);

	*ret_source = pct > 0 ? POLICY_DEMAND_BY_HABIT : POLICY_DEMAND_PROBED;
	return (pct > 0 ? pct : PROBE * load_pct) / BARE_TOLERANCE;
}

/* Returns true if the GPU time of a frame is known. The GPU time of a frame does not depend on the
 * cap. */
static bool is_measured_by_frames(const struct policy_vgpu *vgpu)
{
	return vgpu->terms.target_fps > 0 && vgpu->fps_valid && rate_mean(vgpu) > 0;
}

static double wanted_pct(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu,
			 enum policy_demand_source *ret_source)
{
	double load_pct = 100 * vgpu->load;

	*ret_source = POLICY_DEMAND_SEEN;
	if (is_measured_by_frames(vgpu))
		return vgpu->terms.target_fps * (100 * rate_load(vgpu)) / rate_mean(vgpu);
	if (!is_censored(gpu, vgpu))
		return load_pct;
	return estimate_pct(vgpu, ret_source);
}

double demand_tolerance(const struct policy_vgpu *vgpu)
{
	double target = vgpu->terms.target_fps;

	if (target <= 0 || !vgpu->fps_valid)
		return BARE_TOLERANCE;
	return fmax(0.5, 1 - rate_tolerated(vgpu) / target);
}

/* Returns the cap in whole percent with which a vGPU with demand @pct is not broken. */
static int whole_tolerated_pct(const struct policy_vgpu *vgpu, double pct)
{
	return (int)ceil(demand_tolerance(vgpu) * pct - 1e-6);
}

static void learn_margin(struct policy_demand *demand, double tolerance)
{
	bool missed = tolerance * demand->now_pct > demand->need_pct;
	double margin = demand->margin_pct;

	margin += MARGIN_STEP * ((missed ? 1 : 0) - MARGIN_MISSES);
	demand->margin_pct = (float)fmax(MARGIN_MIN, margin);
}

/* Counts a transition between measured demands. Periods with an estimated demand are skipped. */
static void count_transition(struct policy_demand *demand, int level, double pct)
{
	float *follows = demand->follows[demand->level];

	if (demand->age > 0) {
		for (int i = 0; i < POLICY_LEVELS; i++)
			follows[i] *= (float)FADING;
		follows[level] += 1;
	}
	demand->level = level;
	demand->peak_pct[level] = fmaxf(demand->peak_pct[level], (float)pct);
}

void demand_learn(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu)
{
	struct policy_demand *demand = &vgpu->track->demand;
	double pct = fmin(wanted_pct(gpu, vgpu, &demand->source), contract_pct(vgpu));
	double lately_pct = demand->source == POLICY_DEMAND_SEEN ? pct : contract_pct(vgpu);

	demand->now_pct = (float)pct;
	if (demand->source == POLICY_DEMAND_SEEN)
		count_transition(demand, level_of(vgpu, pct), pct);
	if (demand->known)
		learn_margin(demand, demand_tolerance(vgpu));
	demand->age++;
	demand->known = demand->known || gpu->migrates || demand->age >= COLD_PERIODS;
	if (gpu->clock > 0)
		lately_pct *= gpu->clock;
	demand->ring_pct[demand->ring_next] = (unsigned char)whole_tolerated_pct(vgpu, lately_pct);
	demand->ring_next = (demand->ring_next + 1) % POLICY_DEMAND_WINDOW;
	if (demand->ring_fill < POLICY_DEMAND_WINDOW)
		demand->ring_fill++;
}

double demand_now_pct(const struct policy_vgpu *vgpu)
{
	return (double)vgpu->track->demand.now_pct;
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
	for (int i = 0; i < POLICY_LEVELS; i++)
		pct = fmax(pct, (double)demand->peak_pct[i]);
	return pct;
}

void demand_predict(const struct policy_vgpu *vgpu, double ret_above[POLICY_LEVELS])
{
	const struct policy_demand *demand = &vgpu->track->demand;
	double periods[POLICY_LEVELS], sum = 0, above = 0;
	bool open = !demand->known || demand->source != POLICY_DEMAND_SEEN;

	for (int i = 0; i < POLICY_LEVELS; i++)
		periods[i] = open ? 0 : (double)demand->follows[demand->level][i];
	periods[POLICY_LEVELS - 1] += open ? 1 : TO_CONTRACT;
	for (int i = 0; i < POLICY_LEVELS; i++)
		sum += periods[i];
	for (int i = POLICY_LEVELS - 1; i >= 0; i--) {
		ret_above[i] = above / sum;
		above += periods[i];
	}
}

double demand_level_pct(const struct policy_vgpu *vgpu, int level)
{
	const struct policy_demand *demand = &vgpu->track->demand;
	double end_pct = level_end[level] * contract_pct(vgpu);
	double peak_pct = (double)demand->peak_pct[level];

	if (peak_pct > 0)
		end_pct = fmin(end_pct, peak_pct + (double)demand->margin_pct);
	return end_pct;
}

void demand_note_need(const struct policy_vgpu *vgpu, double need_pct)
{
	vgpu->track->demand.need_pct = (float)need_pct;
}

/* Returns the demand assumed for periods that were not seen yet. Without frames, this is the
 * contract, because the vGPU may have been idle so far. */
static double unseen_pct(const struct policy_vgpu *vgpu)
{
	if (vgpu->terms.target_fps <= 0 || !vgpu->fps_valid)
		return contract_pct(vgpu);
	return fmin(UNSEEN_GROWTH * demand_peak_pct(vgpu), contract_pct(vgpu));
}

void demand_distribution(const struct policy_vgpu *vgpu, bool assume_unseen, double ret_share[101])
{
	const struct policy_demand *demand = &vgpu->track->demand;
	bool draws = vgpu->terms.target_fps > 0 && vgpu->fps_valid;
	int unseen = !assume_unseen ? 0 : draws ? 1 : UNSEEN_BARE;
	double periods = demand->ring_fill + unseen;

	memset(ret_share, 0, 101 * sizeof(*ret_share));
	if (!demand->known) {
		ret_share[whole_tolerated_pct(vgpu, contract_pct(vgpu))] = 1;
		return;
	}
	for (int i = 0; i < demand->ring_fill; i++)
		ret_share[demand->ring_pct[i]] += 1;
	ret_share[whole_tolerated_pct(vgpu, unseen_pct(vgpu))] += unseen;
	for (int i = 0; i <= 100; i++)
		ret_share[i] /= periods;
}
