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
#include <unistd.h>

#include "base/cleanup.h"
#include "monitor/truth/meter.h"
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
	bool has_times;	  /* the last text had a class of engines */
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
	bool omits_idle;    /* the driver prints no engine that a client has not used */
	uint64_t passed_ns; /* of this sample */
	struct truth_counts *counts;
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
	state = calloc(1, sizeof(*state));
	if (!state)
		return err_fail(reterr, ENOMEM, "out of memory");
	strcpy(state->device, config->device);
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

static bool is_ours(const struct truth_state *state, const struct fdinfo *info)
{
	return strcmp(info->pdev[0] ? info->pdev : info->driver, state->device) == 0;
}

/* Returns 0 for a text of this GPU, 1 for another file. */
static int read_file(struct truth_state *state, int fd, struct fdinfo *ret_info)
{
	char text[FDINFO_TEXT_MAX];
	int r = read_text(fd, text, ret_info);

	if (r == -EINVAL || r == -E2BIG)
		state->counts->refused++;
	if (r < 0)
		return r == -ENODATA ? 1 : r;
	return is_ours(state, ret_info) ? 0 : 1;
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
	client->has_times = info->n_engines > 0;
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

	if (!client) {
		state->counts->ignored++;
		return NULL;
	}
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
static void found_file(void *userdata, pid_t pid, int number, bool is_new)
{
	struct truth_state *state = userdata;
	CLEANUP_CLOSE int fd = -1;
	struct client *client;
	struct fdinfo info;
	int tenant;

	if (is_known(state, pid, number))
		return;
	fd = open_file(state, pid, number);
	if (fd < 0 || read_file(state, fd, &info) != 0 || !info.client_valid)
		return;
	if (info.n_engines == 0)
		state->counts->no_times++;
	state->omits_idle |= strcmp(info.driver, "amdgpu") == 0;
	client = find_client(state, info.client);
	if (client && client->pid && client->tenant != TRUTH_TENANT_NONE)
		return;
	tenant = state->tenant(state->userdata, pid);
	if (client && client->pid && tenant == TRUTH_TENANT_NONE)
		return;
	if (!client)
		client = add_client(state, info.client, is_new && state->passed_ns);
	if (!client)
		return;
	set_holder(state, client, pid, number, &fd);
	client->tenant = tenant;
}

/* Returns 0 if the client was read. */
static int read_client(struct truth_state *state, struct client *client, struct fdinfo *ret_info)
{
	CLEANUP_CLOSE int opened = -1;
	int fd = client->fd, r;

	if (fd < 0) {
		fd = opened = open_file(state, client->pid, client->number);
		if (fd < 0)
			return fd;
	}
	r = read_file(state, fd, ret_info);
	/* The number can belong to another file now. */
	if (r == 0 && (!ret_info->client_valid || ret_info->client != client->id))
		r = 1;
	return r;
}

static void read_clients(struct truth_state *state)
{
	struct fdinfo info;
	int n = 0;

	for (int i = 0; i < state->n_clients; i++) {
		struct client *client = &state->clients[i];

		if (client->pid && read_client(state, client, &info) == 0) {
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

static int fdinfo_sample(struct truth_state *state, uint64_t passed_ns, struct truth_sheet *sheet)
{
	bool times = false;
	int r;

	state->passed_ns = passed_ns;
	state->counts = &sheet->counts;
	r = scan_run(state->scan, found_file, state, &sheet->counts.denied);
	if (r < 0)
		return r;
	read_clients(state);
	sheet->n_users = 0;
	for (int i = 0; i < state->n_clients; i++) {
		const struct client *client = &state->clients[i];
		struct truth_user *user = &sheet->users[sheet->n_users];

		if (!client->pid)
			continue;
		sheet->n_users++;
		times |= client->has_times;
		user->pid = client->pid;
		user->tenant = client->tenant;
		user->memory_valid = client->memory_valid;
		user->memory_bytes = client->memory_bytes;
		memcpy(user->grown_ns, client->grown_ns, sizeof(user->grown_ns));
	}
	sheet->times = times || sheet->n_users == 0 || state->omits_idle;
	return 0;
}

const struct truth_source truth_fdinfo = {
	.name = "fdinfo",
	.open = fdinfo_open,
	.close = fdinfo_close,
	.sample = fdinfo_sample,
};
