/* SPDX-License-Identifier: MIT */
/* Finds the GPUs and vGPUs of GVT-g in sysfs. */
#ifndef GPU_GVT_HOST_H
#define GPU_GVT_HOST_H

#include "gpu/gpu.h"

/*
 * Writes the folder that contains the vGPUs: that of @config's parent, or of the only GPU. If no
 * GPU lists types of GVT-g, it is the whole mdev bus. Errors with a message: -EOPNOTSUPP: the GPU
 * or the bus does not exist; -EINVAL: the host has several GPUs and @config names no parent.
 */
int gvt_host_find(const struct gpu_config *config, char ret_dir[PATH_MAX], struct err *reterr);

/* True if the GPU that @config names, or any GPU or vGPU of GVT-g, is on the mdev bus. */
bool gvt_host_present(const struct gpu_config *config);

/* True if @name has the form of a UUID, as the names of mediated devices have. */
bool gvt_host_is_uuid(const char *name);

#endif
