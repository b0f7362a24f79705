/* SPDX-License-Identifier: MIT */
/* The load of a vGPU's last periods, in its track. */
#ifndef POLICY_WINDOW_H
#define POLICY_WINDOW_H

#include "policy/policy.h"

/* Adds one period's load, a fraction of the GPU. The reading must be valid. */
void window_add(struct policy_track *track, double load);

/* The largest load of the last @periods, or of fewer if fewer were seen; 1 if none was. */
double window_max(const struct policy_track *track, int periods);

/* The 99th percentile of the same, by nearest rank; 1 if no period was seen. */
double window_p99(const struct policy_track *track, int periods);

/* The load @ago periods ago; 1 is the last. @ago is at most window_fill. */
double window_at(const struct policy_track *track, int ago);

#endif
