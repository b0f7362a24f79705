/* SPDX-License-Identifier: MIT */
/* The verb `run` and its steps. Of the steps, only launch_enter_vgpu() changes anything. */
#ifndef GOVER_CTL_VERB_LAUNCH_H
#define GOVER_CTL_VERB_LAUNCH_H

#include "gover-ctl/shared/ctl.h"

/*
 * Makes the new value of the list: @library, then the present value @before (may be NULL). Returns
 * -ENAMETOOLONG if the value is too long.
 */
int launch_make_list(const char *library, const char *before, char *ret_value, size_t size);

/*
 * Returns the frame limit for a target frame rate: slightly above the target. Returns 0 (no limit)
 * if there is no target.
 */
double launch_choose_fps_max(double target_fps);

/*
 * Moves process @pid into the control groups of the vGPU (attach.cgroup_procs). Returns -EOPNOTSUPP
 * if the vGPU has no control group, or the negative errno of a write.
 */
int launch_enter_vgpu(const json_t *vgpu, long pid, struct err *reterr);

enum ctl_exit verb_run(struct ctl *ctl, const struct args *args);

#endif
