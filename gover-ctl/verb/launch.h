/* SPDX-License-Identifier: MIT */
/*
 * Steps of `run`: finding the preload library and the program, and entering the vGPU. Only
 * launch_enter_vgpu() changes anything.
 */
#ifndef GOVER_CTL_VERB_LAUNCH_H
#define GOVER_CTL_VERB_LAUNCH_H

#include <limits.h>
#include <jansson.h>

#include "base/err.h"

/* Finds the preload library: @override (GOVER_FPS_LIB) if set, else in the folder of the program
 * @exe, else in ../lib/gover from there. -ENOENT: not found; -EINVAL: its path is not usable in
 * LD_PRELOAD. */
int launch_find_library(const char *override, const char *exe, char ret_path[PATH_MAX],
			struct err *reterr);

/* The new value of LD_PRELOAD: @library, then its present value @before (may be NULL).
 * -ENAMETOOLONG. */
int launch_make_preload(const char *library, const char *before, char *ret_value, size_t size);

/* The frame limit for a target: slightly above it. 0: no limit, because there is no target. */
double launch_choose_fps_max(double target_fps);

/* Checks that execvp() finds @command in @search_path (PATH). 0, -ENOENT, or -EACCES: found, but
 * not executable. */
int launch_find_command(const char *command, const char *search_path);

/* Moves process @pid into the control groups of the vGPU (attach.cgroup_procs). -EOPNOTSUPP: the
 * vGPU has none; or the negative errno of a write. */
int launch_enter_vgpu(const json_t *vgpu, long pid, struct err *reterr);

#endif
