/* SPDX-License-Identifier: MIT */
/* The ring of use that a vGPU's track keeps for rule 9. */
#ifndef POLICY_WINDOW_H
#define POLICY_WINDOW_H

#include "policy/policy.h"

/* Remembers one period's load, a fraction of the GPU. */
void window_add(struct policy_track *track, double load);

/* The largest load of the last @periods, or of as many as were seen; 1 when none was. */
double window_max(const struct policy_track *track, int periods);

/* The 99th percentile by nearest rank of the same; 1 when none was seen. */
double window_p99(const struct policy_track *track, int periods);

/* The load @ago periods ago, 1 for the last one; @ago is at most what was seen. */
double window_at(const struct policy_track *track, int ago);

#endif
