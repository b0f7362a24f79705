/* SPDX-License-Identifier: MIT */
/*
 * From a size in cores to a bandwidth limit (quota, period, burst) and back. Pure.
 *
 * Period 10 ms. A program that wants more than its limit runs at the start of each period until
 * its quota is gone. Use is sampled once a second; a sample whose edges fall anywhere in those runs
 * is wrong by at most quota x (1 - cap), so by period x (1 - cap) / 1 s of what was allotted: 10 %
 * with the kernel's own 100 ms, which crosses the overload line of 95 % in both directions, 1 %
 * with 10 ms. Short periods also stand still for a shorter time, which frame times show. Measured
 * with a busy loop alone on a core (Linux 6.18, version 1, CONFIG_HZ 250, no burst), 8 samples 1 s
 * apart and each up to 30 ms late, least and largest use of the allotted time:
 *
 *	cap    10 ms          20 ms          40 ms          100 ms
 *	10 %   0.970..1.018   0.956..1.018   0.973..1.006   0.939..1.049
 *	30 %   0.993..1.010   0.990..1.016   0.969..1.021   0.975..1.032
 *	60 %   0.996..1.003   0.992..1.006   0.976..1.009   0.989..1.005
 *
 * What is left is the scheduler tick (4 ms there), in whose steps running time is counted; the
 * kernel carries an overrun over, so that none is won.
 *
 * Burst = quota. Time can be lost, though: where the others leave a group less than its quota in
 * one period, the rest is forfeit unless a burst is allowed. Busy loops with caps 20, 30 and 50 %
 * on one core, 18 samples of 1 s in 6 runs, use of the allotted time:
 *
 *	cap    no burst       burst = quota
 *	20 %   0.950..1.014   0.980..1.017
 *	30 %   0.789..1.007   0.992..1.008
 *	50 %   0.870..1.005   0.983..1.008
 *
 * Its price: a program that comes out of a pause gets one quota more: 1 % in that second, where the
 * period is 10 ms.
 *
 * The kernel refuses quotas below 1 ms. Smaller groups get a longer period, up to 100 ms. The limit
 * above them has a period ten times theirs, because their runs coincide: with 10 ms above (and no
 * burst) the third of those groups got 0.89.
 */
#include <math.h>

#include "gpu/cgroup-limit.h"

#define QUOTA_MIN_US	 1000 /* min_cfs_quota_period in kernel/sched/core.c */
#define PERIOD_US	 10000
#define PERIOD_PARENT_US 100000

struct cgroup_limit cgroup_limit_for(double cores)
{
	struct cgroup_limit limit = {.period_us = PERIOD_US};

	if (cores * PERIOD_US < QUOTA_MIN_US)
		limit.period_us = (int64_t)ceil(QUOTA_MIN_US / cores);
	/* Down: version 1 refuses a group that is larger than its parent, be it by rounding. */
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
