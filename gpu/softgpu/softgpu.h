/* SPDX-License-Identifier: MIT */
/* The checks of backend softgpu. */
#ifndef GPU_SOFTGPU_SOFTGPU_H
#define GPU_SOFTGPU_SOFTGPU_H

#include "gpu/diagnose.h"

extern const struct gpu_check gpu_softgpu_checks[]; /* control groups, also those of lib */

#endif
