/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Shared by main.c and vgpu.c: the parent device, its types and its vGPUs. */
#ifndef TESTS_KERNEL_GOVER_GVT_PARENT_H
#define TESTS_KERNEL_GOVER_GVT_PARENT_H

#include <linux/mdev.h>

#include "gpu.h"

#define PARENT_TYPES 4

/* A type of vGPU as in i915 GVT-g: its size is 1/@parts of the GPU. */
struct vgpu_type {
	const char *sysfs_name;
	unsigned int parts;
	unsigned int low_gm_mb;
	unsigned int high_gm_mb;
	const char *resolution;
};

extern const struct vgpu_type vgpu_types[PARENT_TYPES];

/* A parent device: one GPU. */
struct parent {
	struct gpu gpu;
	struct mdev_parent mdev;
	struct mdev_type types[PARENT_TYPES]; /* in the order of vgpu_types */
	struct mdev_type *type_list[PARENT_TYPES];
};

extern struct mdev_driver vgpu_driver;

#endif
