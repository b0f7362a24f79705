/* SPDX-License-Identifier: MIT */
/*
 * Keeps the sums of each vGPU (struct vgpu_tally) in the history, so that they continue after a
 * restart. A crash loses at most the last minute.
 */
#ifndef GOVER_D_CORE_TALLIES_H
#define GOVER_D_CORE_TALLIES_H

#include <stdint.h>

struct manager;

/* Continues the sums of the last run. Call it after the vGPUs are adopted. */
void tallies_load(struct manager *manager);
/* Stores the sums of all vGPUs. @now_ms: wall clock. */
void tallies_store(const struct manager *manager, int64_t now_ms);

#endif
