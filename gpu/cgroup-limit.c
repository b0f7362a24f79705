/* SPDX-License-Identifier: MIT */
/*
 * Bandwidth limits (quota, period, burst) of control groups.
 *
 * Period: 10 ms. A program that needs more than its limit runs at the start of each period until
 *its quota is used up. Use is sampled once a second. If a sample begins or ends within such a run,
 *its error is at most quota x (1 - cap), which is period x (1 - cap) / 1 s of the allotted time: 10
 *% with the kernel's default period of 100 ms, enough to cross the overload threshold of 95 % in
 *both directions, and 1 % with 10 ms. With a short period a program also pauses for a shorter time,
 *which is visible in frame times. Measured with a busy loop alone on a core (Linux 6.18, version 1,
 * CONFIG_HZ 250, no burst), 8 samples at intervals of 1 s, each up to 30 ms late, smallest and
 * largest use of the allotted time:
 *
 *	cap    10 ms          20 ms          40 ms          100 ms
 *	10 %   0.970..1.018   0.956..1.018   0.973..1.006   0.939..1.049
 *	30 %   0.993..1.010   0.990..1.016   0.969..1.021   0.975..1.032
 *	60 %   0.996..1.003   0.992..1.006   0.976..1.009   0.989..1.005
 *
 * The remaining error comes from the scheduler tick (4 ms there), the resolution of running time.
 *The kernel subtracts an overrun from the next period, so a program gains nothing from it.
 *
 * Burst: equal to the quota. If other groups leave a group less than its quota in a period, the
 *rest is lost unless a burst is allowed. Busy loops with caps 20, 30 and 50 % on one core, 18
 *samples of 1 s in 6 runs, use of the allotted time:
 *
 *	cap    no burst       burst = quota
 *	20 %   0.950..1.014   0.980..1.017
 *	30 %   0.789..1.007   0.992..1.008
 *	50 %   0.870..1.005   0.983..1.008
 *
 * The cost: after a pause a program gets one additional quota, which is 1 % of that second with a
 * period of 10 ms.
 *
 * The kernel rejects quotas below 1 ms, so smaller groups get a longer period, up to 100 ms. The
 * parent's period is 100 ms, because the runs of its groups coincide: with 10 ms for the parent
 *(and no burst) the third of those groups got only 0.89.
 */
#include <math.h>

#include "gpu/cgroup-limit.h"

#define QUOTA_MIN_US	 1000 /* the value of min_cfs_quota_period in kernel/sched/core.c */
#define PERIOD_US	 10000
#define PERIOD_PARENT_US 100000

struct cgroup_limit cgroup_limit_for(double cores)
{
	struct cgroup_limit limit = {.period_us = PERIOD_US};

	if (cores * PERIOD_US < QUOTA_MIN_US)
		limit.period_us = (int64_t)ceil(QUOTA_MIN_US / cores);
	/* Round down: version 1 rejects a group that is larger than its parent. */
	limit.quota_us = (int64_t)floor(cores * (double)limit.period_us + 1e-6);
	limit.burst_us = limit.quota_us;
	return limit;
}

struct cgroup_limit cgroup_limit_parent(double cores)
{
	return (struct cgroup_limit){
		.quota_us = (int64_t)ceil(cores * PERIOD_PARENT_US - 1e-6),
		.period_us = PERIOD_PARENT_US,
	};
}

double cgroup_limit_cores(const struct cgroup_limit *limit)
{
	return limit->quota_us == 0 ? 0 : (double)limit->quota_us / (double)limit->period_us;
}
