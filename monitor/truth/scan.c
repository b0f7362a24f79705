/* SPDX-License-Identifier: MIT */
/* See scan.h. The table of processes is sorted by pid, as the kernel lists them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "monitor/truth/scan.h"

#define DRM_FOLDER "/dev/dri/"

struct process {
	pid_t pid;
	unsigned age;  /* samples since it was first seen */
	bool has_file; /* of a GPU, in the last search */
	bool is_old;   /* it existed in the first sample */
	bool due;      /* scan_hurry(), or the last sample could not read all of its links */
};

struct scan {
	int proc;
	DIR *listing; /* of @proc, kept open */
	bool primed;
	struct process *processes, *next; /* next: the table that list_processes() fills in */
	int n;
	int cursor; /* index of the process to search first, so that each one gets its turn */
};

int scan_new(const char *proc, struct scan **ret_scan)
{
	struct scan *scan = calloc(1, sizeof(*scan));
	int r;

	if (!scan)
		return -ENOMEM;
	scan->processes = calloc(SCAN_PROCESSES_MAX, sizeof(*scan->processes));
	scan->next = calloc(SCAN_PROCESSES_MAX, sizeof(*scan->next));
	scan->listing = opendir(proc);
	r = scan->listing ? 0 : -errno;
	if (r == 0 && (!scan->processes || !scan->next))
		r = -ENOMEM;
	if (r < 0) {
		scan_free(scan);
		return r;
	}
	scan->proc = dirfd(scan->listing);
	*ret_scan = scan;
	return 0;
}

struct scan *scan_free(struct scan *scan)
{
	if (!scan)
		return NULL;
	if (scan->listing)
		closedir(scan->listing);
	free(scan->processes);
	free(scan->next);
	free(scan);
	return NULL;
}

int scan_proc(const struct scan *scan)
{
	return scan->proc;
}

static int compare(const void *a, const void *b)
{
	pid_t left = ((const struct process *)a)->pid, right = ((const struct process *)b)->pid;

	return (left > right) - (left < right);
}

/* Lists the processes, and copies the states of those that are in the last list too. */
static int list_processes(struct scan *scan)
{
	const struct process *old = scan->processes, *end = old + scan->n;
	struct process *table = scan->next;
	const struct dirent *entry;
	int n = 0;

	rewinddir(scan->listing);
	errno = 0;
	while (n < SCAN_PROCESSES_MAX && (entry = readdir(scan->listing))) {
		int64_t pid;

		if (parse_int(entry->d_name, 1, INT32_MAX, &pid) == 0)
			table[n++] = (struct process){.pid = (pid_t)pid, .is_old = !scan->primed};
	}
	if (n == 0 && errno)
		return -errno;
	/* The kernel lists them in this order, so that this takes no time. */
	for (int i = 1; i < n; i++)
		if (table[i].pid < table[i - 1].pid) {
			qsort(table, (size_t)n, sizeof(*table), compare);
			break;
		}
	for (int i = 0; i < n; i++) {
		while (old < end && old->pid < table[i].pid)
			old++;
		if (old == end || old->pid != table[i].pid)
			continue;
		table[i] = *old;
		table[i].age++;
	}
	scan->next = scan->processes;
	scan->processes = table;
	scan->n = n;
	scan->primed = true;
	return 0;
}

static bool is_due(const struct process *process)
{
	unsigned age = process->age, place = (unsigned)process->pid;

	if (process->due || (age & (age - 1)) == 0) /* 0, 1, 2, 4, 8... */
		return true;
	return (age + place) % (process->has_file ? SCAN_GPU_PERIOD : SCAN_OLD_PERIOD) == 0;
}

/* Reads at most @links_max links. Returns their number, or -EACCES. A process that has ended has
 * none. */
static int search(const struct scan *scan, struct process *process, int links_max,
		  scan_found_fn found, void *userdata)
{
	char path[32], target[sizeof(DRM_FOLDER) - 1];
	const struct dirent *entry;
	int links = 0, fd;
	DIR *dir;

	snprintf(path, sizeof(path), "%d/fd", (int)process->pid);
	fd = openat(scan->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	process->has_file = process->due = false;
	if (fd < 0)
		return errno == EACCES || errno == EPERM ? -EACCES : 0;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return 0;
	}
	while (links < links_max && (entry = readdir(dir))) {
		int64_t number;
		ssize_t n;

		if (parse_int(entry->d_name, 0, INT32_MAX, &number) < 0)
			continue;
		links++;
		n = readlinkat(fd, entry->d_name, target, sizeof(target));
		if (n != sizeof(target) || memcmp(target, DRM_FOLDER, sizeof(target)) != 0)
			continue;
		process->has_file = true;
		found(userdata, process->pid, (int)number, !process->is_old);
	}
	closedir(dir);
	return links;
}

int scan_run(struct scan *scan, scan_found_fn found, void *userdata, uint64_t *denied)
{
	int r = list_processes(scan), left = SCAN_LINKS_MAX, next = -1;

	if (r < 0)
		return r;
	for (int i = 0; i < scan->n; i++) {
		int at = (scan->cursor + i) % scan->n;
		struct process *process = &scan->processes[at];

		if (!is_due(process))
			continue;
		r = left > 0 ? search(scan, process, left, found, userdata) : 0;
		if (r < 0) {
			++*denied;
			continue;
		}
		left -= r;
		/* The process may have more links, except if one sample cannot read them all. */
		if (left == 0 && r < SCAN_LINKS_MAX) {
			process->due = true;
			next = next < 0 ? at : next;
		}
	}
	scan->cursor = next < 0 ? 0 : next;
	return 0;
}

void scan_hurry(struct scan *scan, pid_t pid)
{
	struct process key = {.pid = pid}, *process;

	process = bsearch(&key, scan->processes, (size_t)scan->n, sizeof(key), compare);
	if (process)
		process->due = true;
}
