/* SPDX-License-Identifier: MIT */
/*
 * Control groups as softgpu needs them: where they are mounted, groups made and removed in all of
 * their hierarchies at once, a bandwidth limit, the CPU time used. Versions 1 and 2 behind the same
 * calls. Private to softgpu: knows nothing of vGPUs and must never move a process.
 */
#ifndef GPU_CGROUP_H
#define GPU_CGROUP_H

#include <limits.h>
#include <stdint.h>

#include "base/err.h"
#include "gpu/cgroup-limit.h"

#define CGROUP_MOUNTINFO  "/proc/self/mountinfo"
#define CGROUP_MOUNTS_MAX 3

struct cgroup_mount {
	char path[PATH_MAX]; /* where it is */
	char root[PATH_MAX]; /* the group seen there: "/", or a container's own */
};

/* The hierarchies of this host. Groups are named relative to the mounts, without a leading '/'; ""
 * is the top. */
struct cgroup_host {
	const struct cgroup_version *version;
	int n_mounts;
	struct cgroup_mount mounts[CGROUP_MOUNTS_MAX]; /* distinct; [0] has the cpu controller */
	int usage;				       /* the mount that counts CPU time */
	int cpuset;				       /* the mount that pins to cores; -1: none */
};

/* A group's files, kept open. */
struct cgroup_files {
	const struct cgroup_version *version;
	int usage, limit, period, burst; /* period: -1 in version 2; burst: -1 before Linux 5.14 */
};

/* What differs between the versions. */
struct cgroup_version {
	int number;
	const char *usage_file, *limit_file, *period_file, *burst_file;
	const char *weight_file, *cpus_file; /* cpus_file: the cores a group really has */
	const char *heaviest;		     /* the largest weight there is */
	/* Lets groups come below; makes a new group fit for processes. NULL: nothing to do. */
	int (*admit)(const struct cgroup_host *host, const char *group);
	int (*settle)(const struct cgroup_host *host, const char *group);
	int (*read_usage)(const struct cgroup_files *files, uint64_t *ret_ns);
	int (*read_limit)(const struct cgroup_files *files, struct cgroup_limit *ret_limit);
	int (*write_limit)(const struct cgroup_files *files, const struct cgroup_limit *limit);
};
extern const struct cgroup_version cgroup_v1, cgroup_v2;

/* Reads @mountinfo. -EOPNOTSUPP with a sentence: no cpu controller, or none that counts. */
int cgroup_find(const char *mountinfo, struct cgroup_host *ret_host, struct err *reterr);

/* MOUNT/GROUP/FILE (GROUP "" is the top). -ENAMETOOLONG. */
int cgroup_path(const struct cgroup_host *host, int mount, const char *group, const char *file,
		char ret_path[PATH_MAX]);

/* The group above; "" for those at the top. */
void cgroup_parent(const char *group, char ret_parent[PATH_MAX]);

/* Makes one group in every hierarchy. 0: made, 1: stood already. */
int cgroup_make(const struct cgroup_host *host, const char *group, struct err *reterr);
/* Removes it from every hierarchy: all of them tried. -ENOENT: in none; -EBUSY. */
int cgroup_remove(const struct cgroup_host *host, const char *group);
/* Processes in it, groups below not counted; the most in any hierarchy. */
int cgroup_count(const struct cgroup_host *host, const char *group);

typedef int (*cgroup_child_fn)(void *userdata, const char *name);
/* Calls @child for every group directly below until it returns non-zero; returns that. */
int cgroup_each(const struct cgroup_host *host, const char *group, cgroup_child_fn child,
		void *userdata);

/* The group a process is in, out of the text of its /proc/PID/cgroup. -ENOENT: none below us. */
int cgroup_parse_member(const struct cgroup_host *host, const char *text, char ret_group[PATH_MAX]);

int cgroup_open(const struct cgroup_host *host, const char *group, struct cgroup_files *ret_files);
void cgroup_close(struct cgroup_files *files);
int cgroup_write_limit(const struct cgroup_files *files, const struct cgroup_limit *limit);

/* Files of a group outside the hot path: text without its last newline; one write. */
int cgroup_read_file(const char *path, char *text, int size);
int cgroup_write_file(const char *path, const char *text);

/* Lets a group go before everything else on the host when CPU time is short. */
int cgroup_put_first(const struct cgroup_host *host, const char *group);

/* Pins an empty group to @cores whole cores, the last that no sibling has. 1: pinned, 0: that would
 * leave none to the rest of the host, or there is no cpuset. */
int cgroup_pin(const struct cgroup_host *host, const char *group, int cores);
/* Cores that groups here may use at all. */
int cgroup_cores(const struct cgroup_host *host);

#endif
