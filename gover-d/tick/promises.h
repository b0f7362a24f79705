/* SPDX-License-Identifier: MIT */
/*
 * Judges in each tick whether the promises to the vGPUs are kept (policy/promise/).
 */
#ifndef GOVER_D_TICK_PROMISES_H
#define GOVER_D_TICK_PROMISES_H

#include "gover-d/tick/tick.h"

/*
 * Finds the vGPUs that get nothing although their programs live. Call it after the readings of a
 * tick, before round_view(). @late: the readings are not those of this period.
 */
void promises_read_service(struct tick *tick, struct host_gpu *gpu, bool late, struct instant now);
/* @vgpu has vanished: forgets its service and its promise, which is not broken while it is missing.
 */
void promises_forget(struct vgpu *vgpu);
/* Judges one period of @gpu. Call it after the step of the policy. */
void promises_judge(struct tick *tick, struct host_gpu *gpu, struct instant now);
/*
 * Continues the alerts of the last run of the daemon, so that a restart neither ends nor repeats
 * one. Call it after the vGPUs are adopted.
 */
void promises_resume(struct tick *tick);

#endif
