/* SPDX-License-Identifier: MIT */
/* Finds the GPUs and vGPUs of GVT-g in sysfs. */
#ifndef GPU_GVT_HOST_H
#define GPU_GVT_HOST_H

#include "gpu/gpu.h"

/*
 * Writes the path of the folder that contains the vGPUs: the folder of the GPU that @config names
 * as parent, or of the only GPU. If no GPU lists types of GVT-g, writes the folder of the whole
 * mdev bus. Errors with a message: -EOPNOTSUPP: the GPU or the bus does not exist; -EINVAL: the
 * host has several GPUs and @config names no parent.
 */
int gvt_host_find(const struct gpu_config *config, char ret_dir[PATH_MAX], struct err *reterr);

/* Returns true if the GPU that @config names is on the mdev bus. If @config names no GPU, any GPU
 * or vGPU of GVT-g is sufficient. */
bool gvt_host_present(const struct gpu_config *config);

/* Returns true if the GPU with this folder in the mdev bus offers types of GVT-g. */
bool gvt_host_is_parent(const char *path);

/* Files of a vGPU in its folder intel_vgpu. Those before GVT_NEEDED exist with gover's scheduler.
 */
enum gvt_file {
	GVT_CAP,
	GVT_BUSY,
	GVT_SCHED,
	GVT_NEEDED,
	GVT_LEASE = GVT_NEEDED,
	GVT_CEILING,
	GVT_FILES
};
extern const char *const gvt_host_files[GVT_FILES];

/* Returns true if @name has the form of a UUID. The names of mediated devices have this form. */
bool gvt_host_is_uuid(const char *name);

#endif
