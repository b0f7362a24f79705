/* SPDX-License-Identifier: MIT */
/* Means over the last periods of a vGPU, and the tolerance of a rate. Owns policy_track.rates. */
#include <math.h>

#include "policy/rate.h"

#define TOLERATED_SHARE 0.02
#define TOLERATED_COUNT 1.5
#define UNITS_JUDGED	10 /* with fewer promised units, TOLERATED_COUNT is too much of them */

static bool is_judged_by_units(const struct policy_vgpu *vgpu)
{
	return vgpu->terms.counts_work && vgpu->terms.target_fps > 0;
}

/* Returns the number of periods in which @target promises UNITS_JUDGED units. */
static int wanted_periods(const struct policy_gpu *gpu, double target)
{
	double periods = ceil(UNITS_JUDGED / (target * gpu->period_s) - 1e-9);

	return (int)fmin(fmax(periods, 1), POLICY_RATES_MAX);
}

void rate_add(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu)
{
	struct policy_rates *rates = &vgpu->track->rates;
	double target = vgpu->terms.target_fps;
	int wanted;

	rates->periods = 0;
	if (!vgpu->fps_valid || !is_judged_by_units(vgpu)) {
		rates->fill = 0;
		return;
	}
	rates->rate[rates->next] = (float)vgpu->fps;
	rates->load[rates->next] = vgpu->busy_valid ? (float)vgpu->load : NAN;
	rates->util[rates->next] = vgpu->busy_valid ? (float)vgpu->util : NAN;
	rates->next = (rates->next + 1) % POLICY_RATES_MAX;
	if (rates->fill < POLICY_RATES_MAX)
		rates->fill++;
	wanted = wanted_periods(gpu, target);
	rates->periods = wanted < rates->fill ? wanted : rates->fill;
	rates->tolerated = (float)(TOLERATED_COUNT / (rates->periods * gpu->period_s));
}

/* Returns the mean of the valid @values of the judged periods; @now if that is at most one. */
static double mean(const struct policy_rates *rates, const float values[POLICY_RATES_MAX],
		   double now)
{
	double sum = 0;
	int n = 0;

	for (int ago = 1; ago <= rates->periods; ago++) {
		int at = (rates->next - ago + POLICY_RATES_MAX) % POLICY_RATES_MAX;

		if (isnan(values[at]))
			continue;
		sum += (double)values[at];
		n++;
	}
	return n > 1 ? sum / n : now;
}

double rate_mean(const struct policy_vgpu *vgpu)
{
	return mean(&vgpu->track->rates, vgpu->track->rates.rate, vgpu->fps);
}

double rate_load(const struct policy_vgpu *vgpu)
{
	return mean(&vgpu->track->rates, vgpu->track->rates.load, vgpu->load);
}

double rate_util(const struct policy_vgpu *vgpu)
{
	return mean(&vgpu->track->rates, vgpu->track->rates.util, vgpu->util);
}

double rate_tolerated(const struct policy_vgpu *vgpu)
{
	const struct policy_rates *rates = &vgpu->track->rates;
	double counted = rates->periods > 0 ? (double)rates->tolerated : TOLERATED_COUNT;

	return fmax(TOLERATED_SHARE * vgpu->terms.target_fps, counted);
}
