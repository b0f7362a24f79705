/* SPDX-License-Identifier: MIT */
/*
 * gover-arbiter: the process that gives programs turns on a compute device. See gover-arbiter(8).
 * Two sockets: clients (programs under libgover-cl.so) connect to one; gover-d and its tools, which
 * send one request and get one reply, to the other, which only the user of the arbiter can open.
 * One thread, one loop: it reads the pages of the clients when the bell rings or a time has come,
 * and never waits for a client.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/linux/cgroup.h"
#include "base/linux/process.h"
#include "base/terminal/cmdline.h"
#include "base/unix-listener.h"
#include "compute/arbiter/arbiter.h"
#include "compute/channel/control.h"
#include "compute/channel/memfd.h"
#include "compute/channel/message.h"
#include "compute/channel/wire.h"
#include "compute/server/accelerator.h"

#define MS_NS 1000000.0

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_IN_USE = 3 };

#define PENDING_MAX	 64	     /* connections without a hello */
#define CONTROLS_MAX	 16	     /* connections of gover-d and tools */
#define HELLO_NS	 1000000000u /* a connection without a hello ends after this time */
#define BACKLOG		 128
#define EVENTS_AT_ONCE	 64
#define CLIENTS_AT_ONCE	 64
#define CONTROLS_AT_ONCE 16
#define DESCRIPTORS_MAX	 2048 /* each client has two, and others come and go */
#define NICENESS	 -10  /* the device waits while the arbiter does not run */
#define GROUP_TEXT_MAX	 16384
#define REFUSAL_LOG_NS	 60000000000u
#define NAMES_NS	 1000000000u /* between two checks of the names of the sockets */
/*
 * The least time between two turns of the loop. A client can ring at any rate; this bounds the CPU
 * time that it costs the host.
 */
#define GAP_NS 20000

struct server_options {
	const char *socket; /* path for clients; see compute_control_path() */
	const char *name;   /* of the device */
	const struct arbiter_discipline *discipline; /* NULL: the default */
	uint64_t slice_ns;			     /* 0: the default */
};

/* --- the sockets and the loop --- */

enum watch {
	WATCH_CLIENTS,
	WATCH_CONTROLS,
	WATCH_BELL,
	WATCH_TIMER,
	WATCH_SIGNALS,
	WATCH_CONNECTION
};

/* What epoll watches. The first member of everything that has a descriptor in the loop. */
struct watched {
	enum watch kind;
	int fd;
};

struct connection {
	struct watched watched;
	struct connection *next;
	bool is_control;
	bool ended; /* closed; freed at the end of the turn of the loop */
	uint64_t accepted_ns;
	struct accelerator_client *client; /* NULL before the hello, and for control connections */
	int schedstat_fd;		   /* until it is given to the client; -1: none */
	char group[COMPUTE_ID_MAX];	   /* control group of the process; "": unknown */
};

struct server {
	struct accelerator *accelerator;
	int epoll;
	struct watched own[WATCH_CONNECTION]; /* by their kinds */
	const char *clients_path;
	char controls_path[COMPUTE_CONTROL_PATH_MAX];
	/* by WATCH_CLIENTS and WATCH_CONTROLS */
	struct unix_listener names[WATCH_CONTROLS + 1];
	struct err name_problems[WATCH_CONTROLS + 1]; /* logged; "": the name is bound */
	uint64_t names_ns;			      /* time of the next check of the names */
	uint64_t idle_ns; /* fps_process_clock_ns() when no client waited to be accepted */
	struct cgroup_host groups;
	bool has_groups; /* @groups is valid: the host has control groups */
	struct connection *connections;
	unsigned int n_pending, n_controls;
	uint64_t refusal_logged_ns;
};

static uint64_t clock_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int watch(struct server *server, struct watched *watched)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = watched};

	return epoll_ctl(server->epoll, EPOLL_CTL_ADD, watched->fd, &event) < 0 ? -errno : 0;
}

