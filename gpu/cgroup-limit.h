/* SPDX-License-Identifier: MIT */
/* How large a control group is: cores as the kernel's bandwidth limit, and back. Pure. */
#ifndef GPU_CGROUP_LIMIT_H
#define GPU_CGROUP_LIMIT_H

#include <stdint.h>

#define CGROUP_CORES_MIN 0.01 /* what has a quota of 1 ms in a period of 100 ms */

struct cgroup_limit {
	int64_t quota_us; /* CPU time in each period; 0: no limit */
	int64_t period_us;
	int64_t burst_us; /* unused quota that may be used later; written, never read back */
};

/* The limit that makes a group as large as @cores, CGROUP_CORES_MIN or more. */
struct cgroup_limit cgroup_limit_for(double cores);

/* The same for a group that holds others, so that it is not what throttles them first. */
struct cgroup_limit cgroup_limit_parent(double cores);

/* 0: no limit. */
double cgroup_limit_cores(const struct cgroup_limit *limit);

#endif
