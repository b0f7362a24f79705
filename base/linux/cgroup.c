/* SPDX-License-Identifier: MIT */
/*
 * Control groups of both versions. In version 1 a group exists in several hierarchies at once,
 * because cpu, cpuacct and cpuset can have separate mounts. Callers see only one group. A group
 * that cannot be created in all hierarchies is removed again. Version 1: while a limit changes, it
 * never exceeds the larger of its old and new values (Documentation/admin-guide/cgroup-v1,
 * scheduler/sched-bwc.rst). Version 2: no controller is disabled, because other programs may use it
 * (cgroup-v2.rst). A group is never pinned to all cores: the X server, the daemon and other
 * programs need at least one core.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/linux/cgroup.h"
#include "base/parse.h"

#define LIST_MAX 4096

enum { CPU, CPUACCT, CPUSET, CONTROLLERS };
static const char *const controllers[CONTROLLERS] = {"cpu", "cpuacct", "cpuset"};

static bool list_has(const char *list, char separator, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; p; p = strchr(p, separator)) {
		p += *p == separator;
		if (strncmp(p, word, n) == 0 && (p[n] == separator || p[n] == '\0'))
			return true;
	}
	return false;
}

/* mountinfo contains space, tab, newline and backslash as octal escapes, such as \040. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; to++) {
		if (p[0] == '\\' && p[1] <= '3' && strspn(p + 1, "01234567") >= 3) {
			*to = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 4;
		} else {
			*to = *p++;
		}
	}
	*to = '\0';
}

struct mounts {
	/* mount of each controller of version 1; path "": not mounted */
	struct cgroup_mount of[CONTROLLERS];
	struct cgroup_mount unified;
};

static void note_mount(const char *line, struct mounts *mounts)
{
	const char *rest = strstr(line, " - ");
	char type[16], options[1024];
	struct cgroup_mount mount;

	if (!rest || sscanf(rest, " - %15s %*s %1023s", type, options) != 2 ||
	    sscanf(line, "%*s %*s %*s %4095s %4095s", mount.root, mount.path) != 2)
		return;
	unescape(mount.root);
	unescape(mount.path);
	if (strcmp(type, "cgroup2") == 0 && mounts->unified.path[0] == '\0')
		mounts->unified = mount;
	if (strcmp(type, "cgroup") != 0)
		return;
	for (int c = 0; c < CONTROLLERS; c++)
		if (list_has(options, ',', controllers[c]) && mounts->of[c].path[0] == '\0')
			mounts->of[c] = mount;
}

static int read_mounts(const char *mountinfo, struct mounts *mounts, struct err *reterr)
{
	FILE *file = fopen(mountinfo, "re");
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;

	if (!file)
		return err_fail(reterr, errno, "%s: cannot be read: %m", mountinfo);
	while (getline(&line, &size, file) >= 0)
		note_mount(line, mounts);
	(void)fclose(file);
	return 0;
}

static int add_mount(struct cgroup_host *host, const struct cgroup_mount *mount)
{
	for (int i = 0; i < host->n_mounts; i++)
		if (strcmp(host->mounts[i].path, mount->path) == 0)
			return i;
	host->mounts[host->n_mounts] = *mount;
	return host->n_mounts++;
}

static int use_v1(const struct mounts *mounts, struct cgroup_host *host, struct err *reterr)
{
	const struct cgroup_mount *cpuset = &mounts->of[CPUSET];

	if (mounts->of[CPUACCT].path[0] == '\0')
		return err_fail(reterr, EOPNOTSUPP,
				"control groups: no mounted hierarchy has the cpuacct controller "
				"(mount it next to %s)",
				mounts->of[CPU].path);
	host->version = &cgroup_v1;
	add_mount(host, &mounts->of[CPU]);
	host->usage = add_mount(host, &mounts->of[CPUACCT]);
	/*
	 * If cpuset is not writable, the GPU is not pinned to cores, and only its quota limits it.
	 */
	if (cpuset->path[0] != '\0' && access(cpuset->path, W_OK) == 0)
		host->cpuset = add_mount(host, cpuset);
	return 0;
}

