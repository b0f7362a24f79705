/* SPDX-License-Identifier: MIT */
/* Where on a host the vGPUs of GVT-g stand. Looks only; for the families of GVT-g. */
#ifndef GPU_GVT_HOST_H
#define GPU_GVT_HOST_H

#include "gpu/gpu.h"

/*
 * The directory in which the vGPUs of the GPU that @config names stand: the GPU that is its parent,
 * the only GPU there is, or where none says what it can carry, the whole mdev bus. Errors: a
 * sentence. -EOPNOTSUPP: there is none; -EINVAL: there are several, and which is not said.
 */
int gvt_host_find(const struct gpu_config *config, char ret_dir[PATH_MAX], struct err *reterr);

/* Is there a GPU, or at least a vGPU, of GVT-g on the mdev bus? */
bool gvt_host_present(const struct gpu_config *config);

/* Is @name the name of a mediated device? */
bool gvt_host_is_uuid(const char *name);

#endif
