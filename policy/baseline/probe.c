/* SPDX-License-Identifier: MIT */
/* Estimates the demand of a vGPU from its use, and probes for more. */
#include <math.h>

#include "policy/baseline/probe.h"
#include "policy/plan.h"
#include "policy/signal.h"
#include "policy/window.h"

/* The factor 1.001 tolerates rounding. A vGPU with a cap of probe_need_steps() must not count as
 * using its whole cap; otherwise the cap would alternate by one step. */
bool probe_is_censored(const struct policy_params *params, const struct policy_gpu *gpu,
		       const struct policy_vgpu *vgpu)
{
	return vgpu->busy_valid && signal_use(gpu, vgpu) > 1.001 * params->overload_pct / 100.0;
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
