/* SPDX-License-Identifier: MIT */
/*
 * Host truth from the DRM files of processes. Several descriptors can belong to one DRM file (a
 * client): it is counted once. Each client has one descriptor of /proc/PID/fdinfo that stays open.
 * What a client uses between the last reading and its end is lost.
 *
 * The DRM files of processes are found at a bounded cost. A new process is searched in the first
 * samples of its life and less often when it is older, because a program opens its GPU soon after
 * its start. A process that has such a file is searched more often. A DRM file is found by the text
 * of its fdinfo, because its path is that in the mount namespace of the process, where the node can
 * have any name. The table of processes is sorted by pid, as the kernel lists them.
 *
 * A GPU without a client is idle only if a client would have been seen. That is shown by the DRM
 * file that the control itself opens once, or, where it may not open one, by a driver and a kernel
 * that are known to publish the use of clients.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/xalloc.h"
#include "gpu/drm/device.h"
#include "gpu/drm/fdinfo.h"
#include "gpu/drm/source.h"

#define SCAN_PROCESSES_MAX 32768
/* Links that one sample reads at most; the rest follows in the next samples. */
#define SCAN_LINKS_MAX	8192
#define SCAN_OLD_PERIOD 32 /* samples between two searches of an old process */
#define SCAN_GPU_PERIOD 8  /* the same, of one with a DRM file of this GPU or an error */

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

#define CONTROL_NODES_MAX 8

struct control {
	char sysfs[128];
	char device[FDINFO_NAME_MAX]; /* as in struct truth_config */
	char path[PATH_MAX];	      /* of the device in sysfs; "": not found */
	char driver[FDINFO_NAME_MAX]; /* "": none */
	dev_t nodes[CONTROL_NODES_MAX];
	int n_nodes;
	char render[FDINFO_NAME_MAX]; /* name of its render node; "": none */
	enum control_result {
		CONTROL_OPEN, /* not tested yet, or the render node cannot be opened */
		CONTROL_PASSED,
		CONTROL_FAILED,
	} result;
	unsigned wait; /* samples until the next test */
};

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
	int proc;     /* descriptor of the proc file system, of @listing */
	DIR *listing; /* kept open */
	bool primed;
	bool truncated;			  /* see struct scan_tally */
	struct process *processes, *next; /* next: the table that list_processes() fills in */
	int n;
	int cursor; /* index of the process to search first, so that each one gets its turn */
};

static struct scan *scan_free(struct scan *scan)
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

static int scan_new(const char *proc, struct scan **ret_scan)
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
	if (!dir)
		cleanup_closep(&fd);
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

/* Searches the processes that are due. Returns 0 or a negative errno. */
static int scan_run(struct scan *scan, scan_found_fn found, void *userdata)
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

/* What the last searches have found. */
static void scan_count(const struct scan *scan, struct scan_tally *ret_tally)
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

/*
 * Returns false with a message if the proc file system does not list all processes of the host: it
 * belongs to another PID namespace, or hides processes.
 */
static bool scan_lists_all(const struct scan *scan, struct err *ret_problem)
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

/* Searches the process again in the next sample, because its DRM file was closed. */
static void scan_hurry(struct scan *scan, pid_t pid)
{
	struct process key = {.pid = pid}, *process;

	process = bsearch(&key, scan->processes, (size_t)scan->n, sizeof(key), compare);
	if (process)
		process->due = true;
}

#define RETEST_SAMPLES 64 /* opening a DRM file wakes the GPU */

/* True if @driver of the kernel @release is known to publish the use of clients. */
static bool control_knows(const char *driver, const char *release)
{
	const struct drm_driver *known = device_driver(driver);
	int major = 0, minor = 0;

	if (!known || !known->major || sscanf(release, "%d.%d", &major, &minor) != 2)
		return false;
	return major > known->major || (major == known->major && minor >= known->minor);
}

/* True if the text of a client shows that its driver publishes the use of clients. */
static bool control_has_times(const struct fdinfo *info)
{
	/* amdgpu does not print an engine that the client has never used. */
	return info->client_valid && (info->n_engines > 0 || strcmp(info->driver, "amdgpu") == 0);
}

