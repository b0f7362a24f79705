/* SPDX-License-Identifier: MIT */
/* The configuration of a GPU, which a backend opens. gover.conf(5) describes the keys. */
#ifndef BASE_GPU_CONFIG_H
#define BASE_GPU_CONFIG_H

#include <stdbool.h>
#include <string.h>

#include "base/id.h"

#define GPUS_MAX       64  /* largest number of GPUs of a daemon */
#define GPU_ROOT_MAX   256 /* size of a root path with its NUL */
#define GPU_PARENT_MAX 64
#define GPU_SOCKET_MAX 108 /* size of the path of a unix socket with its NUL */

/* Defaults of the time slices of backend xe, and of the time until a job is reset. */
#define XE_LEAST_SLICE_MS   2
#define XE_LONGEST_ROUND_MS 100
/*
 * After its slice, a job that cannot be preempted has this time until the driver resets it: the
 * length of the longest round, so one job delays the other functions by at most a round.
 */
#define XE_PREEMPT_TIMEOUT_MS 100

struct gpu_config {
	char name[ID_MAX];
	char backend[16]; /* "auto", or a name of base/gpu/backend.h */
	/* gvt, xe: path of sysfs; softgpu, lib, drm: parent group below the cgroup mounts; sim:
	 * control folder. "": the default */
	char root[GPU_ROOT_MAX];
	/* gvt: name of the GPU in class/mdev_bus; xe: PCI address of the physical function; drm:
	 * PCI address, or name of the driver; "": the only GPU of the host */
	char parent[GPU_PARENT_MAX];
	char socket[GPU_SOCKET_MAX]; /* lib: socket of the arbiter for programs */
	char truth[8];		     /* drm: "auto", "fdinfo", "nvml" or "none" */
	char proc[GPU_ROOT_MAX];     /* drm: path of the proc file system; "": /proc */
	char discipline[16];	     /* lib: how the arbiter gives turns; compute/arbiter/turn.c */
	/* "hard": caps are limits; "guarantee": caps are guaranteed shares; "auto": guarantee if
	 * the host offers it; "": hard */
	char sharing[16];
	bool paper_mode;	/* sharing = auto means hard (not a key of this section) */
	int lease_ms;		/* gvt: time after which a cap expires without renewal; 0: never */
	int least_slice_ms;	/* xe: least time slice of a vGPU; 0: the default */
	int longest_round_ms;	/* xe: longest round of all time slices; 0: the default */
	int preempt_timeout_ms; /* xe: limit of a job after its slice; 0: the default */
	double capacity_cores;	/* softgpu: size of the GPU in CPU cores */
	double speed; /* sim, and gvt and xe on gover-sim: seconds of GPU time per second of host
			 time */
	char unit[8]; /* sim: what the vGPUs of this GPU deliver: "frames" or "work" */
	bool dry_run; /* true: create, change and remove nothing (not a configuration key) */
	/* true: open the GPU even if its sharing cannot be set (not a configuration key) */
	bool any_sharing;
	/* xe: folder for a file of caps, which a quantum does not show exactly; "": none (not a
	 * key of this section) */
	char state_dir[GPU_ROOT_MAX];
};

/* Returns true if the host and @config.paper_mode decide between guaranteed shares and limits. */
static inline bool gpu_chooses_sharing(const struct gpu_config *config)
{
	return strcmp(config->sharing, "auto") == 0;
}

/* Returns true if [gpu] sharing of @config requests guaranteed shares. */
static inline bool gpu_wants_guarantees(const struct gpu_config *config)
{
	return strcmp(config->sharing, "guarantee") == 0;
}

#endif
