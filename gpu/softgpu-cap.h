/* SPDX-License-Identifier: MIT */
/*
 * The cap and the ceiling of a vGPU of softgpu in the files of its control group.
 *
 * Without guarantees, the cap is the bandwidth limit: the vGPU never gets more. With guarantees,
 * the cap is the share of the group (its CPU weight), and the bandwidth limit is the ceiling: vGPUs
 * with work share the time that other vGPUs do not use, each up to its ceiling.
 */
#ifndef GPU_SOFTGPU_CAP_H
#define GPU_SOFTGPU_CAP_H

#include <stdbool.h>

#include "gpu/cgroup.h"

/* What a cap of 100 % is, and how caps work. */
struct softgpu_scale {
	double gpu_cores;
	bool guarantees;
};

/* Returns the smallest cap that a limit can enforce on a GPU with @gpu_cores. */
int softgpu_cap_floor(double gpu_cores);

/*
 * Sets the cap, softgpu_cap_floor()..100. With guarantees, the limit becomes the larger of the cap
 * and @ceiling_pct. Returns -EINVAL for other caps.
 */
int softgpu_cap_write(const struct cgroup_files *files, const struct softgpu_scale *scale,
		      int cap_pct, int ceiling_pct);

/*
 * Reads the cap; 0: no limit. *ret_share is the cap as a fraction of the GPU. With
 * guarantees, a limit below the share is the cap, because another program has set it, unless the
 * limit is @ceiling_pct, the ceiling that the caller has written (0: none). Another program has
 * then set the share, which takes time from other vGPUs up to the limit. A group with a limit and
 * the weight of a new group has a cap of 1 %.
 */
int softgpu_cap_read(const struct cgroup_files *files, const struct softgpu_scale *scale,
		     int ceiling_pct, double *ret_share, int *ret_cap_pct);

/* Reads the ceiling from the limit, 1..100. */
int softgpu_cap_read_ceiling(const struct cgroup_files *files, const struct softgpu_scale *scale,
			     int *ret_ceiling_pct);

/*
 * Converts a group that a daemon with the other value of @scale->guarantees has left, so that its
 * cap stays the same. A group that needs no conversion stays unchanged. With guarantees, the
 * ceiling is the cap until it is written.
 */
int softgpu_cap_convert(const struct cgroup_files *files, const struct softgpu_scale *scale);

#endif