static struct connection *add_connection(struct server *server, int fd, bool is_control)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	if (!connection) {
		(void)close(fd);
		return NULL;
	}
	connection->watched = (struct watched){WATCH_CONNECTION, fd};
	connection->is_control = is_control;
	connection->accepted_ns = clock_ns();
	connection->schedstat_fd = -1;
	if (watch(server, &connection->watched) < 0) {
		(void)close(fd);
		free(connection);
		return NULL;
	}
	connection->next = server->connections;
	server->connections = connection;
	return connection;
}

static void end_connection(struct server *server, struct connection *connection)
{
	if (connection->ended)
		return;
	connection->ended = true;
	if (connection->client)
		accelerator_disconnect(server->accelerator, connection->client, clock_ns());
	else if (connection->is_control)
		server->n_controls--;
	else
		server->n_pending--;
	cleanup_closep(&connection->schedstat_fd);
	(void)close(connection->watched.fd);
}

/* Events of this turn of the loop may still point to connections that ended in it. */
static void free_ended(struct server *server)
{
	struct connection **at = &server->connections, *connection;

	while ((connection = *at) != NULL) {
		if (!connection->ended) {
			at = &connection->next;
			continue;
		}
		*at = connection->next;
		free(connection);
	}
}

/* Binds the socket of @kind. */
static int open_socket(struct server *server, enum watch kind, struct err *reterr)
{
	struct unix_listener *name = &server->names[kind];
	int fd = kind == WATCH_CLIENTS ? unix_listener_open_for_programs(server->clients_path,
									 BACKLOG, name, reterr)
				       : unix_listener_open(server->controls_path, SOCK_SEQPACKET,
							    0600, BACKLOG, name, reterr);

	server->own[kind].fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

static int open_sockets(struct server *server, const struct server_options *options,
			struct err *reterr)
{
	int r = compute_control_path(options->socket, server->controls_path);

	if (r < 0)
		return err_fail(
			reterr, -r, "socket %s: the path is too long (allowed: 1..%zu bytes)",
			options->socket, COMPUTE_CONTROL_PATH_MAX - sizeof(COMPUTE_CONTROL_SUFFIX));
	server->clients_path = options->socket;
	/* The control socket first: the second arbiter of a device fails before it has clients. */
	r = open_socket(server, WATCH_CONTROLS, reterr);
	return r < 0 ? r : open_socket(server, WATCH_CLIENTS, reterr);
}

static int watch_again(struct server *server, enum watch kind, struct err *reterr)
{
	struct watched *own = &server->own[kind];
	const char *path = server->names[kind].path;
	int r = watch(server, own);

	if (r == 0) {
		syslog(LOG_WARNING, "%s was removed by another program, and made again", path);
		return 0;
	}
	r = err_fail(reterr, -r, "cannot watch %s: %s", path, strerror(-r));
	unix_listener_remove(&server->names[kind]);
	cleanup_closep(&own->fd);
	own->fd = -1;
	return r;
}

/* Binds the socket of @kind again if another program has removed its name, or if the last attempt
 * failed. Returns 0 or a negative errno. */
static int keep_socket(struct server *server, enum watch kind)
{
	struct err *logged = &server->name_problems[kind], problem = {""};
	struct watched *own = &server->own[kind];
	int r;

	if (unix_listener_is_lost(&server->names[kind])) {
		server->names[kind] = (struct unix_listener){.ino = 0};
		cleanup_closep(&own->fd);
		own->fd = -1;
	}
	if (own->fd >= 0)
		return 0;
	if (kind == WATCH_CLIENTS)
		server->idle_ns = fps_process_clock_ns();
	r = open_socket(server, kind, &problem);
	if (r == 0)
		r = watch_again(server, kind, &problem);
	if (problem.msg[0] && strcmp(problem.msg, logged->msg) != 0)
		syslog(LOG_ERR, "%s (tried again every second)", problem.msg);
	*logged = problem;
	return r;
}

/*
 * Returns -EADDRINUSE if another arbiter has taken the socket for clients: two arbiters of a device
 * would both give turns. The control socket may belong to an arbiter that is about to end, because
 * it cannot have this one.
 */
static int keep_sockets(struct server *server, uint64_t now_ns)
{
	if (now_ns < server->names_ns)
		return 0;
	server->names_ns = now_ns + NAMES_NS;
	(void)keep_socket(server, WATCH_CONTROLS);
	return keep_socket(server, WATCH_CLIENTS) == -EADDRINUSE ? -EADDRINUSE : 0;
}

static int open_accelerator(struct server *server, const struct server_options *options,
			    struct err *reterr)
{
	const struct accelerator_options device = {
		.name = options->name,
		.discipline = options->discipline,
		.slice_ns = options->slice_ns,
	};
	int r = accelerator_new(&device, clock_ns(), &server->accelerator);

	if (r < 0)
		return err_fail(reterr, -r, "cannot create the beacon: %s", strerror(-r));
	server->own[WATCH_BELL].fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->own[WATCH_BELL].fd < 0)
		return err_fail(reterr, errno, "cannot create the bell: %s", strerror(errno));
	return 0;
}

