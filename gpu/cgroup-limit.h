/* SPDX-License-Identifier: MIT */
/* Converts a number of cores to the bandwidth limit of a control group, and back. */
#ifndef GPU_CGROUP_LIMIT_H
#define GPU_CGROUP_LIMIT_H

#include <stdint.h>

/* the smallest limit in cores: a quota of 1 ms in a period of 100 ms */
#define CGROUP_CORES_MIN 0.01

struct cgroup_limit {
	int64_t quota_us; /* CPU time in each period, in us; 0: unlimited */
	int64_t period_us;
	/*
	 * maximum unused quota that the group can use later; not set when a limit is read from the
	 * kernel
	 */
	int64_t burst_us;
};

/* Returns the limit for a group with @cores (>= CGROUP_CORES_MIN) and no groups below it. */
struct cgroup_limit cgroup_limit_for(double cores);

/*
 * Returns the limit for a group that contains other groups. It is chosen so that the limits of
 * those groups take effect first.
 */
struct cgroup_limit cgroup_limit_parent(double cores);

/* Returns the cores that @limit allows; 0: unlimited. */
double cgroup_limit_cores(const struct cgroup_limit *limit);

#endif