/* --- the device --- */

/* Finds a device that is not on the PCI bus by the name of its driver. */
static void compare_driver(void *userdata, const struct device *device)
{
	struct control *control = userdata;

	if (strcmp(device->driver, control->device) == 0)
		strcpy(control->path, device->path);
}

/* Adds the DRM node of the folder @path. */
static void add_node(void *userdata, const char *path)
{
	struct control *control = userdata;
	const char *name = strrchr(path, '/') + 1;
	char file[PATH_MAX + sizeof("/dev")];
	CLEANUP_FREE char *text = NULL;
	unsigned int major, minor;

	snprintf(file, sizeof(file), "%s/dev", path);
	if (control->n_nodes == CONTROL_NODES_MAX || file_read(file, 64, &text, NULL) < 0 ||
	    sscanf(text, "%u:%u", &major, &minor) != 2)
		return;
	control->nodes[control->n_nodes++] = makedev(major, minor);
	if (strncmp(name, "renderD", 7) == 0 && strlen(name) < sizeof(control->render))
		strcpy(control->render, name);
}

static bool is_pci(const struct control *control)
{
	return strchr(control->device, ':') != NULL;
}

/* Looks for the device and its driver again. Called once per sample. */
static void control_refresh(struct control *control)
{
	char driver[FDINFO_NAME_MAX], link[PATH_MAX], nodes[PATH_MAX + sizeof("/drm/*")];

	snprintf(link, sizeof(link), "%s/bus/pci/devices/%s", control->sysfs, control->device);
	control->path[0] = '\0';
	if (!is_pci(control))
		device_each(control->sysfs, compare_driver, control);
	else if (!realpath(link, control->path))
		control->path[0] = '\0';
	driver[0] = '\0';
	if (control->path[0])
		device_find_driver(control->path, driver);
	if (strcmp(driver, control->driver) == 0 && control->n_nodes > 0)
		return;
	/* The driver was loaded, unloaded or replaced. */
	if (strcmp(driver, control->driver) != 0) {
		control->result = CONTROL_OPEN;
		control->wait = 0;
	}
	strcpy(control->driver, driver);
	control->n_nodes = 0;
	control->render[0] = '\0';
	snprintf(nodes, sizeof(nodes), "%s/drm/*", control->path);
	if (driver[0])
		(void)file_each_match(nodes, add_node, control);
}

/* Returns 1 if @node is a DRM node of the device, 0 if it is another file, -1 if that is unknown.
 */
static int control_owns(const struct control *control, dev_t node)
{
	for (int i = 0; i < control->n_nodes; i++)
		if (control->nodes[i] == node)
			return 1;
	return control->n_nodes > 0 ? 0 : -1;
}

/* Returns false with a message if the driver counts nothing at present. */
static bool control_counts(const struct control *control, struct err *ret_problem)
{
	char file[PATH_MAX];

	if (!control->driver[0] || !device_is_silent(control->path, file))
		return true;
	(void)err_fail(ret_problem, ENODATA, "driver %s counts no use until 1 is written to %.150s",
		       control->driver, file);
	return false;
}

/* --- the test --- */

/* Reads the text of the DRM file @fd of this process. */
static enum control_result examine_own_file(const struct control *control, int proc, int fd)
{
	char path[48], text[FDINFO_TEXT_MAX];
	CLEANUP_CLOSE int file = -1;
	struct fdinfo info;
	ssize_t n;

	snprintf(path, sizeof(path), "self/fdinfo/%d", fd);
	file = openat(proc, path, O_RDONLY | O_CLOEXEC);
	n = file < 0 ? -1 : read(file, text, sizeof(text));
	if (n < 0)
		return CONTROL_OPEN;
	return fdinfo_parse(text, (size_t)n, &info) == 0 && control_has_times(&info) &&
			       (!is_pci(control) || strcmp(info.pdev, control->device) == 0)
		       ? CONTROL_PASSED
		       : CONTROL_FAILED;
}

static enum control_result test(const struct control *control, int proc)
{
	char path[sizeof("/dev/dri/") + FDINFO_NAME_MAX];
	CLEANUP_CLOSE int fd = -1;
	struct stat node;