/* Ends all connections and removes the sockets. Accepts NULL. */
static void server_close(struct server *server)
{
	if (!server)
		return;
	/* The names first: a client that connects again must not find this arbiter. */
	unix_listener_remove(&server->names[WATCH_CLIENTS]);
	unix_listener_remove(&server->names[WATCH_CONTROLS]);
	for (struct connection *c = server->connections; c; c = c->next)
		end_connection(server, c);
	free_ended(server);
	accelerator_free(server->accelerator);
	for (size_t i = 0; i < WATCH_CONNECTION; i++)
		cleanup_closep(&server->own[i].fd);
	cleanup_closep(&server->epoll);
	free(server);
}

/*
 * Opens the sockets: from now on clients can connect, but wait for server_run(). Returns 0, or a
 * negative errno with a message. -EADDRINUSE: another arbiter serves the socket.
 */
static int server_open(const struct server_options *options, struct server **ret_server,
		       struct err *reterr)
{
	struct server *server = calloc(1, sizeof(*server));
	int r;

	if (!server)
		return err_fail(reterr, ENOMEM, "%s", strerror(ENOMEM));
	server->epoll = -1;
	for (size_t i = 0; i < WATCH_CONNECTION; i++)
		server->own[i] = (struct watched){(enum watch)i, -1};
	server->idle_ns = fps_process_clock_ns();
	server->has_groups = cgroup_find(CGROUP_MOUNTINFO, &server->groups, NULL) == 0;
	r = open_accelerator(server, options, reterr);
	if (r == 0)
		r = open_sockets(server, options, reterr);
	if (r < 0) {
		server_close(server);
		return r;
	}
	*ret_server = server;
	return 0;
}

/* Best effort: the arbiter also works without. */
static void claim_resources(void)
{
	struct rlimit files;

	(void)setpriority(PRIO_PROCESS, 0, NICENESS);
	(void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= DESCRIPTORS_MAX)
		return;
	files.rlim_cur = files.rlim_max < DESCRIPTORS_MAX ? files.rlim_max : DESCRIPTORS_MAX;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

static int open_loop(struct server *server)
{
	sigset_t signals;
	int r = 0;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	server->epoll = epoll_create1(EPOLL_CLOEXEC);
	server->own[WATCH_TIMER].fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	server->own[WATCH_SIGNALS].fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (server->epoll < 0 || server->own[WATCH_TIMER].fd < 0 ||
	    server->own[WATCH_SIGNALS].fd < 0)
		return -errno;
	for (size_t i = 0; i < WATCH_CONNECTION && r == 0; i++)
		r = watch(server, &server->own[i]);
	return r;
}

static void take_count(int fd)
{
	uint64_t count;

	(void)!read(fd, &count, sizeof(count));
}

/* Finds the control group of process @pid. "": unknown. */
static void find_group(const struct server *server, pid_t pid, char ret_group[COMPUTE_ID_MAX])
{
	char path[64], text[GROUP_TEXT_MAX], group[PATH_MAX];
	CLEANUP_CLOSE int fd = -1;

	ret_group[0] = '\0';
	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!server->has_groups || fd < 0 || file_pread_text(fd, text, sizeof(text)) < 0 ||
	    cgroup_parse_member(&server->groups, text, group) < 0 ||
	    strlen(group) + 2 > COMPUTE_ID_MAX)
		return;
	ret_group[0] = '/';
	strcpy(ret_group + 1, group);
}

