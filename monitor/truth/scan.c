/* SPDX-License-Identifier: MIT */
/* See scan.h. The table of processes is sorted by pid, as the kernel lists them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/xalloc.h"
#include "monitor/truth/scan.h"

#define PROC_MAGIC 0x9fa0
/* Link of ns/pid in the first PID namespace (PROC_PID_INIT_INO of the kernel) */
#define HOST_NAMESPACE "pid:[4026531836]"
#define PROBE_LINKS    4 /* cost of reading a text, in links */

struct process {
	pid_t pid;
	unsigned age;  /* samples since it was first seen */
	bool is_old;   /* it existed in the first sample */
	bool due;      /* scan_hurry(), or the last sample could not read all of its links */
	bool searched; /* to the end, at least once */
	long at;       /* position in its folder at which the search continues */
	uint16_t found[SCAN_VERDICTS]; /* in the last search */
};

struct scan {
	int proc;
	DIR *listing; /* of @proc, kept open */
	bool primed;
	bool truncated;			  /* see struct scan_tally */
	struct process *processes, *next; /* next: the table that list_processes() fills in */
	int n;
	int cursor; /* index of the process to search first, so that each one gets its turn */
};

int scan_new(const char *proc, struct scan **ret_scan)
{
	struct scan *scan = xcalloc(1, sizeof(*scan));
	int r;

	scan->processes = xcalloc(SCAN_PROCESSES_MAX, sizeof(*scan->processes));
	scan->next = xcalloc(SCAN_PROCESSES_MAX, sizeof(*scan->next));
	scan->listing = opendir(proc);
	r = scan->listing ? 0 : -errno;
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
	scan->truncated = false;
	for (errno = 0; (entry = readdir(scan->listing)); errno = 0) {
		int64_t pid;

		if (parse_int(entry->d_name, 1, INT32_MAX, &pid) < 0)
			continue;
		scan->truncated = n == SCAN_PROCESSES_MAX;
		if (scan->truncated)
			break;
		table[n++] = (struct process){.pid = (pid_t)pid, .is_old = !scan->primed};
	}
	if (!entry && errno)
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

/* True if the last search found anything that concerns this GPU. */
static bool has_finding(const struct process *process)
{
	for (int i = 0; i < SCAN_VERDICTS; i++)
		if (i != SCAN_OTHER && process->found[i])
			return true;
	return false;
}

static bool is_due(const struct process *process)
{
	unsigned age = process->age, place = (unsigned)process->pid;

	if (process->due || (age & (age - 1)) == 0) /* 0, 1, 2, 4, 8... */
		return true;
	return (age + place) % (has_finding(process) ? SCAN_GPU_PERIOD : SCAN_OLD_PERIOD) == 0;
}

/* True if the path of a descriptor is that of a DRM node, which a container may have elsewhere. */
static bool is_node(const char *path)
{
	return strstr(path, "/dri/") != NULL;
}

/* Sockets, pipes and the like are no DRM files. */
static bool may_be_node(const char *path)
{
	static const char *const others[] = {"/dev/null", "/dev/pts/", "/dev/shm/", "/memfd:"};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strncmp(path, others[i], strlen(others[i])) == 0)
			return false;
	return path[0] == '/';
}

static void add(struct process *process, enum scan_verdict verdict)
{
	unsigned most = verdict == SCAN_DENIED ? 1 : UINT16_MAX; /* a process is denied once */

	process->found[verdict] += process->found[verdict] < most;
}

/* The process, or one of its threads, whose descriptors a search reads. */
struct search {
	const struct scan *scan;
	struct process *process;
	pid_t task;
	scan_found_fn found;
	void *userdata;
	int links, links_max;
};

static bool is_over(int error)
{
	return error == ENOENT || error == ESRCH;
}

/* Examines the descriptor @name in the folder @fd. */
static void examine(struct search *search, int fd, const char *name)
{
	char path[PATH_MAX];
	int64_t number;
	ssize_t n;

	if (parse_int(name, 0, INT32_MAX, &number) < 0)
		return;
	search->links++;
	n = readlinkat(fd, name, path, sizeof(path) - 1);
	if (n < 0) {
		/* With CAP_DAC_READ_SEARCH alone, the folder can be read, but not its links. */
		if (!is_over(errno))
			search->process->found[SCAN_DENIED] = 1;
		return;
	}
	path[n] = '\0';
	if (!may_be_node(path))
		return;
	search->links += is_node(path) ? 0 : PROBE_LINKS - 1;
	add(search->process, search->found(search->userdata, search->task, (int)number,
					   !search->process->is_old, is_node(path)));
}

