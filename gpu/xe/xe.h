/* SPDX-License-Identifier: MIT */
/* Limits and checks of backend xe. base/gpu/config.h has the defaults of its keys. */
#ifndef GPU_XE_XE_H
#define GPU_XE_XE_H

#include "gpu/gpu.h"

/* Shares are within two points of their caps (design.md section 7); the PF's own slice counts. */
#define XE_TOLERANCE_PT 1.0
#define XE_READING_NS	100000000 /* counters older than this are read again */

extern const struct gpu_check gpu_xe_checks[];

#endif
