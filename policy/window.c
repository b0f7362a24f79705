/* SPDX-License-Identifier: MIT */
/* The readings of a vGPU in its last periods, as rings. Owns policy_track.window_* and rates. */
#include <math.h>

#include "policy/window.h"

#define TOLERATED_SHARE 0.02
#define TOLERATED_COUNT 1.5
#define UNITS_JUDGED	10 /* with fewer promised units, TOLERATED_COUNT is too much of them */

void window_add(struct policy_track *track, double load)
{
	track->window_load[track->window_next] = (float)load;
	track->window_next = (track->window_next + 1) % POLICY_WINDOW_MAX;
	if (track->window_fill < POLICY_WINDOW_MAX)
		track->window_fill++;
}

double window_at(const struct policy_track *track, int ago)
{
	int at = (track->window_next - ago + POLICY_WINDOW_MAX) % POLICY_WINDOW_MAX;

	return (double)track->window_load[at];
}

double window_max(const struct policy_track *track, int periods)
{
	int n = periods < track->window_fill ? periods : track->window_fill;
	double max = 0;

	if (n < 1)
		return 1;
	for (int ago = 1; ago <= n; ago++) {
		double load = window_at(track, ago);

		if (load > max)
			max = load;
	}
	return max;
}

/* Returns the k-th largest of n loads. k is at most 4, because n is at most POLICY_WINDOW_MAX. */
double window_p99(const struct policy_track *track, int periods)
{
	int n = periods < track->window_fill ? periods : track->window_fill;
	int k = n - (99 * n + 99) / 100 + 1;
	double largest[POLICY_WINDOW_MAX / 100 + 1] = {0};

	if (n < 1)
		return 1;
	for (int ago = 1; ago <= n; ago++) {
		double load = window_at(track, ago);

		for (int i = 0; i < k; i++) {
			if (load > largest[i]) {
				double smaller = largest[i];

				largest[i] = load;
				load = smaller;
			}
		}
	}
	return largest[k - 1];
}

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
	if (!vgpu->sample.fps_valid || !is_judged_by_units(vgpu)) {
		rates->fill = 0;
		return;
	}
	rates->rate[rates->next] = (float)vgpu->sample.fps;
	rates->load[rates->next] = vgpu->sample.busy_valid ? (float)vgpu->sample.load : NAN;
	rates->util[rates->next] = vgpu->sample.busy_valid ? (float)vgpu->sample.util : NAN;
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
	return mean(&vgpu->track->rates, vgpu->track->rates.rate, vgpu->sample.fps);
}

double rate_load(const struct policy_vgpu *vgpu)
{
	return mean(&vgpu->track->rates, vgpu->track->rates.load, vgpu->sample.load);
}

double rate_util(const struct policy_vgpu *vgpu)
{
	return mean(&vgpu->track->rates, vgpu->track->rates.util, vgpu->sample.util);
}

double rate_tolerated(const struct policy_vgpu *vgpu)
{
	const struct policy_rates *rates = &vgpu->track->rates;
	double counted = rates->periods > 0 ? (double)rates->tolerated : TOLERATED_COUNT;

	return fmax(TOLERATED_SHARE * vgpu->terms.target_fps, counted);
}
