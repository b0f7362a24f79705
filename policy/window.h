/* SPDX-License-Identifier: MIT */
/* The ring of use that a vGPU's track keeps for rule 9. */
#ifndef POLICY_WINDOW_H
#define POLICY_WINDOW_H

#include "policy/policy.h"

/* Remembers one period's load, a fraction of the GPU. */
void window_add(struct policy_track *track, double load);

/* The largest load of the last @periods, or of as many as were seen; 1 when none was. */
double window_max(const struct policy_track *track, int periods);

#endif
