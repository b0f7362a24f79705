/* SPDX-License-Identifier: MIT */
/* The loop of the arbiter. */
#include <errno.h>
#include <signal.h>
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
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "compute/server/loop.h"
#include "monitor/fps/process.h"

#define BACKLOG		128
#define EVENTS_AT_ONCE	64
#define DESCRIPTORS_MAX 2048 /* each client has two, and others come and go */
#define NICENESS	-10  /* the device waits while the arbiter does not run */
/*
 * The least time between two turns of the loop. A client can ring at any rate; this bounds the CPU
 * time that it costs the host.
 */
#define GAP_NS 20000

uint64_t server_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int server_watch(struct server *server, struct watched *watched)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = watched};

	return epoll_ctl(server->epoll, EPOLL_CTL_ADD, watched->fd, &event) < 0 ? -errno : 0;
}

struct connection *server_add_connection(struct server *server, int fd, bool is_control)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	if (!connection) {
		(void)close(fd);
		return NULL;
	}
	connection->watched = (struct watched){WATCH_CONNECTION, fd};
	connection->is_control = is_control;
	connection->accepted_ns = server_now_ns();
	connection->schedstat_fd = -1;
	if (server_watch(server, &connection->watched) < 0) {
		(void)close(fd);
		free(connection);
		return NULL;
	}
	connection->next = server->connections;
	server->connections = connection;
	return connection;
}

void server_end_connection(struct server *server, struct connection *connection)
{
	if (connection->ended)
		return;
	connection->ended = true;
	if (connection->client)
		accelerator_disconnect(server->accelerator, connection->client, server_now_ns());
	else if (connection->is_control)
		server->n_controls--;
	else
		server->n_pending--;
	if (connection->schedstat_fd >= 0)
		(void)close(connection->schedstat_fd);
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

static int open_sockets(struct server *server, const struct server_options *options,
			struct err *reterr)
{
	char control[UNIX_LISTENER_PATH_MAX + sizeof(COMPUTE_CONTROL_SUFFIX)];

	(void)snprintf(control, sizeof(control), "%s%s", options->socket, COMPUTE_CONTROL_SUFFIX);
	/* The control socket first: the second arbiter of a device fails before it has clients. */
	server->controls.fd = unix_listener_open(control, SOCK_SEQPACKET, 0600, BACKLOG,
						 &server->controls_name, reterr);
	if (server->controls.fd < 0)
		return server->controls.fd;
	server->clients.fd = unix_listener_open(options->socket, SOCK_SEQPACKET, 0666, BACKLOG,
						&server->clients_name, reterr);
	return server->clients.fd < 0 ? server->clients.fd : 0;
}

static int open_accelerator(struct server *server, const struct server_options *options,
			    struct err *reterr)
{
	const struct accelerator_options device = {
		.name = options->name,
		.discipline = options->discipline,
		.slice_ns = options->slice_ns,
	};
	int r = accelerator_new(&device, server_now_ns(), &server->accelerator);

	if (r < 0)
		return err_fail(reterr, -r, "cannot create the beacon: %s", strerror(-r));
	server->bell.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->bell.fd < 0)
		return err_fail(reterr, errno, "cannot create the bell: %s", strerror(errno));
	return 0;
}

int server_open(const struct server_options *options, struct server **ret_server,
		struct err *reterr)
{
	struct server *server = calloc(1, sizeof(*server));
	int r;

	if (!server)
		return err_fail(reterr, ENOMEM, "%s", strerror(ENOMEM));
	server->epoll = -1;
	server->clients = (struct watched){WATCH_CLIENTS, -1};
	server->controls = (struct watched){WATCH_CONTROLS, -1};
	server->bell = (struct watched){WATCH_BELL, -1};
	server->timer = (struct watched){WATCH_TIMER, -1};
	server->signals = (struct watched){WATCH_SIGNALS, -1};
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

void server_close(struct server *server)
{
	if (!server)
		return;
	/* The names first: a client that connects again must not find this arbiter. */
	unix_listener_remove(&server->clients_name);
	unix_listener_remove(&server->controls_name);
	for (struct connection *c = server->connections; c; c = c->next)
		server_end_connection(server, c);
	free_ended(server);
	accelerator_free(server->accelerator);
	for (const struct watched **at =
		     (const struct watched *[]){&server->clients, &server->controls, &server->bell,
						&server->timer, &server->signals, NULL};
	     *at; at++)
		if ((*at)->fd >= 0)
			(void)close((*at)->fd);
	if (server->epoll >= 0)
		(void)close(server->epoll);
	free(server);
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
	int r;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	server->epoll = epoll_create1(EPOLL_CLOEXEC);
	server->timer.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	server->signals.fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (server->epoll < 0 || server->timer.fd < 0 || server->signals.fd < 0)
		return -errno;
	r = server_watch(server, &server->clients);
	if (r == 0)
		r = server_watch(server, &server->controls);
	if (r == 0)
		r = server_watch(server, &server->bell);
	if (r == 0)
		r = server_watch(server, &server->timer);
	return r == 0 ? server_watch(server, &server->signals) : r;
}

static void take_count(int fd)
{
	uint64_t count;

	(void)!read(fd, &count, sizeof(count));
}

/* Returns false if a signal ends the loop. */
static bool handle(struct server *server, struct watched *watched)
{
	struct connection *connection = (struct connection *)watched;

	switch (watched->kind) {
	case WATCH_CLIENTS:
		server_accept_clients(server);
		break;
	case WATCH_CONTROLS:
		server_accept_controls(server);
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
			server_read_control(server, connection);
		else
			server_read_client(server, connection);
		break;
	}
	return true;
}

static void arm(const struct server *server, uint64_t at_ns)
{
	struct itimerspec when = {0};

	if (server->n_pending > 0 && at_ns == ARBITER_NEVER)
		at_ns = server_now_ns() + SERVER_HELLO_NS;
	if (at_ns != ARBITER_NEVER) {
		when.it_value.tv_sec = (time_t)(at_ns / 1000000000u);
		when.it_value.tv_nsec = (long)(at_ns % 1000000000u);
	}
	(void)timerfd_settime(server->timer.fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void pause_until(uint64_t at_ns)
{
	struct timespec at = {(time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u)};

	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

int server_run(struct server *server)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	uint64_t now_ns, next_ns = ARBITER_NEVER;
	bool running = true;
	int r = open_loop(server);

	if (r < 0)
		return r;
	claim_resources();
	while (running) {
		int n;

		arm(server, next_ns);
		n = epoll_wait(server->epoll, events, EVENTS_AT_ONCE, -1);
		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++)
			running = handle(server, events[i].data.ptr) && running;
		now_ns = server_now_ns();
		server_expire_clients(server, now_ns);
		free_ended(server);
		next_ns = accelerator_step(server->accelerator, now_ns);
		pause_until(now_ns + GAP_NS);
	}
	return 0;
}
