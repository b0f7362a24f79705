/* SPDX-License-Identifier: MIT */
/*
 * Steps of `run`: finding the library and the program, and entering the vGPU. Only
 * launch_enter_vgpu() changes anything.
 */
#ifndef GOVER_CTL_VERB_LAUNCH_H
#define GOVER_CTL_VERB_LAUNCH_H

#include <limits.h>
#include <jansson.h>

#include "base/err.h"

/* A library that is loaded into the program. */
struct launch_library {
	const char *name;
	const char *override; /* environment variable with another path of the library */
	const char *list;     /* environment variable that makes the program load it */
};

extern const struct launch_library launch_fps; /* counts frames */
extern const struct launch_library launch_cl;  /* submits OpenCL work in turns */

/*
 * Finds a library. @override, the value of the variable of this name, is used if it is set.
 * Otherwise the library is searched in the folder of the program @exe, then in ../lib/gover
 * relative to this folder. Returns -ENOENT if the library is not found, -EINVAL if the list cannot
 * contain its path.
 */
int launch_find_library(const struct launch_library *library, const char *override, const char *exe,
			char ret_path[PATH_MAX], struct err *reterr);

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

#endif