/*
 * Reads what identifies the process at the other end. A program belongs to the control group that
 * it is in when it connects. Returns 0 or a negative errno.
 */
static int identify(struct server *server, struct connection *connection)
{
	struct fps_process process;
	char path[64];
	int r = fps_process_open(connection->watched.fd, server->idle_ns, &process);

	if (r < 0)
		return r;
	if (process.pid > 0) {
		find_group(server, process.pid, connection->group);
		(void)snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)process.pid);
		connection->schedstat_fd = open(path, O_RDONLY | O_CLOEXEC);
		/* The files above may be those of a later process with this pid. */
		if (!fps_process_has_pid(&process))
			connection->group[0] = '\0';
	}
	fps_process_close(&process);
	return 0;
}

static void log_refusal(struct server *server, const char *name, uint32_t pid, const char *why)
{
	uint64_t now_ns = clock_ns();

	if (server->refusal_logged_ns != 0 && now_ns - server->refusal_logged_ns < REFUSAL_LOG_NS)
		return;
	server->refusal_logged_ns = now_ns;
	syslog(LOG_WARNING,
	       "program %s, process %u: %s; it runs without control (logged once a minute)", name,
	       pid, why);
}

/* The page of @hello becomes a client. Takes @fd. Returns 0 or a negative errno. */
static int welcome(struct server *server, struct connection *connection, int fd)
{
	int fds[COMPUTE_WELCOME_FDS] = {server->accelerator->beacon_fd, server->own[WATCH_BELL].fd};
	uint64_t now_ns = clock_ns();
	const struct compute_page *page;
	struct compute_welcome reply;
	unsigned int slot;
	int r = compute_memfd_map_page(fd, &page);

	(void)close(fd);
	if (r < 0)
		return r;
	r = accelerator_connect(server->accelerator, connection->group, page,
				connection->schedstat_fd, now_ns, &connection->client);
	connection->schedstat_fd = -1;
	if (r < 0)
		return r;
	/* The client must find a fresh stamp. */
	(void)accelerator_step(server->accelerator, now_ns);
	slot = connection->client->slot;
	compute_message_make_welcome(slot, server->accelerator->beacon->slot[slot].memory_max_bytes,
				     &reply);
	return compute_transfer_send(connection->watched.fd, &reply, sizeof(reply), fds,
				     COMPUTE_WELCOME_FDS);
}

static void read_client(struct server *server, struct connection *connection)
{
	int fds[COMPUTE_TRANSFER_FDS_MAX], n, r;
	struct compute_hello hello;
	char bytes[sizeof(hello) + 1];
	unsigned int n_fds = 0;

	n = compute_transfer_receive(connection->watched.fd, bytes, sizeof(bytes), fds, &n_fds);
	if (n == -EAGAIN || n == -EINTR)
		return;
	/* A client sends nothing after its hello. */
	r = n > 0 && !connection->client
		    ? compute_message_parse_hello(bytes, (size_t)n, n_fds, &hello)
		    : -ECONNRESET;
	if (r == 0) {
		r = welcome(server, connection, fds[0]);
		fds[0] = -1;
		if (r < 0)
			log_refusal(server, hello.name, hello.pid,
				    r == -ENOSPC ? "its tenant has too many programs"
						 : strerrordesc_np(-r));
		if (connection->client)
			server->n_pending--;
	}
	for (unsigned int i = 0; n > 0 && i < n_fds; i++)
		cleanup_closep(&fds[i]);
	if (r < 0)
		end_connection(server, connection);
}

