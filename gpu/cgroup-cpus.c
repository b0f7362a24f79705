/* SPDX-License-Identifier: MIT */
/*
 * Sets the cores and the CPU weight of a group. Never pins a group to all cores: the X server, the
 * daemon and other programs need at least one core.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/parse.h"
#include "gpu/cgroup.h"

#define LIST_MAX 4096

/* Adds the cores of a list such as "0-2,7" to @cpus. An empty list adds no cores. */
static int parse_cpus(char *text, cpu_set_t *cpus)
{
	if (text[0] == '\0')
		return 0;
	for (char *next = text, *part; (part = strsep(&next, ","));) {
		const char *first = strsep(&part, "-");
		int64_t from, to;

		if (parse_int(first, 0, CPU_SETSIZE - 1, &from) < 0 ||
		    parse_int(part ? part : first, from, CPU_SETSIZE - 1, &to) < 0)
			return -EINVAL;
		for (int64_t i = from; i <= to; i++)
			CPU_SET((size_t)i, cpus);
	}
	return 0;
}

static int read_cpus(const struct cgroup_host *host, const char *group, const char *file,
		     cpu_set_t *ret_cpus)
{
	char path[PATH_MAX], text[LIST_MAX];
	int r = cgroup_path(host, host->cpuset, group, file, path);

	CPU_ZERO(ret_cpus);
	if (r == 0)
		r = file_read_text(path, text, sizeof(text));
	return r < 0 ? r : parse_cpus(text, ret_cpus);
}

static int write_cpus(const struct cgroup_host *host, const char *group, const cpu_set_t *cpus)
{
	char path[PATH_MAX], text[LIST_MAX] = "";
	int r = cgroup_path(host, host->cpuset, group, "cpuset.cpus", path);
	size_t n = 0;

	for (size_t i = 0; r == 0 && i < CPU_SETSIZE && n < sizeof(text); i++)
		if (CPU_ISSET(i, cpus))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%zu", n ? "," : "", i);
	if (n >= sizeof(text))
		return -ENOBUFS;
	return r < 0 ? r : file_write_text(path, text);
}

struct siblings {
	const struct cgroup_host *host;
	const char *parent, *group;
	const cpu_set_t *all;
	cpu_set_t *left;
};

/*
 * Removes the cores of sibling group @name from @left, unless the group can use all cores: such a
 * group is not pinned.
 */
static int subtract_sibling(void *userdata, const char *name)
{
	const struct siblings *siblings = userdata;
	char sibling[PATH_MAX];
	cpu_set_t cpus;
	int r;

	if (snprintf(sibling, sizeof(sibling), "%s/%s", siblings->parent, name) >=
	    (int)sizeof(sibling))
		return -ENAMETOOLONG;
	if (strcmp(sibling, siblings->group) == 0)
		return 0;
	r = read_cpus(siblings->host, sibling, "cpuset.cpus", &cpus);
	if (r < 0 || CPU_EQUAL(&cpus, siblings->all))
		return r == -ENOENT ? 0 : r;
	CPU_AND(&cpus, &cpus, siblings->left);
	CPU_XOR(siblings->left, siblings->left, &cpus);
	return 0;
}

int cgroup_pin(const struct cgroup_host *host, const char *group, int cores)
{
	char parent[PATH_MAX];
	cpu_set_t all, left, ours;
	int r;

	if (host->cpuset < 0)
		return 0;
	cgroup_parent(group, parent);
	r = read_cpus(host, parent, host->version->cpus_file, &all);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	left = all;
	r = cgroup_each(host, parent, subtract_sibling,
			&(struct siblings){host, parent, group, &all, &left});
	if (r < 0)
		return r;
	if (CPU_COUNT(&left) <= cores)
		return 0;
	CPU_ZERO(&ours);
	for (size_t i = CPU_SETSIZE; i-- > 0 && CPU_COUNT(&ours) < cores;)
		if (CPU_ISSET(i, &left))
			CPU_SET(i, &ours);
	r = write_cpus(host, group, &ours);
	return r < 0 ? r : 1;
}

int cgroup_cores_of(const struct cgroup_host *host, const char *group)
{
	cpu_set_t cpus;

	if (host->cpuset >= 0 && read_cpus(host, group, host->version->cpus_file, &cpus) == 0 &&
	    CPU_COUNT(&cpus) > 0)
		return CPU_COUNT(&cpus);
	return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

int cgroup_cores(const struct cgroup_host *host)
{
	return cgroup_cores_of(host, "");
}

int cgroup_maximize_weight(const struct cgroup_host *host, const char *group)
{
	char path[PATH_MAX];
	int r = cgroup_path(host, 0, group, host->version->weight_file, path);

	return r < 0 ? r : file_write_text(path, host->version->heaviest);
}

/* --- the weight as a share --- */

/*
 * The weight of a share of 1 % is chosen so that every whole percent is exact, and so that no share
 * has the weight of a new group: 1024 in version 1 (2..262144), 100 in version 2 (1..10000). The
 * multiples are unusual numbers, because such a weight marks a group of a GPU with guarantees.
 *
 * The table shows the shares of busy loops on one core that were read over 1 s (Linux 6.18, version
 * 1, other programs busy on the same core).
 *
 *	shares          got
 *	10, 30, 60 %    9.6..9.9, 29.6..29.8, 58.5..59.5 %
 *	10, 30 %        25.0..25.2, 74.4..75.0 %
 */

int cgroup_write_share(const struct cgroup_files *files, int pct)
{
	if (files->weight < 0)
		return -EOPNOTSUPP;
	if (pct < 1 || pct > 100)
		return -EINVAL;
	return file_pwrite_i64(files->weight, (int64_t)pct * files->version->weight_of_1_pct);
}

int cgroup_read_share(const struct cgroup_files *files, int *ret_pct)
{
	uint64_t weight, one = (uint64_t)files->version->weight_of_1_pct, pct;
	int r;

	if (files->weight < 0)
		return -EOPNOTSUPP;
	r = file_pread_u64(files->weight, &weight);
	if (r < 0)
		return r;
	if (weight == (uint64_t)files->version->default_weight) {
		*ret_pct = 0;
		return 0;
	}
	pct = weight / one + (weight % one >= (one + 1) / 2);
	*ret_pct = pct < 1 ? 1 : pct > 100 ? 100 : (int)pct;
	return (uint64_t)*ret_pct * one == weight;
}

int cgroup_clear_share(const struct cgroup_files *files)
{
	if (files->weight < 0)
		return -EOPNOTSUPP;
	return file_pwrite_i64(files->weight, files->version->default_weight);
}
