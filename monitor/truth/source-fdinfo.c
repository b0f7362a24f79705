/* SPDX-License-Identifier: MIT */
/*
 * Host truth from the DRM files of processes. Several descriptors can belong to one DRM file (a
 * client): it is counted once. Each client has one descriptor of /proc/PID/fdinfo that stays open.
 * What a client uses between the last reading and its end is lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "monitor/truth/control.h"
#include "monitor/truth/fdinfo.h"
#include "monitor/truth/scan.h"
#include "monitor/truth/source.h"

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
	char device[FDINFO_NAME_MAX];
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
		if (state->clients[i].fd >= 0)
			close(state->clients[i].fd);
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
	if (strlen(config->device) >= sizeof(state->device))
		return err_fail(reterr, EINVAL, "device \"%s\": not a PCI address or a driver",
				config->device);
	state = xcalloc(1, sizeof(*state));
	strcpy(state->device, config->device);
	control_init(&state->control, config->sysfs ? config->sysfs : "/sys", config->device);
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
	fd = openat(scan_proc(state->scan), path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Returns 1 if the descriptor is a DRM file of this GPU, 0: of no or another GPU, -1: unknown. */
static int is_own_node(const struct truth_state *state, pid_t pid, int number)
{
	char path[48];
	struct stat node;

	snprintf(path, sizeof(path), "%d/fd/%d", (int)pid, number);
	if (fstatat(scan_proc(state->scan), path, &node, 0) < 0 || !S_ISCHR(node.st_mode))
		return -1;
	return control_owns(&state->control, node.st_rdev);
}

/* Finds the GPU of a text. Old kernels print no PCI address. */
static enum scan_verdict find_gpu(const struct truth_state *state, const struct fdinfo *info,
				  pid_t pid, int number)
{
	const char *driver = state->control.driver;
	int own;

	if (strcmp(info->pdev[0] ? info->pdev : info->driver, state->device) == 0)
		return info->client_valid ? SCAN_CLIENT : SCAN_REFUSED;
	if (info->pdev[0] || (driver[0] && strcmp(info->driver, driver) != 0))
		return SCAN_OTHER;
	own = is_own_node(state, pid, number);
	if (own == 0 || (own < 0 && !driver[0]))
		return SCAN_OTHER;
	return own > 0 && info->client_valid ? SCAN_CLIENT : SCAN_REFUSED;
}

/* The file is a DRM node by its path, but its text has no keys of DRM. */
static enum scan_verdict judge_mute(const struct truth_state *state, pid_t pid, int number)
{
	return is_own_node(state, pid, number) == 0 ? SCAN_OTHER : SCAN_MUTE;
}

static enum scan_verdict judge_error(const struct truth_state *state, int r, pid_t pid, int number,
				     bool named)
{
	switch (r) {
	case -ENODATA:
		return named ? judge_mute(state, pid, number) : SCAN_OTHER;
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
	if (sheet->n_users > 0)
		control_pass(&state->control);
	(void)control_publishes(&state->control, scan_proc(state->scan), &sheet->problem);
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
