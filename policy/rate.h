/* SPDX-License-Identifier: MIT */
/*
 * The rate of a vGPU that is compared with its target, and the tolerance of this comparison.
 *
 * A count of finished units can be wrong by one at each end of a period, because a unit counts when
 * it ends. Therefore units of work are counted over as many periods as promise UNITS_JUDGED units,
 * at most POLICY_RATES_MAX periods, and the tolerance is 1.5 units in this time. Frames are counted
 * over one period.
 */
#ifndef POLICY_RATE_H
#define POLICY_RATE_H

#include "policy/policy.h"

/* Adds the readings of this period. Earlier readings are dropped if the rate is not valid. */
void rate_add(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu);

/* Return the mean rate, load and util of the periods over which @vgpu is judged. The rate is valid
 * if fps_valid is set, load and util if busy_valid is set. */
double rate_mean(const struct policy_vgpu *vgpu);
double rate_load(const struct policy_vgpu *vgpu);
double rate_util(const struct policy_vgpu *vgpu);

/* Returns the tolerance: @vgpu is short if rate_mean() is below its target by more than this number
 * (docs/design.md, section 2). */
double rate_tolerated(const struct policy_vgpu *vgpu);

#endif
