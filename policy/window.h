/* SPDX-License-Identifier: MIT */
/*
 * The readings of a vGPU in its last periods, stored in its track: its loads (window), and the rate
 * that is compared with its target, with the tolerance of this comparison (rate).
 *
 * A count of finished units can be wrong by one at each end of a period, because a unit counts when
 * it ends. Therefore units of work are counted over as many periods as promise UNITS_JUDGED units,
 * at most POLICY_RATES_MAX periods, and the tolerance is 1.5 units in this time. Frames are counted
 * over one period.
 */
#ifndef POLICY_WINDOW_H
#define POLICY_WINDOW_H

#include "policy/policy.h"

/* Adds one period's load, a fraction of the GPU. The reading must be valid. */
void window_add(struct policy_track *track, double load);

/* Returns the largest load of the last @periods, or of all periods seen if fewer were seen. Returns
 * 1 if no period was seen. */
double window_max(const struct policy_track *track, int periods);

/* Returns the 99th percentile (nearest rank) of the loads in the last @periods; 1 if no period was
 * seen. */
double window_p99(const struct policy_track *track, int periods);

/* Returns the load @ago periods ago. @ago: 1 (the last period) to track->window_fill. */
double window_at(const struct policy_track *track, int ago);

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