	if (!control->render[0])
		return CONTROL_OPEN;
	snprintf(path, sizeof(path), "/dev/dri/%s", control->render);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &node) < 0 || control_owns(control, node.st_rdev) != 1)
		return CONTROL_OPEN;
	return examine_own_file(control, proc, fd);
}

/*
 * Returns false with a message if it is not shown that a client of the device would be seen. @proc:
 * descriptor of the proc file system.
 */
static bool control_publishes(struct control *control, int proc, struct err *ret_problem)
{
	struct utsname host;

	if (control->result == CONTROL_PASSED)
		return true;
	if (!control->path[0]) {
		(void)err_fail(ret_problem, ENODATA, "no GPU %s exists in sysfs", control->device);
		return false;
	}
	if (!control->driver[0]) {
		(void)err_fail(ret_problem, ENODATA, "GPU %s has no driver", control->device);
		return false;
	}
	if (control->wait-- == 0) {
		control->result = test(control, proc);
		control->wait = RETEST_SAMPLES;
	}
	if (control->result == CONTROL_PASSED ||
	    (control->result == CONTROL_OPEN && uname(&host) == 0 &&
	     control_knows(control->driver, host.release)))
		return true;
	(void)err_fail(
		ret_problem, ENODATA,
		control->result == CONTROL_FAILED
			? "driver %s publishes no use of its clients on this kernel"
			: "no client was seen, and driver %s is not known to publish the use "
			  "of clients",
		control->driver);
	return false;
}

#define OPEN_MAX_FILES 128 /* descriptors that stay open; other files are opened each time */
#define FORGET_SAMPLES (2 * SCAN_OLD_PERIOD) /* a client without a holder for so long has ended */

struct client {
	uint64_t id;
	pid_t pid;  /* holder; 0: no process is known to hold it */
	int number; /* of the descriptor in this process */
	int fd;	    /* open fdinfo file; -1: closed */
	int tenant;
	unsigned samples; /* since truth_tenant_fn was called */
	unsigned lost;	  /* samples without a holder */
	bool has_times;	  /* see control_has_times() */
	bool is_new;	  /* its whole use belongs to this sample */
	struct meter meter;
	bool memory_valid;
	uint64_t memory_bytes;
	double grown_ns[TRUTH_CLASSES_MAX];
};

struct truth_state {
	struct scan *scan;
	truth_tenant_fn tenant;
	void *userdata;
	char classes[TRUTH_CLASSES_MAX][FDINFO_NAME_MAX];
	int n_classes;
	struct client clients[TRUTH_USERS_MAX];
	int n_clients;
	int n_open;
	struct control control;
	uint64_t passed_ns; /* of this sample */
	/* in this sample */
	struct truth_counts *counts;
	uint64_t lost[SCAN_VERDICTS]; /* known clients whose texts could not be used */
};

static void fdinfo_close(struct truth_state *state)
{
	if (!state)
		return;
	for (int i = 0; i < state->n_clients; i++)
		cleanup_closep(&state->clients[i].fd);
	scan_free(state->scan);
	free(state);
}

static int fdinfo_open(const struct truth_config *config, struct truth_state **ret_state,
		       struct err *reterr)
{
	struct truth_state *state;
	int r;

	if (config->device[0] == '\0')
		return err_fail(reterr, EOPNOTSUPP,
				"this host has no GPU with a render node (/dev/dri/renderD*)");
	if (strlen(config->device) >= sizeof(state->control.device))
		return err_fail(reterr, EINVAL, "device \"%s\": not a PCI address or a driver",
				config->device);
	state = xcalloc(1, sizeof(*state));
	strcpy(state->control.device, config->device);
	snprintf(state->control.sysfs, sizeof(state->control.sysfs), "%s",
		 config->sysfs ? config->sysfs : "/sys");
	state->tenant = config->tenant;
	state->userdata = config->userdata;
	r = scan_new(config->proc, &state->scan);
	if (r < 0) {
		fdinfo_close(state);
		return err_fail(reterr, -r, "%s: cannot be read: %s", config->proc, strerror(-r));
	}
	*ret_state = state;
	return 0;
}

