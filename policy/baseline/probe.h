/* SPDX-License-Identifier: MIT */
/* What a vGPU wants, as far as its use tells: for the policies that set caps by demand. */
#ifndef POLICY_BASELINE_PROBE_H
#define POLICY_BASELINE_PROBE_H

#include "policy/baseline/waterfill.h"

/* True where @vgpu uses all it has, so that more may be wanted than is seen. */
bool probe_is_censored(const struct policy_params *params, const struct policy_vgpu *vgpu);

/* The fewest steps that keep the largest use of the last demand_periods under the overload line. */
int probe_need_steps(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_vgpu *vgpu);

/* @pct, which are all used, and demand_probe of it more, but at least the dead band: less would not
 * be moved. In whole steps. */
int probe_more_steps(const struct policy_params *params, const struct policy_gpu *gpu, int pct);

/* The dead band in whole steps, at least one. */
int probe_band_steps(const struct policy_params *params, const struct policy_gpu *gpu);

#endif
