/* SPDX-License-Identifier: MIT */
/*
 * Bandwidth limits (quota, period, burst) of control groups.
 *
 * The period is 10 ms, because the measured use is less exact with a longer period. A program that
 * needs more than its limit runs at the start of each period until its quota is used up. The use is
 * sampled once a second. If a sample begins or ends while the program runs, the error is at most
 * quota x (1 - cap). This is 1 % of the time allotted per second with a period of 10 ms, and 10 %
 * with the kernel's default period of 100 ms. An error of 10 % could cross the overload threshold
 * of 95 %. A short period also shortens the pauses of a program, which are visible in frame times.
 *
 * The table shows the smallest and the largest measured use for each period, as a fraction of the
 * allotted time. A busy loop ran alone on a core (Linux 6.18, version 1, CONFIG_HZ 250, no burst).
 * It was sampled 8 times at intervals of 1 s, each time up to 30 ms late.
 *
 *	cap    10 ms          20 ms          40 ms          100 ms
 *	10 %   0.970..1.018   0.956..1.018   0.973..1.006   0.939..1.049
 *	30 %   0.993..1.010   0.990..1.016   0.969..1.021   0.975..1.032
 *	60 %   0.996..1.003   0.992..1.006   0.976..1.009   0.989..1.005
 *
 * The remaining error comes from the resolution of the scheduler tick (4 ms on that machine). A
 * program gains nothing from an overrun, because the kernel subtracts the overrun from the next
 * period.
 *
 * The burst equals the quota. If a group cannot use its quota in a period, because other groups
 * run, it can use the rest later. Without a burst the rest is lost. The table shows the smallest
 * and the largest measured use of three busy loops on one core, as a fraction of the allotted time,
 * in 18 samples of 1 s in 6 runs.
 *
 *	cap    no burst       burst = quota
 *	20 %   0.950..1.014   0.980..1.017
 *	30 %   0.789..1.007   0.992..1.008
 *	50 %   0.870..1.005   0.983..1.008
 *
 * A burst has a cost: after a pause a program can use one additional quota, which is 1 % of the
 * time allotted per second.
 *
 * The kernel rejects quotas below 1 ms, so a group with a limit below 0.1 cores gets a longer
 * period, up to 100 ms. The limit of a parent has a period of 100 ms, because all its child groups
 * run at the start of their periods. When the parent had a period of 10 ms and no burst, the third
 * child group got only 0.89 of its allotted time.
 */
#include <math.h>

#include "base/linux/cgroup.h"

/* minimum of the kernel (min_cfs_quota_period in kernel/sched/core.c of Linux) */
#define QUOTA_MIN_US	 1000
#define PERIOD_US	 10000
#define PERIOD_PARENT_US 100000

struct cgroup_limit cgroup_limit_for(double cores)
{
	struct cgroup_limit limit = {.period_us = PERIOD_US};

	if (cores * PERIOD_US < QUOTA_MIN_US)
		limit.period_us = (int64_t)ceil(QUOTA_MIN_US / cores);
	/* Round down, because version 1 rejects a group with a larger limit than its parent. */
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
