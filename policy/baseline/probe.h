/* SPDX-License-Identifier: MIT */
/*
 * Demand by use, for the policies that set caps by demand. Below its cap a vGPU wants what it uses.
 * At its cap its demand is unknown and is probed: its cap is raised until it leaves some unused.
 */
#ifndef POLICY_BASELINE_PROBE_H
#define POLICY_BASELINE_PROBE_H

#include "policy/baseline/waterfill.h"

/* True if @vgpu uses its whole cap, so that it may want more. */
bool probe_is_censored(const struct policy_params *params, const struct policy_vgpu *vgpu);

/* The smallest cap that keeps the largest use of the last demand_periods below overload_pct. */
int probe_need_steps(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_vgpu *vgpu);

/* The cap that probes for more demand than @pct: larger by demand_probe of it, and at least by the
 * dead band, because a smaller change would not be made. */
int probe_more_steps(const struct policy_params *params, const struct policy_gpu *gpu, int pct);

/* The dead band, at least one step. */
int probe_band_steps(const struct policy_params *params, const struct policy_gpu *gpu);

#endif
