/* SPDX-License-Identifier: MIT */
/* Connections of compute clients: who they are, hello, welcome. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "compute/channel/memfd.h"
#include "compute/channel/message.h"
#include "compute/channel/transfer.h"
#include "compute/server/loop.h"
#include "monitor/fps/process.h"

#define GROUP_TEXT_MAX	16384
#define REFUSAL_LOG_NS	60000000000u
#define ACCEPTS_AT_ONCE 64

static void log_refusal(struct server *server, const char *name, uint32_t pid, const char *why)
{
	uint64_t now_ns = server_now_ns();

	if (server->refusal_logged_ns != 0 && now_ns - server->refusal_logged_ns < REFUSAL_LOG_NS)
		return;
	server->refusal_logged_ns = now_ns;
	syslog(LOG_WARNING,
	       "program %s, process %u: %s; it runs without control (logged once a minute)", name,
	       pid, why);
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

static void accept_client(struct server *server, int fd)
{
	struct connection *connection;

	if (server->n_pending >= SERVER_PENDING_MAX) {
		(void)close(fd);
		return;
	}
	connection = server_add_connection(server, fd, false);
	if (!connection)
		return;
	server->n_pending++;
	if (identify(server, connection) < 0)
		server_end_connection(server, connection);
	else
		server_read_client(server, connection);
}

void server_accept_clients(struct server *server)
{
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		uint64_t before_ns = fps_process_clock_ns();
		int fd = accept4(server->clients.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0 && errno == EAGAIN)
			server->idle_ns = before_ns;
		if (fd < 0)
			return;
		accept_client(server, fd);
	}
}

/* The page of @hello becomes a client. Takes @fd. Returns 0 or a negative errno. */
static int welcome(struct server *server, struct connection *connection, int fd)
{
	int fds[COMPUTE_WELCOME_FDS] = {server->accelerator->beacon_fd, server->bell.fd};
	uint64_t now_ns = server_now_ns();
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

void server_read_client(struct server *server, struct connection *connection)
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
		if (fds[i] >= 0)
			(void)close(fds[i]);
	if (r < 0)
		server_end_connection(server, connection);
}

void server_expire_clients(struct server *server, uint64_t now_ns)
{
	struct connection *connection = server->connections;

	for (; server->n_pending > 0 && connection; connection = connection->next)
		if (!connection->is_control && !connection->client && !connection->ended &&
		    now_ns - connection->accepted_ns > SERVER_HELLO_NS)
			server_end_connection(server, connection);
}