static int use_v2(const struct mounts *mounts, struct cgroup_host *host, struct err *reterr)
{
	char path[PATH_MAX], list[1024] = "";
	int r;

	host->version = &cgroup_v2;
	add_mount(host, &mounts->unified);
	r = cgroup_path(host, 0, "", "cgroup.controllers", path);
	if (r == 0)
		r = file_read_text(path, list, sizeof(list));
	if (r < 0)
		return err_fail(reterr, -r, "%s: cannot be read: %s", path, strerror(-r));
	if (!list_has(list, ' ', "cpu"))
		return err_fail(
			reterr, EOPNOTSUPP,
			"control groups: %s does not list the cpu controller (enable it in the "
			"groups above, or set backend = sim)",
			path);
	if (list_has(list, ' ', "cpuset"))
		host->cpuset = 0;
	return 0;
}

int cgroup_find(const char *mountinfo, struct cgroup_host *ret_host, struct err *reterr)
{
	CLEANUP_FREE struct mounts *mounts = calloc(1, sizeof(*mounts));
	CLEANUP_FREE struct cgroup_host *host = calloc(1, sizeof(*host));
	int r;

	if (!mounts || !host)
		return err_fail(reterr, ENOMEM, "control groups: out of memory");
	host->cpuset = -1;
	r = read_mounts(mountinfo, mounts, reterr);
	if (r < 0)
		return r;
	if (mounts->of[CPU].path[0] != '\0')
		r = use_v1(mounts, host, reterr);
	else if (mounts->unified.path[0] != '\0')
		r = use_v2(mounts, host, reterr);
	else
		r = err_fail(reterr, EOPNOTSUPP,
			     "control groups: none are mounted (mount cgroup2 on "
			     "/sys/fs/cgroup, or set backend = sim)");
	if (r == 0)
		*ret_host = *host;
	return r;
}

bool cgroup_is_group(const char *group)
{
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", group);
	for (char *next = copy, *part; (part = strsep(&next, "/"));)
		if (part[0] == '\0' || strcmp(part, ".") == 0 || strcmp(part, "..") == 0)
			return false;
	return true;
}

int cgroup_path(const struct cgroup_host *host, int mount, const char *group, const char *file,
		char ret_path[PATH_MAX])
{
	int n = snprintf(ret_path, PATH_MAX, "%s%s%s%s%s", host->mounts[mount].path,
			 group[0] ? "/" : "", group, file[0] ? "/" : "", file);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int fail_make(struct err *reterr, int error, const char *path)
{
	if (error == EACCES || error == EPERM || error == EROFS)
		return err_fail(
			reterr, EACCES,
			"%s: the control group cannot be created: %s (run as root, or delegate "
			"the folder above it to this user)",
			path, strerror(error));
	return err_fail(reterr, error, "%s: the control group cannot be created: %s", path,
			strerror(error));
}

void cgroup_parent(const char *group, char ret_parent[PATH_MAX])
{
	const char *slash = strrchr(group, '/');
	size_t n = slash ? (size_t)(slash - group) : 0;

	memcpy(ret_parent, group, n);
	ret_parent[n] = '\0';
}

/*
 * Creates the folders. *ret_made has a bit for each mount in which this function created the
 * folder.
 */
static int make_folders(const struct cgroup_host *host, const char *group, char path[PATH_MAX],
			unsigned int *ret_made)
{
	for (int i = 0; i < host->n_mounts; i++) {
		int r = cgroup_path(host, i, group, "", path);

		if (r < 0)
			return r;
		if (mkdir(path, 0755) == 0)
			*ret_made |= 1U << i;
		else if (errno != EEXIST)
			return -errno;
	}
	return 0;
}

int cgroup_make(const struct cgroup_host *host, const char *group, struct err *reterr)
{
	char path[PATH_MAX] = "", parent[PATH_MAX];
	unsigned int made = 0;
	int r;

	if (strlen(group) >= PATH_MAX)
		return fail_make(reterr, ENAMETOOLONG, "control groups");
	cgroup_parent(group, parent);
	r = host->version->admit ? host->version->admit(host, parent) : 0;
	if (r < 0) {
		(void)cgroup_path(host, 0, parent, "", path);
		return err_fail(
			reterr, r == -EPERM || r == -EROFS ? EACCES : -r,
			"%s: no group with the cpu controller can be created below it: %s (run as "
			"root, or set [gpu] root to a delegated group without processes)",
			path, strerror(-r));
	}
	r = make_folders(host, group, path, &made);
	if (r == 0 && made && host->version->settle)
		r = host->version->settle(host, group);
	if (r < 0) {
		(void)fail_make(reterr, -r, path);
		for (int i = 0; i < host->n_mounts; i++)
			if (made & 1U << i && cgroup_path(host, i, group, "", path) == 0)
				(void)rmdir(path);
		return r == -EPERM || r == -EROFS ? -EACCES : r;
	}
	return made & 1U ? 0 : 1;
}

int cgroup_remove(const struct cgroup_host *host, const char *group)
{
	int result = -ENOENT;

	for (int i = 0; i < host->n_mounts; i++) {
		char path[PATH_MAX];
		int r = cgroup_path(host, i, group, "", path);

		if (r == 0)
			r = rmdir(path) < 0 ? -errno : 0;
		if (r != -ENOENT && (result == -ENOENT || r < 0))
			result = r;
	}
	return result;
}

static int count_lines(const char *path)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[4096];
	int lines = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++)
			lines += text[i] == '\n';
	return n < 0 ? -errno : lines;
}

