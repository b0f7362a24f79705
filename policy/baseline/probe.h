/* SPDX-License-Identifier: MIT */
/*
 * Estimates demand from use, for the policies that set caps by demand. While a vGPU uses less than
 * its cap, the demand is the use. While a vGPU uses its whole cap, the demand is unknown, and the
 * cap is raised until part of the cap stays unused (a probe).
 */
#ifndef POLICY_BASELINE_PROBE_H
#define POLICY_BASELINE_PROBE_H

#include "policy/baseline/waterfill.h"

/* Returns true if @vgpu uses the whole time that was available (signal_use()), so that its demand
 * may be larger. */
bool probe_is_censored(const struct policy_params *params, const struct policy_gpu *gpu,
		       const struct policy_vgpu *vgpu);

/* Returns the smallest cap with which the largest use of the last demand_periods is below
 * overload_pct. */
int probe_need_steps(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_vgpu *vgpu);

/* Returns the next cap of a probe, in steps, if a cap of @pct was used completely. It exceeds @pct
 * by the fraction demand_probe of @pct, and at least by the dead band. */
int probe_more_steps(const struct policy_params *params, const struct policy_gpu *gpu, int pct);

/* Returns the dead band in steps, at least one step. */
int probe_band_steps(const struct policy_params *params, const struct policy_gpu *gpu);

#endif
