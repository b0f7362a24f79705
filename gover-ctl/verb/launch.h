/* SPDX-License-Identifier: MIT */
/*
 * What `run` is about to do, worked out before anything is touched: the environment of the program
 * and where it is. Must never change the environment or the machine.
 */
#ifndef GOVER_CTL_VERB_LAUNCH_H
#define GOVER_CTL_VERB_LAUNCH_H

#include <limits.h>
#include <jansson.h>

#include "base/err.h"

/* The preload library: @override (GOVER_FPS_LIB) where set, else beside the program at @exe, else
 * in
 * ../lib/gover of there. -ENOENT with a sentence that says where was looked; -EINVAL: a path that
 * LD_PRELOAD cannot carry. */
int launch_find_library(const char *override, const char *exe, char ret_path[PATH_MAX],
			struct err *reterr);

/* The value of LD_PRELOAD: @library before what stands there (NULL: nothing). -ENAMETOOLONG. */
int launch_make_preload(const char *library, const char *before, char *ret_value, size_t size);

/* The pace of a program that is promised @target_fps: a little above it. 0: none, no promise. */
double launch_choose_fps_max(double target_fps);

/* Where execvp() would find @command on @search_path (PATH). 0, -ENOENT, or -EACCES: found, and may
 * not be executed. */
int launch_find_command(const char *command, const char *search_path);

/* Puts process @pid into the vGPU through every file of attach.cgroup_procs. -EOPNOTSUPP: this vGPU
 * has no place for programs; others with a sentence naming the file. */
int launch_enter_vgpu(const json_t *vgpu, long pid, struct err *reterr);

#endif
