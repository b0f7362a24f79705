/* SPDX-License-Identifier: MIT */
/* Converts a number of cores to the bandwidth limit of a control group, and back. */
#ifndef GPU_CGROUP_LIMIT_H
#define GPU_CGROUP_LIMIT_H

#include <stdint.h>

#define CGROUP_CORES_MIN 0.01 /* a quota of 1 ms in a period of 100 ms */

struct cgroup_limit {
	int64_t quota_us; /* CPU time in each period; 0: no limit */
	int64_t period_us;
	int64_t burst_us; /* unused quota that can be used later; written, never read */
};

/* The limit for a group with @cores (>= CGROUP_CORES_MIN) and no groups below it. */
struct cgroup_limit cgroup_limit_for(double cores);

/* The limit for a group that contains others. It does not throttle them before their own limits. */
struct cgroup_limit cgroup_limit_parent(double cores);

/* Returns the cores that @limit allows; 0: no limit. */
double cgroup_limit_cores(const struct cgroup_limit *limit);

#endif
