/* SPDX-License-Identifier: MIT */
/* Finds the DRM devices of this host in sysfs. */
#ifndef GPU_DRM_DEVICE_H
#define GPU_DRM_DEVICE_H

#include "gpu/gpu.h"

/*
 * Writes the name of the GPU that @parent selects, as it is in fdinfo: its PCI address, or the name
 * of its driver if it is not a PCI device. @parent "": the only GPU below @sysfs ("/sys"). A
 * GPU that @parent names need not exist, because it may appear later. Writes the path of the
 * device, or "" if it is not known. Returns -EOPNOTSUPP if the host has no GPU, and -EINVAL if it
 * has several, which the message lists, or if @parent cannot be one.
 */
int drm_device_find(const char *sysfs, const char *parent, char ret_device[GPU_PARENT_MAX],
		    char ret_path[PATH_MAX], struct err *reterr);

#endif