/* --- reading --- */

/* One read gives the whole text, because the kernel writes it as one record (single_open()). */
static int read_text(int fd, char text[FDINFO_TEXT_MAX], struct fdinfo *ret_info)
{
	ssize_t n = pread(fd, text, FDINFO_TEXT_MAX, 0);

	if (n < 0)
		return -errno;
	return n == FDINFO_TEXT_MAX ? -E2BIG : fdinfo_parse(text, (size_t)n, ret_info);
}

static int open_file(const struct truth_state *state, pid_t pid, int number)
{
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "%d/fdinfo/%d", (int)pid, number);
	fd = openat(state->scan->proc, path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Returns 1 if the descriptor is a DRM file of this GPU, 0: of no or another GPU, -1: unknown. */
static int is_own_node(const struct truth_state *state, pid_t pid, int number)
{
	char path[48];
	struct stat node;

	snprintf(path, sizeof(path), "%d/fd/%d", (int)pid, number);
	if (fstatat(state->scan->proc, path, &node, 0) < 0 || !S_ISCHR(node.st_mode))
		return -1;
	return control_owns(&state->control, node.st_rdev);
}

/* Finds the GPU of a text. Old kernels print no PCI address. */
static enum scan_verdict find_gpu(const struct truth_state *state, const struct fdinfo *info,
				  pid_t pid, int number)
{
	const char *driver = state->control.driver;
	int own;

	if (strcmp(info->pdev[0] ? info->pdev : info->driver, state->control.device) == 0)
		return info->client_valid ? SCAN_CLIENT : SCAN_REFUSED;
	if (info->pdev[0] || (driver[0] && strcmp(info->driver, driver) != 0))
		return SCAN_OTHER;
	own = is_own_node(state, pid, number);
	if (own == 0 || (own < 0 && !driver[0]))
		return SCAN_OTHER;
	return own > 0 && info->client_valid ? SCAN_CLIENT : SCAN_REFUSED;
}

static enum scan_verdict judge_error(const struct truth_state *state, int r, pid_t pid, int number,
				     bool named)
{
	switch (r) {
	case -ENODATA: /* no keys of DRM */
		return named && is_own_node(state, pid, number) ? SCAN_MUTE : SCAN_OTHER;
	case -E2BIG: /* the text of a file with many locks */
		return named ? SCAN_REFUSED : SCAN_OTHER;
	case -EINVAL:
		return SCAN_REFUSED;
	case -ENOENT: /* closed meanwhile, or the process has ended */
	case -ESRCH:
		return SCAN_OTHER;
	default:
		return SCAN_DENIED;
	}
}

/* @fd: the open text, or a negative errno. */
static enum scan_verdict read_file(const struct truth_state *state, int fd, pid_t pid, int number,
				   bool named, struct fdinfo *ret_info)
{
	char text[FDINFO_TEXT_MAX];
	int r = fd < 0 ? fd : read_text(fd, text, ret_info);

	return r < 0 ? judge_error(state, r, pid, number, named)
		     : find_gpu(state, ret_info, pid, number);
}

/* --- clients --- */

static int find_class(struct truth_state *state, const char *name)
{
	for (int i = 0; i < state->n_classes; i++)
		if (strcmp(state->classes[i], name) == 0)
			return i;
	if (state->n_classes == TRUTH_CLASSES_MAX)
		return -1;
	strcpy(state->classes[state->n_classes], name);
	return state->n_classes++;
}

static void count(struct truth_state *state, struct client *client, const struct fdinfo *info)
{
	struct meter_growth growth;

	meter_advance(&client->meter, info, state->passed_ns, client->is_new, &growth);
	client->is_new = false;
	memset(client->grown_ns, 0, sizeof(client->grown_ns));
	for (int i = 0; i < growth.n_engines; i++) {
		int class = find_class(state, growth.engines[i].name);

		if (class < 0)
			state->counts->ignored++;
		else
			client->grown_ns[class] += growth.engines[i].ns;
	}
	client->has_times = control_has_times(info);
	client->memory_valid = info->memory_valid;
	client->memory_bytes = info->memory_bytes;
}

static void drop_file(struct truth_state *state, struct client *client)
{
	if (client->fd >= 0) {
		close(client->fd);
		state->n_open--;
	}
	client->fd = -1;
}

/* The client has no known holder any more. */
static void lose_holder(struct truth_state *state, struct client *client)
{
	drop_file(state, client);
	scan_hurry(state->scan, client->pid);
	client->pid = 0;
	client->lost = 0;
	memset(client->grown_ns, 0, sizeof(client->grown_ns));
}

static void set_holder(struct truth_state *state, struct client *client, pid_t pid, int number,
		       int *fd)
{
	drop_file(state, client);
	client->pid = pid;
	client->number = number;
	client->samples = 0;
	if (state->n_open < OPEN_MAX_FILES) {
		client->fd = steal_fd(fd);
		state->n_open++;
	}
}

static struct client *find_client(struct truth_state *state, uint64_t id)
{
	for (int i = 0; i < state->n_clients; i++)
		if (state->clients[i].id == id)
			return &state->clients[i];
	return NULL;
}

/* Returns the client that has been without a holder for the longest time. NULL: each has one. */
static struct client *find_lost(struct truth_state *state)
{
	struct client *longest = NULL;

	for (int i = 0; i < state->n_clients; i++) {
		struct client *client = &state->clients[i];

		if (!client->pid && (!longest || client->lost > longest->lost))
			longest = client;
	}
	return longest;
}

static struct client *add_client(struct truth_state *state, uint64_t id, bool is_new)
{
	struct client *client = state->n_clients < TRUTH_USERS_MAX
					? &state->clients[state->n_clients++]
					: find_lost(state);

	if (!client)
		return NULL;
	*client =
		(struct client){.id = id, .fd = -1, .tenant = TRUTH_TENANT_NONE, .is_new = is_new};
	return client;
}

/* True if the descriptor that was found is the one that is known. */
static bool is_known(const struct truth_state *state, pid_t pid, int number)
{
	for (int i = 0; i < state->n_clients; i++)
		if (state->clients[i].pid == pid && state->clients[i].number == number)
			return true;
	return false;
}

/*
 * A process has a DRM file. A client that several processes hold belongs to the first of them with
 * a tenant: a display server passes its files on to its clients.
 */
static enum scan_verdict found_file(void *userdata, pid_t pid, int number, bool is_new, bool named)
{
	struct truth_state *state = userdata;
	CLEANUP_CLOSE int fd = -1;
	struct client *client;
	enum scan_verdict verdict;
	struct fdinfo info;
	int tenant;

	if (is_known(state, pid, number))
		return SCAN_CLIENT;
	fd = open_file(state, pid, number);
	verdict = read_file(state, fd, pid, number, named, &info);
	if (verdict != SCAN_CLIENT)
		return verdict;
	client = find_client(state, info.client);
	if (client && client->pid && client->tenant >= 0)
		return SCAN_CLIENT;
	tenant = state->tenant(state->userdata, pid);
	if (client && client->pid && tenant < 0)
		return SCAN_CLIENT;
	if (!client)
		client = add_client(state, info.client, is_new && state->passed_ns);
	if (!client)
		return SCAN_IGNORED;
	set_holder(state, client, pid, number, &fd);
	client->tenant = tenant;
	return SCAN_CLIENT;
}

static enum scan_verdict read_client(const struct truth_state *state, const struct client *client,
				     struct fdinfo *ret_info)
{
	CLEANUP_CLOSE int opened = -1;
	enum scan_verdict verdict;
	int fd = client->fd;

	if (fd < 0)
		fd = opened = open_file(state, client->pid, client->number);
	verdict = read_file(state, fd, client->pid, client->number, /* named= */ false, ret_info);
	/* The number can belong to another file now. */
	return verdict == SCAN_CLIENT && ret_info->client != client->id ? SCAN_OTHER : verdict;
}

static void read_clients(struct truth_state *state)
{
	struct fdinfo info;
	int n = 0;

	for (int i = 0; i < state->n_clients; i++) {
		struct client *client = &state->clients[i];
		enum scan_verdict verdict =
			client->pid ? read_client(state, client, &info) : SCAN_OTHER;

		state->lost[verdict] += verdict != SCAN_CLIENT;
		if (verdict == SCAN_CLIENT) {
			count(state, client, &info);
			if (++client->samples % TRUTH_TENANT_SAMPLES == 0)
				client->tenant = state->tenant(state->userdata, client->pid);
		} else if (client->pid) {
			lose_holder(state, client);
		}
		if (!client->pid && client->lost++ >= FORGET_SAMPLES)
			continue;
		if (n != i)
			state->clients[n] = *client;
		n++;
	}
	state->n_clients = n;
}

static void write_users(const struct truth_state *state, struct truth_sheet *sheet)
{
	sheet->n_users = 0;
	for (int i = 0; i < state->n_clients; i++) {
		const struct client *client = &state->clients[i];
		struct truth_user *user = &sheet->users[sheet->n_users];

		if (!client->pid)
			continue;
		sheet->n_users++;
		sheet->counts.no_times += !client->has_times;
		user->pid = client->pid;
		user->tenant = client->tenant;
		user->memory_valid = client->memory_valid;
		user->memory_bytes = client->memory_bytes;
		memcpy(user->grown_ns, client->grown_ns, sizeof(user->grown_ns));
	}
}

/* The first finding that makes the sum of all clients too small. */
static void check_counts(const struct scan_tally *tally, struct truth_sheet *sheet)
{
	const struct truth_counts *counts = &sheet->counts;
	const struct {
		uint64_t n;
		const char *text;
	} rows[] = {
		{counts->denied, "processes have files that cannot be read (gover-d needs "
				 "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH)"},
		{counts->refused, "DRM files have a text that is malformed or names no client"},
		{counts->no_times, "DRM files of this GPU have no time of use (the driver does not "
				   "publish it on this kernel)"},
		{counts->ignored, "clients or classes of engines exceed the limit"},
		{tally->unsearched, "processes have not been searched yet"},
		{tally->truncated ? SCAN_PROCESSES_MAX : 0,
		 "processes are searched, and the host has more"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows) && !sheet->problem.msg[0]; i++)
		if (rows[i].n > 0)
			(void)err_fail(&sheet->problem, ENODATA, "%llu %s",
				       (unsigned long long)rows[i].n, rows[i].text);
}

/* Decides whether the clients are all clients of this GPU, also if there is none. */
static void check(struct truth_state *state, struct truth_sheet *sheet)
{
	struct truth_counts *counts = &sheet->counts;
	struct scan_tally tally;

	scan_count(state->scan, &tally);
	counts->refused = tally.found[SCAN_REFUSED] + state->lost[SCAN_REFUSED];
	counts->denied = tally.found[SCAN_DENIED] + state->lost[SCAN_DENIED];
	counts->no_times += tally.found[SCAN_MUTE] + state->lost[SCAN_MUTE];
	counts->ignored += tally.found[SCAN_IGNORED];
	if (!scan_lists_all(state->scan, &sheet->problem))
		return;
	check_counts(&tally, sheet);
	if (sheet->problem.msg[0] || !control_counts(&state->control, &sheet->problem))
		return;
	if (sheet->n_users > 0) /* this holds until the driver changes */
		state->control.result = CONTROL_PASSED;
	(void)control_publishes(&state->control, state->scan->proc, &sheet->problem);
}

static int fdinfo_sample(struct truth_state *state, uint64_t now_ns, uint64_t passed_ns,
			 struct truth_sheet *sheet)
{
	int r;

	(void)now_ns;
	sheet->counts = (struct truth_counts){.clients = 0};
	memset(state->lost, 0, sizeof(state->lost));
	state->passed_ns = passed_ns;
	state->counts = &sheet->counts;
	control_refresh(&state->control);
	r = scan_run(state->scan, found_file, state);
	if (r < 0)
		return r;
	read_clients(state);
	write_users(state, sheet);
	check(state, sheet);
	return 0;
}

const struct truth_source truth_fdinfo = {
	.name = "fdinfo",
	.open = fdinfo_open,
	.close = fdinfo_close,
	.sample = fdinfo_sample,
};
