/* SPDX-License-Identifier: MIT */
/* The loads of a vGPU in its last periods, stored in its track. */
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

#endif
