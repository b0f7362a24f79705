/* SPDX-License-Identifier: MIT */
/* Parses [gpu] parent of backend drm. Pure. */
#ifndef GPU_DRM_PARENT_H
#define GPU_DRM_PARENT_H

#include "gpu/gpu.h"

/* How a message describes what is allowed. */
#define DRM_PARENT_ALLOWED                                                                       \
	"a PCI address such as 0000:03:00.0, or for a GPU that is not a PCI device its driver: " \
	"etnaviv, lima, msm, panfrost, panthor or v3d"

/*
 * Writes the name of the GPU as fdinfo has it. A PCI address may have no domain (lspci), eight
 * digits for it (nvidia-smi) or upper case; the result is that of the kernel. Returns -EINVAL if
 * @text is neither an address nor a known driver.
 */
int drm_parent_parse(const char *text, char ret_parent[GPU_PARENT_MAX]);

#endif