int cgroup_count(const struct cgroup_host *host, const char *group)
{
	int most = -ENOENT;

	for (int i = 0; i < host->n_mounts; i++) {
		char path[PATH_MAX];
		int r = cgroup_path(host, i, group, "cgroup.procs", path);

		if (r == 0)
			r = count_lines(path);
		if (r < 0 && r != -ENOENT)
			return r;
		if (r > most)
			most = r;
	}
	return most;
}

int cgroup_each(const struct cgroup_host *host, const char *group, cgroup_child_fn child,
		void *userdata)
{
	char path[PATH_MAX];
	int r = cgroup_path(host, 0, group, "", path);
	const struct dirent *entry;
	DIR *folder;

	if (r < 0)
		return r;
	folder = opendir(path);
	if (!folder)
		return -errno;
	for (errno = 0; r == 0 && (entry = readdir(folder)); errno = 0)
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			r = child(userdata, entry->d_name);
	if (r == 0 && errno)
		r = -errno;
	(void)closedir(folder);
	return r;
}

/*
 * @line has the form ID:CONTROLLERS:PATH, in version 2 always 0::PATH. Returns PATH if the line
 * belongs to the hierarchy with the cpu controller, otherwise NULL.
 */
static const char *member_path(const struct cgroup_host *host, char *line)
{
	char *names = strchr(line, ':');
	char *path = names ? strchr(names + 1, ':') : NULL;

	if (!path)
		return NULL;
	*path++ = '\0';
	if (host->version->number == 2)
		return strcmp(line, "0:") == 0 ? path : NULL;
	return list_has(names + 1, ',', "cpu") ? path : NULL;
}

int cgroup_parse_member(const struct cgroup_host *host, const char *text, char ret_group[PATH_MAX])
{
	CLEANUP_FREE char *copy = strdup(text);
	const char *root = host->mounts[0].root;
	const char *path = NULL;
	char *next = copy;
	size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (!copy)
		return -ENOMEM;
	for (char *line; !path && (line = strsep(&next, "\n"));)
		path = member_path(host, line);
	if (!path || strncmp(path, root, n) != 0 || path[n] != '/' || strlen(path) >= PATH_MAX)
		return -ENOENT;
	strcpy(ret_group, path + n + 1);
	return 0;
}

