/* SPDX-License-Identifier: MIT */
/*
 * Finds the DRM files of processes in a proc file system at a bounded cost. A new process is
 * searched in the first samples of its life and less often when it is older, because a program
 * opens its GPU soon after its start. A process that has such a file is searched more often.
 *
 * A DRM file is found by the text of its fdinfo, because its path is that in the mount namespace of
 * the process, where the node can have any name.
 */
#ifndef MONITOR_TRUTH_SCAN_H
#define MONITOR_TRUTH_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define SCAN_PROCESSES_MAX 32768
/* Links that one sample reads at most; the rest follows in the next samples. */
#define SCAN_LINKS_MAX	8192
#define SCAN_OLD_PERIOD 32 /* samples between two searches of an old process */
#define SCAN_GPU_PERIOD 8  /* the same, of one with a DRM file of this GPU or an error */

struct scan;

/* What a descriptor is. */
enum scan_verdict {
	SCAN_OTHER,   /* not a DRM file of this GPU */
	SCAN_CLIENT,  /* a DRM file of this GPU */
	SCAN_REFUSED, /* its text is malformed */
	SCAN_MUTE,    /* its text has no usage statistics */
	SCAN_DENIED,  /* it cannot be read */
	SCAN_IGNORED, /* too many clients */
	SCAN_VERDICTS
};

struct scan_tally {
	/* descriptors in the last search of each process; SCAN_DENIED: processes */
	uint64_t found[SCAN_VERDICTS];
	uint64_t unsearched; /* processes that no sample has searched to the end */
	bool truncated;	     /* there are more than SCAN_PROCESSES_MAX processes */
};

/*
 * Returns what descriptor @fd of @pid is. @is_new: the process did not exist in the first sample.
 * @named: the path is that of a DRM node.
 */
typedef enum scan_verdict (*scan_found_fn)(void *userdata, pid_t pid, int fd, bool is_new,
					   bool named);

int scan_new(const char *proc, struct scan **ret_scan);
struct scan *scan_free(struct scan *scan); /* NULL is fine; returns NULL */
/* The descriptor of the proc file system; owned by @scan. */
int scan_proc(const struct scan *scan);

/* Searches the processes that are due. Returns 0 or a negative errno. */
int scan_run(struct scan *scan, scan_found_fn found, void *userdata);
/* What the last searches have found. */
void scan_count(const struct scan *scan, struct scan_tally *ret_tally);
/*
 * Returns false with a message if the proc file system does not list all processes of the host: it
 * belongs to another PID namespace, or hides processes.
 */
bool scan_lists_all(const struct scan *scan, struct err *ret_problem);
/* Searches the process again in the next sample, because its DRM file was closed. */
void scan_hurry(struct scan *scan, pid_t pid);

#endif
