/* SPDX-License-Identifier: MIT */
/*
 * The paper's policy with another admission rule: caps move as in gover.c, but one more vGPU is
 * sold if the predicted use and its whole contract together fit the GPU. The predictors come from
 * cluster scheduling (Take it to the limit, EuroSys 2021) and use the last predict_periods:
 *
 *   p99     the sum of each vGPU's 99th percentile (nearest rank)
 *   nsigma  the mean of the total use plus predict_sigmas standard deviations
 *   max     the sum of each vGPU's largest use
 *
 * For a vGPU that has run for less than predict_warm_periods (cold), the contract is used. The
 * predictors take the use as the demand, even if a vGPU uses its whole cap.
 */
#include <math.h>
#include <stdint.h>

#include "policy/explain.h"
#include "policy/fund.h"
#include "policy/plan.h"
#include "policy/window.h"

#define MILLIONTHS \
	1e6 /* Loads are added as integers in this unit: the order of the vGPUs has no effect. */

static bool is_cold(const struct policy_params *params, const struct policy_track *track)
{
	return track->window_fill < params->predict_warm_periods;
}

static int64_t contract_millionths(const struct policy_vgpu *vgpu)
{
	return (int64_t)vgpu->terms.initial_cap_pct * (int64_t)(MILLIONTHS / 100);
}

/* Adds up @measure of the stored loads of each vGPU. For a cold vGPU, adds its contract. */
static struct peak sum_of(const struct policy_params *params, const struct policy_gpu *gpu,
			  double (*measure)(const struct policy_track *track, int periods))
{
	struct peak peak = {0};
	int64_t sum = 0;

	for (int i = 0; i < gpu->n_vgpus; i++) {
		const struct policy_vgpu *vgpu = &gpu->vgpus[i];

		if (is_cold(params, vgpu->track)) {
			sum += contract_millionths(vgpu);
			peak.cold++;
		} else {
			sum += llround(measure(vgpu->track, params->predict_periods) * MILLIONTHS);
		}
	}
	peak.pct = 100 * (double)sum / MILLIONTHS;
	return peak;
}

static struct peak predict_p99(const struct policy_params *params, const struct policy_gpu *gpu)
{
	return sum_of(params, gpu, window_p99);
}

static struct peak predict_max(const struct policy_params *params, const struct policy_gpu *gpu)
{
	return sum_of(params, gpu, window_max);
}

/* Returns the total use of the warm vGPUs @ago periods ago, in millionths of the GPU. */
static int64_t load_then(const struct policy_params *params, const struct policy_gpu *gpu, int ago)
{
	int64_t sum = 0;

	for (int i = 0; i < gpu->n_vgpus; i++)
		if (!is_cold(params, gpu->vgpus[i].track))
			sum += llround(window_at(gpu->vgpus[i].track, ago) * MILLIONTHS);
	return sum;
}

/* Uses only the periods for which all warm vGPUs have stored a load. After a lost reading, the
 * loads of that vGPU are shifted by one period, which is negligible. The deviations are taken from
 * the mean, so that a steady load has exactly none. */
static struct peak predict_nsigma(const struct policy_params *params, const struct policy_gpu *gpu)
{
	struct peak peak = {0};
	int64_t contracts = 0, sum = 0;
	int n = params->predict_periods;
	double mean, squares = 0;

	for (int i = 0; i < gpu->n_vgpus; i++) {
		const struct policy_track *track = gpu->vgpus[i].track;

		if (is_cold(params, track)) {
			contracts += contract_millionths(&gpu->vgpus[i]);
			peak.cold++;
		} else if (track->window_fill < n) {
			n = track->window_fill;
		}
	}
	for (int ago = 1; ago <= n; ago++)
		sum += load_then(params, gpu, ago);
	mean = (double)sum / n;
	for (int ago = 1; ago <= n; ago++) {
		double deviation = (double)load_then(params, gpu, ago) - mean;

		squares += deviation * deviation;
	}
	peak.pct = 100 * (mean + params->predict_sigmas * sqrt(squares / n) + (double)contracts) /
		   MILLIONTHS;
	return peak;
}

static void say_p99(const struct policy_params *params, struct policy_decision *decision)
{
	(void)params;
	reason_add_text(decision, "the 99th percentiles of each vGPU's use");
}

static void say_nsigma(const struct policy_params *params, struct policy_decision *decision)
{
	reason_add_text(decision, "the mean and %.4g standard deviations of the total use",
			params->predict_sigmas);
}

static void say_max(const struct policy_params *params, struct policy_decision *decision)
{
	(void)params;
	reason_add_text(decision, "the largest uses of each vGPU");
}

static const struct admission by_p99 = {predict_p99, say_p99};
static const struct admission by_nsigma = {predict_nsigma, say_nsigma};
static const struct admission by_max = {predict_max, say_max};

void p99_step(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out)
{
	gover_step_with(params, gpu, &by_p99, out);
}

void nsigma_step(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out)
{
	gover_step_with(params, gpu, &by_nsigma, out);
}

void max_step(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out)
{
	gover_step_with(params, gpu, &by_max, out);
}