static int open_file(const struct cgroup_host *host, int mount, const char *group, const char *file,
		     int flags)
{
	char path[PATH_MAX];
	int r = cgroup_path(host, mount, group, file, path);

	if (r < 0)
		return r;
	r = open(path, flags | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

int cgroup_open(const struct cgroup_host *host, const char *group, struct cgroup_files *ret_files)
{
	const struct cgroup_version *v = host->version;
	struct cgroup_files files = {
		.version = v, .usage = -1, .limit = -1, .period = -1, .burst = -1, .weight = -1};
	int r;

	r = files.usage = open_file(host, host->usage, group, v->usage_file, O_RDONLY);
	if (r >= 0)
		r = files.limit = open_file(host, 0, group, v->limit_file, O_RDWR);
	if (r >= 0 && v->period_file)
		r = files.period = open_file(host, 0, group, v->period_file, O_RDWR);
	if (r >= 0) {
		r = files.burst = open_file(host, 0, group, v->burst_file, O_RDWR);
		r = r == -ENOENT ? 0 : r; /* kernels before Linux 5.14 do not have this file */
	}
	if (r >= 0) {
		r = files.weight = open_file(host, 0, group, v->weight_file, O_RDWR);
		r = r == -ENOENT ? 0 : r;
	}
	if (r < 0) {
		cgroup_close(&files);
		return r;
	}
	*ret_files = files;
	return 0;
}

void cgroup_close(struct cgroup_files *files)
{
	int *const fds[] = {&files->usage, &files->limit, &files->period, &files->burst,
			    &files->weight};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		cleanup_closep(fds[i]);
		*fds[i] = -1;
	}
}

/*
 * Writes the burst before a smaller quota and after a larger quota, because the kernel rejects a
 * burst that exceeds the quota.
 */
int cgroup_write_limit(const struct cgroup_files *files, const struct cgroup_limit *limit)
{
	uint64_t burst = 0;
	int r = files->burst >= 0 ? file_pread_u64(files->burst, &burst) : 0;

	if (r == 0 && burst > (uint64_t)limit->burst_us)
		r = file_pwrite_i64(files->burst, limit->burst_us);
	if (r == 0)
		r = files->version->write_limit(files, limit);
	if (r == 0 && files->burst >= 0 && burst < (uint64_t)limit->burst_us)
		r = file_pwrite_i64(files->burst, limit->burst_us);
	return r;
}

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
static int v1_settle(const struct cgroup_host *host, const char *group)
{
	int r;

	if (host->cpuset < 0)
		return 0;
	r = inherit(host, group, "cpuset.cpus");
	return r < 0 ? r : inherit(host, group, "cpuset.mems");
}

static int v1_read_usage(const struct cgroup_files *files, uint64_t *ret_ns)
{
	return file_pread_u64(files->usage, ret_ns);
}

static int v1_read_limit(const struct cgroup_files *files, struct cgroup_limit *ret_limit)
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
static int v1_write_limit(const struct cgroup_files *files, const struct cgroup_limit *limit)
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
	.settle = v1_settle,
	.read_usage = v1_read_usage,
	.read_limit = v1_read_limit,
	.write_limit = v1_write_limit,
};

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
	return list_has(list, ' ', controller + 1) ? 0 : file_write_text(path, controller);
}

static int v2_admit(const struct cgroup_host *host, const char *group)
{
	/*
	 * cpuset is optional: without cpuset the GPU is limited by its quota but not pinned to
	 * cores.
	 */
	if (host->cpuset >= 0)
		(void)enable_below(host, group, "+cpuset");
	return enable_below(host, group, "+cpu");
}

static int v2_read_usage(const struct cgroup_files *files, uint64_t *ret_ns)
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
static int v2_read_limit(const struct cgroup_files *files, struct cgroup_limit *ret_limit)
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

static int v2_write_limit(const struct cgroup_files *files, const struct cgroup_limit *limit)
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
	.admit = v2_admit,
	.read_usage = v2_read_usage,
	.read_limit = v2_read_limit,
	.write_limit = v2_write_limit,
};
