/* SPDX-License-Identifier: MIT */
/*
 * Control groups, version 1 (Documentation/admin-guide/cgroup-v1, scheduler/sched-bwc.rst). While a
 * limit changes, it never exceeds the larger of its old and new values.
 */
#include <errno.h>

#include "base/file.h"
#include "base/parse.h"
#include "gpu/cgroup.h"

static int inherit(const struct cgroup_host *host, const char *group, const char *file)
{
	char parent[PATH_MAX], from[PATH_MAX], to[PATH_MAX], text[4096];
	int r;

	cgroup_parent(group, parent);
	r = cgroup_path(host, host->cpuset, parent, file, from);
	if (r == 0)
		r = cgroup_path(host, host->cpuset, group, file, to);
	if (r == 0)
		r = file_read_text(from, text, sizeof(text));
	return r < 0 ? r : file_write_text(to, text);
}

/* A new cpuset has no cores and no memory nodes, and processes cannot join it without them. */
static int settle(const struct cgroup_host *host, const char *group)
{
	int r;

	if (host->cpuset < 0)
		return 0;
	r = inherit(host, group, "cpuset.cpus");
	return r < 0 ? r : inherit(host, group, "cpuset.mems");
}

static int read_usage(const struct cgroup_files *files, uint64_t *ret_ns)
{
	return file_pread_u64(files->usage, ret_ns);
}

static int read_limit(const struct cgroup_files *files, struct cgroup_limit *ret_limit)
{
	char text[24];
	int64_t quota;
	uint64_t period;
	int r;

	r = file_pread_text(files->limit, text, sizeof(text));
	if (r < 0)
		return r;
	/* The kernel shows -1 for no limit, and never 0. */
	r = parse_int(text, -1, INT64_MAX, &quota);
	if (r < 0 || quota == 0)
		return -EINVAL;
	r = file_pread_u64(files->period, &period);
	if (r < 0 || period == 0)
		return r < 0 ? r : -EINVAL;
	*ret_limit = (struct cgroup_limit){
		.quota_us = quota < 0 ? 0 : quota,
		.period_us = (int64_t)period,
	};
	return 0;
}

/* Quota and period are two files, and the kernel compares each write with the parent's limit. The
 * write that makes the limit smaller must be first. */
static int write_limit(const struct cgroup_files *files, const struct cgroup_limit *limit)
{
	uint64_t period;
	int r;

	r = file_pread_u64(files->period, &period);
	if (r == 0 && (uint64_t)limit->period_us > period)
		r = file_pwrite_i64(files->period, limit->period_us);
	if (r == 0)
		r = file_pwrite_i64(files->limit, limit->quota_us);
	if (r == 0 && (uint64_t)limit->period_us < period)
		r = file_pwrite_i64(files->period, limit->period_us);
	return r;
}

const struct cgroup_version cgroup_v1 = {
	.number = 1,
	.usage_file = "cpuacct.usage",
	.limit_file = "cpu.cfs_quota_us",
	.period_file = "cpu.cfs_period_us",
	.burst_file = "cpu.cfs_burst_us",
	.weight_file = "cpu.shares",
	.cpus_file = "cpuset.cpus",
	.heaviest = "262144",
	.default_weight = 1024,
	.weight_of_1_pct = 2503, /* a prime: no round weight of an operator is a multiple */
	.settle = settle,
	.read_usage = read_usage,
	.read_limit = read_limit,
	.write_limit = write_limit,
};
