/* SPDX-License-Identifier: MIT */
/* The defaults of the backend xe. gover.conf(5) describes the keys that change them. */
#ifndef GPU_XE_XE_H
#define GPU_XE_XE_H

#include "gpu/gpu.h"

#define XE_LEAST_SLICE_MS   2
#define XE_LONGEST_ROUND_MS 100
/* Shares are within two points of their caps (design.md section 7); the PF's own slice counts. */
#define XE_TOLERANCE_PT 1.0
/*
 * After its slice, a job that cannot be preempted has this time until the driver resets it: the
 * length of the longest round, so one job delays the other functions by at most a round.
 */
#define XE_PREEMPT_TIMEOUT_MS 100
#define XE_READING_NS	      100000000 /* counters older than this are read again */

#endif