static void accept_client(struct server *server, int fd)
{
	struct connection *connection;

	if (server->n_pending >= PENDING_MAX) {
		(void)close(fd);
		return;
	}
	connection = add_connection(server, fd, false);
	if (!connection)
		return;
	server->n_pending++;
	if (identify(server, connection) < 0)
		end_connection(server, connection);
	else
		read_client(server, connection);
}

static void accept_clients(struct server *server)
{
	for (int i = 0; i < CLIENTS_AT_ONCE; i++) {
		uint64_t before_ns = fps_process_clock_ns();
		int fd = accept4(server->own[WATCH_CLIENTS].fd, NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0 && errno == EAGAIN)
			server->idle_ns = before_ns;
		if (fd < 0)
			return;
		accept_client(server, fd);
	}
}

static void accept_controls(struct server *server)
{
	for (int i = 0; i < CONTROLS_AT_ONCE; i++) {
		int fd = accept4(server->own[WATCH_CONTROLS].fd, NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return;
		if (server->n_controls >= CONTROLS_MAX)
			(void)close(fd);
		else if (add_connection(server, fd, true))
			server->n_controls++;
	}
}

static size_t answer(struct server *server, const char *bytes, size_t size, int *ret_result,
		     struct compute_reply *reply)
{
	struct compute_request request;
	int r = compute_control_parse_request(bytes, size, &request);

	*ret_result = r;
	if (r == 0)
		return accelerator_answer(server->accelerator, &request, clock_ns(), reply);
	if (r == -EPROTO)
		request = (struct compute_request){.tenant = COMPUTE_TENANT_NONE};
	return accelerator_reject(server->accelerator, &request, r, clock_ns(), reply);
}

static void read_control(struct server *server, struct connection *connection)
{
	int fds[COMPUTE_TRANSFER_FDS_MAX], n, result;
	char bytes[sizeof(struct compute_request) + 1];
	struct compute_reply reply;
	unsigned int n_fds = 0;
	size_t size;

	n = compute_transfer_receive(connection->watched.fd, bytes, sizeof(bytes), fds, &n_fds);
	if (n == -EAGAIN || n == -EINTR)
		return;
	for (unsigned int i = 0; n > 0 && i < n_fds; i++)
		(void)close(fds[i]);
	if (n == 0 || (n < 0 && n != -EMSGSIZE)) {
		end_connection(server, connection);
		return;
	}
	size = answer(server, bytes, n > 0 ? (size_t)n : 0, &result, &reply);
	if (compute_transfer_send(connection->watched.fd, &reply, size, NULL, 0) < 0 ||
	    result == -EPROTO)
		end_connection(server, connection);
}

/* Returns false if a signal ends the loop. */
static bool handle(struct server *server, struct watched *watched)
{
	struct connection *connection = (struct connection *)watched;

	switch (watched->kind) {
	case WATCH_CLIENTS:
		accept_clients(server);
		break;
	case WATCH_CONTROLS:
		accept_controls(server);
		break;
	case WATCH_BELL:
	case WATCH_TIMER:
		take_count(watched->fd);
		break;
	case WATCH_SIGNALS:
		return false;
	case WATCH_CONNECTION:
		if (connection->ended)
			break;
		if (connection->is_control)
			read_control(server, connection);
		else
			read_client(server, connection);
		break;
	}
	return true;
}

static void arm(const struct server *server, uint64_t at_ns)
{
	struct itimerspec when = {0};

	if (server->n_pending > 0 && at_ns == ARBITER_NEVER)
		at_ns = clock_ns() + HELLO_NS;
	if (at_ns > server->names_ns)
		at_ns = server->names_ns;
	when.it_value.tv_sec = (time_t)(at_ns / 1000000000u);
	when.it_value.tv_nsec = (long)(at_ns % 1000000000u);
	(void)timerfd_settime(server->own[WATCH_TIMER].fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void pause_until(uint64_t at_ns)
{
	struct timespec at = {(time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u)};

	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void expire_clients(struct server *server, uint64_t now_ns)
{
	struct connection *connection = server->connections;

	for (; server->n_pending > 0 && connection; connection = connection->next)
		if (!connection->is_control && !connection->client && !connection->ended &&
		    now_ns - connection->accepted_ns > HELLO_NS)
			end_connection(server, connection);
}

/*
 * Serves until SIGTERM or SIGINT, which must be blocked. Can run in a forked child of the process
 * that opened the server. Returns 0, or a negative errno. -EADDRINUSE: another arbiter has taken
 * the socket.
 */
static int server_run(struct server *server)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	uint64_t now_ns, next_ns = ARBITER_NEVER;
	bool running = true;
	int r = open_loop(server);

	if (r < 0)
		return r;
	claim_resources();
	server->names_ns = clock_ns() + NAMES_NS;
	while (running) {
		int n;

		arm(server, next_ns);
		n = epoll_wait(server->epoll, events, EVENTS_AT_ONCE, -1);
		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++)
			running = handle(server, events[i].data.ptr) && running;
		now_ns = clock_ns();
		r = keep_sockets(server, now_ns);
		if (r < 0)
			return r;
		expire_clients(server, now_ns);
		free_ended(server);
		next_ns = accelerator_step(server->accelerator, now_ns);
		pause_until(now_ns + GAP_NS);
	}
	return 0;
}

/* --- the command line and the process --- */

struct arguments {
	struct server_options server;
	bool background;
};

static int fail_usage(const char *option, const char *value, const char *allowed)
{
	fprintf(stderr, "gover-arbiter: --%s %s is not allowed (allowed: %s)\n", option, value,
		allowed);
	return EXIT_USAGE;
}

static int print_list(void *at, const char *value)
{
	(void)at;
	(void)value;
	for (const struct arbiter_discipline *row = arbiter_disciplines; row->name; row++)
		printf("%-10s %s\n", row->name, row->text);
	return EXIT_DONE;
}

static int set_name(void *at, const char *value)
{
	if (strlen(value) == 0 || strlen(value) >= COMPUTE_TEXT_MAX)
		return fail_usage("name", value, "1 to 63 characters");
	*(const char **)at = value;
	return CMDLINE_GO_ON;
}

static int set_discipline(void *at, const char *value)
{
	const struct arbiter_discipline *discipline = arbiter_discipline_find(value);

	if (!discipline)
		return fail_usage("discipline", value, "see --list");
	*(const struct arbiter_discipline **)at = discipline;
	return CMDLINE_GO_ON;
}

static int parse(struct arguments *args, int argc, char *argv[])
{
	double slice_ms = 0;
	const struct cmdline_row rows[] = {
		CMDLINE_LINES("Usage: gover-arbiter [OPTION]...\n"
			      "Give the programs of compute tenants turns on a device.\n"),
		CMDLINE_ROW(WORD, "socket", "PATH", &args->server.socket,
			    "socket for programs (" COMPUTE_SERVED_SOCKET ")"),
		CMDLINE_ROW(CALL, "name", "NAME", &args->server.name, "name of the device (gpu)",
			    .take = set_name),
		CMDLINE_ROW(CALL, "discipline", "NAME", &args->server.discipline,
			    "how turns are given (fair); see --list", .take = set_discipline),
		CMDLINE_ROW(
			REAL, "slice", "MS", &slice_ms, "device time of a turn, 0.1 to 1000 (6)",
			.min = COMPUTE_SLICE_MIN_NS / MS_NS, .max = COMPUTE_SLICE_MAX_NS / MS_NS),
		CMDLINE_ROW(FLAG, "background", NULL, &args->background,
			    "return when the sockets are open, and run as a daemon"),
		CMDLINE_ROW(CALL, "list", NULL, NULL, "print the disciplines", .take = print_list),
		CMDLINE_ENDS,
		CMDLINE_LINES("\nExit status: 0 success, 1 failure, 2 invalid usage, 3 another "
			      "arbiter serves "
			      "the socket.\nSee gover-arbiter(8).\n"),
	};
	int r = cmdline_parse("gover-arbiter", rows, ARRAY_SIZE(rows), "", argc, argv, NULL);

	args->server.slice_ns = (uint64_t)(slice_ms * MS_NS);
	if (r == CMDLINE_GO_ON && optind < argc) {
		fprintf(stderr, "gover-arbiter: argument %s is not allowed; see --help\n",
			argv[optind]);
		return EXIT_USAGE;
	}
	return r;
}

/* stdin and stdout, and stderr of a daemon, must not keep files of the caller open. */
static int detach(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if (dup2(fd, i) < 0)
			return -errno;
	if (fd > STDERR_FILENO)
		(void)close(fd);
	return chdir("/") < 0 ? -errno : 0;
}

/*
 * Forks twice, so that the daemon is no child of the caller. Returns 0 in the daemon, 1 in the
 * caller after the daemon was started, or a negative errno.
 */
static int go_to_background(void)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid > 0) {
		if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
			return -ECHILD;
		return 1;
	}
	if (setsid() < 0)
		_exit(EXIT_FAILED);
	pid = fork();
	if (pid != 0)
		_exit(pid < 0 ? EXIT_FAILED : EXIT_DONE);
	return detach();
}

