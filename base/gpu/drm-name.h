/* SPDX-License-Identifier: MIT */
/* The names of GPUs in fdinfo, which [gpu] parent of backend drm has. */
#ifndef BASE_GPU_DRM_NAME_H
#define BASE_GPU_DRM_NAME_H

#include "base/gpu/config.h"

/* How a message describes what is allowed. fdinfo names these GPUs by their driver. */
#define DRM_NAME_ALLOWED                                                                         \
	"a PCI address such as 0000:03:00.0, or for a GPU that is not a PCI device its driver: " \
	"etnaviv, lima, msm, panfrost, panthor or v3d"

/*
 * Writes the name of the GPU as fdinfo has it. A PCI address may have no domain (lspci), eight
 * digits for it (nvidia-smi) or upper case; the result is that of the kernel. Returns -EINVAL if
 * @text is neither an address nor one of these drivers.
 */
int drm_name_parse(const char *text, char ret_name[GPU_PARENT_MAX]);

#endif
