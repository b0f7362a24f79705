/* SPDX-License-Identifier: MIT */
/*
 * Control groups, version 2 (Documentation/admin-guide/cgroup-v2.rst). Never disables
 * a controller, because other programs may use it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "gpu/cgroup.h"

/* A group has a controller only if its parent enables it for the groups below. */
static int enable_below(const struct cgroup_host *host, const char *group, const char *controller)
{
	char path[PATH_MAX], list[1024];
	int r;

	r = cgroup_path(host, 0, group, "cgroup.subtree_control", path);
	if (r == 0)
		r = file_read_text(path, list, sizeof(list));
	if (r < 0)
		return r;
	for (char *next = list, *word; (word = strsep(&next, " "));)
		if (strcmp(word, controller + 1) == 0)
			return 0;
	return file_write_text(path, controller);
}

static int admit(const struct cgroup_host *host, const char *group)
{
	/*
	 * cpuset is optional: without cpuset the GPU is limited by its quota but not pinned to
	 * cores.
	 */
	if (host->cpuset >= 0)
		(void)enable_below(host, group, "+cpuset");
	return enable_below(host, group, "+cpu");
}

static int read_usage(const struct cgroup_files *files, uint64_t *ret_ns)
{
	static const char key[] = "usage_usec ";
	char text[4096];
	int64_t us;
	int r;

	r = file_pread_text(files->usage, text, sizeof(text));
	if (r < 0)
		return r;
	for (char *next = text, *line; (line = strsep(&next, "\n"));) {
		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		r = parse_int(line + strlen(key), 0, INT64_MAX / 1000, &us);
		if (r < 0)
			return -EINVAL;
		*ret_ns = (uint64_t)us * 1000;
		return 0;
	}
	return -EINVAL;
}

/* Reads "max PERIOD" or "QUOTA PERIOD", in microseconds. */
static int read_limit(const struct cgroup_files *files, struct cgroup_limit *ret_limit)
{
	struct cgroup_limit limit = {0};
	char text[64], *period;
	int r;

	r = file_pread_text(files->limit, text, sizeof(text));
	if (r < 0)
		return r;
	period = strchr(text, ' ');
	if (!period)
		return -EINVAL;
	*period++ = '\0';
	if (strcmp(text, "max") != 0 && parse_int(text, 1, INT64_MAX, &limit.quota_us) < 0)
		return -EINVAL;
	if (parse_int(period, 1, INT64_MAX, &limit.period_us) < 0)
		return -EINVAL;
	*ret_limit = limit;
	return 0;
}

static int write_limit(const struct cgroup_files *files, const struct cgroup_limit *limit)
{
	char text[64];

	snprintf(text, sizeof(text), "%" PRId64 " %" PRId64, limit->quota_us, limit->period_us);
	return file_pwrite_text(files->limit, text);
}

const struct cgroup_version cgroup_v2 = {
	.number = 2,
	.usage_file = "cpu.stat",
	.limit_file = "cpu.max",
	.burst_file = "cpu.max.burst",
	.weight_file = "cpu.weight",
	.cpus_file = "cpuset.cpus.effective",
	.heaviest = "10000",
	.default_weight = 100,
	.weight_of_1_pct = 99,
	.admit = admit,
	.read_usage = read_usage,
	.read_limit = read_limit,
	.write_limit = write_limit,
};
