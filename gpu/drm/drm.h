/* SPDX-License-Identifier: MIT */
/* Names of backend drm: the GPU in sysfs and the ids of vGPUs; and its checks. */
#ifndef GPU_DRM_DRM_H
#define GPU_DRM_DRM_H

#include "gpu/gpu.h"

extern const struct gpu_check gpu_drm_checks[];

/*
 * Writes the name of the GPU that @parent selects, as it is in fdinfo: its PCI address, or the name
 * of its driver if it is not a PCI device. @parent "": the only GPU below @sysfs ("/sys"). A
 * GPU that @parent names need not exist, because it may appear later. Writes the path of the
 * device, or "" if it is not known. Returns -EOPNOTSUPP if the host has no GPU, and -EINVAL if it
 * has several, which the message lists, or if @parent cannot be one.
 */
int drm_device_find(const char *sysfs, const char *parent, char ret_device[GPU_PARENT_MAX],
		    char ret_path[PATH_MAX], struct err *reterr);

/*
 * Writes the id of the vGPU of the control group ROOT/@name, which depends on nothing else. A
 * service has its name without .service. A container has the first 12 digits of its long id, as in
 * the tables of docker and podman. Containers, pods of Kubernetes (kubepods*) and virtual machines
 * (machine-*) have no .scope or .slice. A domain of libvirt has no number, because each start gives
 * it another one. If another name could have the same id, because it is too long or has characters
 * that an id cannot have, the id ends with a hash of the path.
 */
void drm_group_id(const char *root, const char *name, char ret_id[ID_MAX]);

#endif
