/* SPDX-License-Identifier: MIT */
/*
 * Finds library files. Tenants control the input, so the numbers of groups and programs are
 * limited.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "monitor/bpf/scan.h"

#define CACHE_MAX  (16u << 20)
#define DEPTH_MAX  4	/* maximum depth of subgroups */
#define GROUPS_MAX 64	/* maximum control groups per vGPU */
#define PIDS_MAX   4096 /* maximum programs of all vGPUs */
#define LOOKS_MAX  256	/* maximum programs examined in one scan */

/*
 * Each of the first scans of a new program examines it, up to this number of scans, because it may
 * load its libraries late.
 */
#define EAGER_LOOKS 5

struct process {
	int pid;
	int scans; /* scans of this process so far */
};

struct fps_bpf_scan {
	char proc[64];
	int looks;			 /* programs examined in this scan */
	struct process before[PIDS_MAX]; /* processes of the previous scan, sorted by pid */
	struct process now[PIDS_MAX];	 /* processes of this scan */
	size_t n_before, n_now;
};

/* --- loader cache of the host (format: sysdeps/generic/dl-cache.h of glibc) --- */

static const char cache_magic[] = "glibc-ld.so.cache1.1";

struct cache_head {
	char magic[sizeof(cache_magic) - 1];
	uint32_t n, names_size;
	uint32_t unused[5];
};

struct cache_entry {
	int32_t flags;
	uint32_t name, path; /* offsets from the head of the cache */
	uint32_t version;
	uint64_t hardware;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool fps_bpf_scan_is_library(const char *name)
{
	static const char *const names[] = {"libGL.so", "libGLX.so", "libEGL.so", "libvulkan.so"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = strlen(names[i]);

		if (strncmp(name, names[i], n) == 0 && (name[n] == '\0' || name[n] == '.'))
			return true;
	}
	return false;
}

int fps_bpf_scan_cache(const char *cache, fps_bpf_found_fn found, void *userdata)
{
	CLEANUP_FREE char *text = NULL;
	struct cache_entry entry;
	struct cache_head head;
	const char *start;
	size_t length;
	int r = file_read(cache, CACHE_MAX, &text, &length);

	if (r < 0)
		return r;
	/* A cache may begin with a header of the old format. */
	start = memmem(text, length, cache_magic, sizeof(head.magic));
	if (!start)
		return -EINVAL;
	length -= (size_t)(start - text);
	if (length < sizeof(head))
		return -EINVAL;
	memcpy(&head, start, sizeof(head));
	if (head.n > (length - sizeof(head)) / sizeof(entry))
		return -EINVAL;
	for (uint32_t i = 0; i < head.n; i++) {
		memcpy(&entry, start + sizeof(head) + i * sizeof(entry), sizeof(entry));
		/* A path ends inside @text, because file_read() adds a NUL after the last byte. */
		if (entry.path < length && fps_bpf_scan_is_library(base_name(start + entry.path)))
			found(userdata, start + entry.path);
	}
	return 0;
}

/* --- mapped files of programs --- */

struct fps_bpf_scan *fps_bpf_scan_new(const char *proc)
{
	struct fps_bpf_scan *scan = xcalloc(1, sizeof(*scan));

