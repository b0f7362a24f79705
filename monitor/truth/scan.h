/* SPDX-License-Identifier: MIT */
/*
 * Finds the DRM files of processes in a proc file system at a bounded cost. A new process is
 * searched in the first samples of its life and less often when it is older, because a program
 * opens its GPU soon after its start. A process that has such a file is searched more often.
 */
#ifndef MONITOR_TRUTH_SCAN_H
#define MONITOR_TRUTH_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SCAN_PROCESSES_MAX 32768
/* Links that one sample reads at most; the other processes follow in the next samples. Of a process
 * with more descriptors, only so many are searched. */
#define SCAN_LINKS_MAX	8192
#define SCAN_OLD_PERIOD 32 /* samples between two searches of an old process */
#define SCAN_GPU_PERIOD 8  /* the same, of a process that has a DRM file */

struct scan;

/* Descriptor @fd of @pid is a DRM file. @is_new: the process did not exist in the first sample. */
typedef void (*scan_found_fn)(void *userdata, pid_t pid, int fd, bool is_new);

int scan_new(const char *proc, struct scan **ret_scan);
struct scan *scan_free(struct scan *scan); /* NULL is fine; returns NULL */
/* The descriptor of the proc file system; owned by @scan. */
int scan_proc(const struct scan *scan);

/*
 * Searches the processes that are due. Adds to *@denied the number of processes whose descriptors
 * may not be read. Returns 0 or a negative errno.
 */
int scan_run(struct scan *scan, scan_found_fn found, void *userdata, uint64_t *denied);
/* Searches the process again in the next sample, because its DRM file was closed. */
void scan_hurry(struct scan *scan, pid_t pid);

#endif
