/* SPDX-License-Identifier: MIT */
/* Files and checks that the backend of GVT-g and gvt-diagnose.c share. */
#ifndef GPU_GVT_GVT_H
#define GPU_GVT_GVT_H

#include <stdbool.h>

#include "gpu/diagnose.h"

/* Returns true if the GPU with this folder in the mdev bus offers types of GVT-g. */
bool gvt_is_parent(const char *path);

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
extern const char *const gvt_files[GVT_FILES];

extern const struct gpu_check gpu_gvt_checks[];

#endif