	snprintf(scan->proc, sizeof(scan->proc), "%s", proc);
	return scan;
}

struct fps_bpf_scan *fps_bpf_scan_free(struct fps_bpf_scan *scan)
{
	free(scan);
	return NULL;
}

static int process_compare(const void *a, const void *b)
{
	const struct process *left = a, *right = b;

	return (left->pid > right->pid) - (left->pid < right->pid);
}

/*
 * A line is "FROM-TO rwxp OFFSET MAJOR:MINOR INODE PATH". The library is opened through map_files,
 * because PATH may be deleted or belong to a container.
 */
static void examine_line(const struct fps_bpf_scan *scan, int pid, const char *line,
			 fps_bpf_found_fn found, void *userdata)
{
	char range[40], rights[8], path[128];
	const char *name = strchr(line, '/');

	if (!name || sscanf(line, "%39s %7s", range, rights) != 2 || rights[2] != 'x')
		return;
	if (!fps_bpf_scan_is_library(base_name(name)))
		return;
	snprintf(path, sizeof(path), "%s/%d/map_files/%s", scan->proc, pid, range);
	found(userdata, path);
}

static void examine_process(struct fps_bpf_scan *scan, int pid, fps_bpf_found_fn found,
			    void *userdata)
{
	CLEANUP_FREE char *line = NULL;
	char path[96];
	size_t size = 0;
	ssize_t n;
	FILE *maps;

	snprintf(path, sizeof(path), "%s/%d/maps", scan->proc, pid);
	maps = fopen(path, "re");
	if (!maps)
		return; /* the process has exited */
	while ((n = getline(&line, &size, maps)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		examine_line(scan, pid, line, found, userdata);
	}
	(void)fclose(maps);
}

/*
 * Returns true if this scan examines @process: always if the process is new, otherwise
 * periodically.
 */
static bool is_due(const struct process *process)
{
	return process->scans < EAGER_LOOKS ||
	       (process->scans + process->pid) % FPS_BPF_SCAN_ROUND == 0;
}

static void add_process(struct fps_bpf_scan *scan, int pid, fps_bpf_found_fn found, void *userdata)
{
	struct process process = {.pid = pid};
	const struct process *known =
		bsearch(&process, scan->before, scan->n_before, sizeof(process), process_compare);

	if (scan->n_now == PIDS_MAX)
		return;
	if (known)
		process.scans = known->scans;
	if (!is_due(&process)) {
		process.scans++;
	} else if (scan->looks < LOOKS_MAX) {
		scan->looks++;
		process.scans++;
		examine_process(scan, pid, found, userdata);
	}
	scan->now[scan->n_now++] = process;
}

static void scan_programs(struct fps_bpf_scan *scan, const char *folder, fps_bpf_found_fn found,
			  void *userdata)
{
	char path[PATH_MAX];
	FILE *procs;
	int pid;

	if (snprintf(path, sizeof(path), "%s/cgroup.procs", folder) >= (int)sizeof(path))
		return;
	procs = fopen(path, "re");
	if (!procs)
		return;
	while (fscanf(procs, "%d", &pid) == 1)
		if (pid > 0) /* the pid is 0 for a process in another pid namespace */
			add_process(scan, pid, found, userdata);
	(void)fclose(procs);
}

static void scan_tree(struct fps_bpf_scan *scan, const char *folder, int depth, int *groups,
		      fps_bpf_found_fn found, void *userdata)
{
	const struct dirent *entry;
	char below[PATH_MAX];
	DIR *dir;

	if (++*groups > GROUPS_MAX)
		return;
	scan_programs(scan, folder, found, userdata);
	dir = depth < DEPTH_MAX ? opendir(folder) : NULL;
	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
		    snprintf(below, sizeof(below), "%s/%s", folder, entry->d_name) <
			    (int)sizeof(below))
			scan_tree(scan, below, depth + 1, groups, found, userdata);
	(void)closedir(dir);
}

void fps_bpf_scan_begin(struct fps_bpf_scan *scan)
{
	scan->looks = 0;
	scan->n_now = 0;
}

void fps_bpf_scan_group(struct fps_bpf_scan *scan, const char *folder, fps_bpf_found_fn found,
			void *userdata)
{
	int groups = 0;

	scan_tree(scan, folder, 0, &groups, found, userdata);
}

void fps_bpf_scan_end(struct fps_bpf_scan *scan)
{
	qsort(scan->now, scan->n_now, sizeof(scan->now[0]), process_compare);
	memcpy(scan->before, scan->now, scan->n_now * sizeof(scan->now[0]));
	scan->n_before = scan->n_now;
}