/* Opens the folder @name of a process; NULL with errno. */
static DIR *open_folder(const struct scan *scan, pid_t pid, const char *name)
{
	char path[32];
	int fd;
	DIR *dir;

	snprintf(path, sizeof(path), "%d/%s", (int)pid, name);
	fd = openat(scan->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

/* Reads the folder of the task from the position process->at. */
static void read_folder(struct search *search)
{
	struct process *process = search->process;
	DIR *dir = open_folder(search->scan, search->task, "fd");
	const struct dirent *entry = NULL;

	if (!dir) {
		process->found[SCAN_DENIED] = !is_over(errno);
		process->at = 0;
		return;
	}
	if (process->at)
		seekdir(dir, process->at);
	while (search->links < search->links_max && (entry = readdir(dir)))
		examine(search, dirfd(dir), entry->d_name);
	process->at = entry ? telldir(dir) : 0;
	closedir(dir);
}

/* Returns another thread of the process; 0: none. */
static pid_t find_thread(const struct scan *scan, pid_t pid)
{
	DIR *dir = open_folder(scan, pid, "task");
	const struct dirent *entry;
	int64_t task = 0;

	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		if (parse_int(entry->d_name, 1, INT32_MAX, &task) == 0 && task != pid)
			break;
	closedir(dir);
	return entry ? (pid_t)task : 0;
}

/* Reads links up to the limit of @search. A process that has ended has none. */
static void search_process(struct search *search)
{
	struct process *process = search->process;
	bool begins = process->at == 0;
	pid_t thread = 0;

	if (begins)
		memset(process->found, 0, sizeof(process->found));
	read_folder(search);
	/* If the first thread has ended, the others still have the descriptors. */
	if (begins && search->links == 0 && !process->found[SCAN_DENIED])
		thread = find_thread(search->scan, process->pid);
	if (thread) {
		search->task = thread;
		read_folder(search);
	}
	process->due = process->at != 0;
	process->searched |= !process->due;
}

int scan_run(struct scan *scan, scan_found_fn found, void *userdata)
{
	int r = list_processes(scan), left = SCAN_LINKS_MAX, next = -1;

	if (r < 0)
		return r;
	for (int i = 0; i < scan->n; i++) {
		int at = (scan->cursor + i) % scan->n;
		struct process *process = &scan->processes[at];
		struct search search = {.scan = scan,
					.process = process,
					.task = process->pid,
					.found = found,
					.userdata = userdata,
					.links_max = left};

		if (!is_due(process))
			continue;
		process->due = true;
		if (left > 0)
			search_process(&search);
		left -= search.links;
		if (process->due && next < 0)
			next = at;
	}
	scan->cursor = next < 0 ? 0 : next;
	return 0;
}

void scan_count(const struct scan *scan, struct scan_tally *ret_tally)
{
	*ret_tally = (struct scan_tally){.truncated = scan->truncated};
	for (int i = 0; i < scan->n; i++) {
		const struct process *process = &scan->processes[i];

		for (int k = 0; k < SCAN_VERDICTS; k++)
			ret_tally->found[k] += process->found[k];
		ret_tally->unsearched += !process->searched;
	}
}

/* Returns false if the link exists and is not that of the first PID namespace. */
static bool is_host_namespace(const struct scan *scan, const char *link)
{
	char text[sizeof(HOST_NAMESPACE) + 1];
	ssize_t n = readlinkat(scan->proc, link, text, sizeof(text) - 1);

	if (n < 0)
		return true;
	text[n] = '\0';
	return strcmp(text, HOST_NAMESPACE) == 0;
}

bool scan_lists_all(const struct scan *scan, struct err *ret_problem)
{
	struct statfs fs;

	if (scan->n == 0)
		(void)err_fail(ret_problem, ENODATA, "proc lists no process");
	else if (!is_host_namespace(scan, "1/ns/pid") || !is_host_namespace(scan, "self/ns/pid"))
		(void)err_fail(ret_problem, ENODATA,
			       "proc lists only the processes of a PID namespace (run gover-d in "
			       "that of the host)");
	else if (scan->processes[0].pid != 1 && fstatfs(scan->proc, &fs) == 0 &&
		 fs.f_type == PROC_MAGIC)
		(void)err_fail(ret_problem, ENODATA,
			       "proc hides processes (mount option hidepid; CAP_SYS_PTRACE shows "
			       "them)");
	else
		return true;
	return false;
}

void scan_hurry(struct scan *scan, pid_t pid)
{
	struct process key = {.pid = pid}, *process;

	process = bsearch(&key, scan->processes, (size_t)scan->n, sizeof(key), compare);
	if (process)
		process->due = true;
}