static void block_signals(void)
{
	static const int ignored[] = {SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE, SIGXFSZ};
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
}

static int serve(struct server *server, const struct arguments *args)
{
	int r;

	openlog("gover-arbiter", LOG_PID | (args->background ? 0 : LOG_PERROR), LOG_DAEMON);
	syslog(LOG_INFO, "%s: turns on device %s, discipline %s", args->server.socket,
	       args->server.name,
	       args->server.discipline ? args->server.discipline->name
				       : arbiter_disciplines[0].name);
	r = server_run(server);
	if (r == -EADDRINUSE)
		syslog(LOG_ERR, "%s: another arbiter serves the socket now; this one ends",
		       args->server.socket);
	else if (r < 0)
		syslog(LOG_ERR, "%s: %s", args->server.socket, strerror(-r));
	else
		syslog(LOG_INFO, "%s: ended by a signal", args->server.socket);
	return r == -EADDRINUSE ? EXIT_IN_USE : r < 0 ? EXIT_FAILED : EXIT_DONE;
}

int main(int argc, char *argv[])
{
	struct arguments args = {.server = {.socket = COMPUTE_SERVED_SOCKET, .name = "gpu"}};
	struct server *server = NULL;
	struct err err;
	int r = parse(&args, argc, argv);

	if (r != CMDLINE_GO_ON)
		return r;
	block_signals();
	r = server_open(&args.server, &server, &err);
	if (r < 0) {
		fprintf(stderr, "gover-arbiter: %s\n", err.msg);
		return r == -EADDRINUSE ? EXIT_IN_USE : EXIT_FAILED;
	}
	r = args.background ? go_to_background() : 0;
	if (r > 0) /* the daemon has the sockets now */
		_exit(EXIT_DONE);
	if (r < 0)
		fprintf(stderr, "gover-arbiter: cannot start the daemon: %s\n", strerror(-r));
	r = r < 0 ? EXIT_FAILED : serve(server, &args);
	server_close(server);
	return r;
}
