/* SPDX-License-Identifier: MIT */
/*
 * Control groups: finds the mounts, creates and removes a group in all
 * hierarchies at once, sets its bandwidth limit and reads its CPU time. Versions 1 and 2 have the
 * same interface. Never moves a process.
 */
#ifndef BASE_LINUX_CGROUP_H
#define BASE_LINUX_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CGROUP_MOUNTINFO  "/proc/self/mountinfo"
#define CGROUP_MOUNTS_MAX 3

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

struct cgroup_mount {
	char path[PATH_MAX];
	/* group that is mounted at the path: "/", or the group of a container */
	char root[PATH_MAX];
};

/*
 * The hierarchies of this host. Functions take the name of a group relative to the mount, without a
 * leading '/'; "" is the root group.
 */
struct cgroup_host {
	const struct cgroup_version *version;
	int n_mounts;
	/* mounts without duplicates; [0] has the cpu controller */
	struct cgroup_mount mounts[CGROUP_MOUNTS_MAX];
	int usage;  /* index in @mounts of the hierarchy that counts CPU time */
	int cpuset; /* index in @mounts of the hierarchy with cpuset; -1: none is writable */
};

/* The open files of a group. */
struct cgroup_files {
	const struct cgroup_version *version;
	/* fds */
	int usage, limit;
	int period; /* -1 in version 2 */
	int burst;  /* -1 before Linux 5.14 */
	int weight; /* negative: the group has no file for its CPU weight */
};

/* The differences between the versions. */
struct cgroup_version {
	int number;
	/* names of files */
	const char *usage_file, *limit_file, *period_file, *burst_file, *weight_file;
	const char *cpus_file; /* file that lists the cores that the group can use */
	const char *heaviest;  /* the maximum weight as text */
	int default_weight;    /* the weight of a new group */
	int weight_of_1_pct;   /* the weight of a share of 1 % (cgroup_write_share()) */
	/* Prepares @group for the groups that will be created below it. NULL: nothing to do. */
	int (*admit)(const struct cgroup_host *host, const char *group);
	/* Prepares the new group @group so that processes can join it. NULL: nothing to do. */
	int (*settle)(const struct cgroup_host *host, const char *group);
	int (*read_usage)(const struct cgroup_files *files, uint64_t *ret_ns);
	int (*read_limit)(const struct cgroup_files *files, struct cgroup_limit *ret_limit);
	int (*write_limit)(const struct cgroup_files *files, const struct cgroup_limit *limit);
};
extern const struct cgroup_version cgroup_v1, cgroup_v2;

/* Reads @mountinfo. Returns -EOPNOTSUPP with a message if the host has no cpu controller or no CPU
 * time accounting. */
int cgroup_find(const char *mountinfo, struct cgroup_host *ret_host, struct err *reterr);

/* Returns true if @group is a path below a mount: names with '/' between them, none "." or "..". */
bool cgroup_is_group(const char *group);

/* Writes the path MOUNT/GROUP/FILE. Returns -ENAMETOOLONG if the path is too long. */
int cgroup_path(const struct cgroup_host *host, int mount, const char *group, const char *file,
		char ret_path[PATH_MAX]);

/* Writes the name of the parent of @group; "" is the root group. */
void cgroup_parent(const char *group, char ret_parent[PATH_MAX]);

/* Creates one group in every hierarchy. Returns 0 if the group was created, 1 if it existed
 * already. */
int cgroup_make(const struct cgroup_host *host, const char *group, struct err *reterr);
/*
 * Removes a group from every hierarchy. If this fails in one hierarchy, continues with the others.
 * Returns -ENOENT if no hierarchy has the group, and -EBUSY if the group is in use.
 */
int cgroup_remove(const struct cgroup_host *host, const char *group);
/*
 * Returns the number of processes in the group, not counting groups below it. If the hierarchies
 * differ, returns the maximum.
 */
int cgroup_count(const struct cgroup_host *host, const char *group);

typedef int (*cgroup_child_fn)(void *userdata, const char *name);
/*
 * Calls @child for each group directly below @group. A non-zero result of @child ends the loop and
 * is returned.
 */
int cgroup_each(const struct cgroup_host *host, const char *group, cgroup_child_fn child,
		void *userdata);

/* Finds the group of a process in the text of its /proc/PID/cgroup. Returns -ENOENT if the group is
 * not below the mount. */
int cgroup_parse_member(const struct cgroup_host *host, const char *text, char ret_group[PATH_MAX]);

int cgroup_open(const struct cgroup_host *host, const char *group, struct cgroup_files *ret_files);
void cgroup_close(struct cgroup_files *files);
/* Returns the limit for a group with @cores (>= CGROUP_CORES_MIN) and no groups below it. */
struct cgroup_limit cgroup_limit_for(double cores);

/*
 * Returns the limit for a group that contains other groups. It is chosen so that the limits of
 * those groups take effect first.
 */
struct cgroup_limit cgroup_limit_parent(double cores);

/* Returns the cores that @limit allows; 0: unlimited. */
double cgroup_limit_cores(const struct cgroup_limit *limit);

int cgroup_write_limit(const struct cgroup_files *files, const struct cgroup_limit *limit);

/* Gives a group the maximum CPU weight. */
int cgroup_maximize_weight(const struct cgroup_host *host, const char *group);

/*
 * Pins an empty group to @cores cores. Takes the cores with the highest numbers to which no sibling
 * is pinned. Returns 1 if the group is pinned. Returns 0 if no core would remain for the rest of
 * the host, or if the host has no cpuset.
 */
int cgroup_pin(const struct cgroup_host *host, const char *group, int cores);
/* Returns the number of cores that groups can use. */
int cgroup_cores(const struct cgroup_host *host);
/* Returns the number of cores that @group can use; the cores of the host if it has no cpuset. */
int cgroup_cores_of(const struct cgroup_host *host, const char *group);

/*
 * The CPU weight of a control group as a share in percent. Among sibling groups with work, the
 * kernel divides CPU time in proportion to the weights. So a group gets at least its share if the
 * shares of all siblings together are at most 100 %. CPU time that a sibling does not use is
 * divided among the others in proportion to their shares. This is true for groups that compete for
 * the same cores.
 */

/* Sets the share, 1..100. Returns -EOPNOTSUPP if the group has no weight. */
int cgroup_write_share(const struct cgroup_files *files, int pct);

/*
 * Reads the share, rounded to 1..100. *ret_pct is 0 if the group has the weight of a new group:
 * no share is set, and its guarantee is about 1 %. Returns 1 if the weight is exactly that of a
 * share, 0 if it is not, and -EOPNOTSUPP if the group has no weight.
 */
int cgroup_read_share(const struct cgroup_files *files, int *ret_pct);

/* Gives the group the weight of a new group again. */
int cgroup_clear_share(const struct cgroup_files *files);

#endif
