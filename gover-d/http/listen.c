/* SPDX-License-Identifier: MIT */
/*
 * Listening sockets for TCP and from systemd, and their connections. libmicrohttpd itself has only
 * one limit for all clients, so that a single client could use all connections. At most AT_ONCE
 * connections are accepted in one call, so that the event loop is not delayed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "gover-d/http/listen.h"

#define BACKLOG	    HTTP_LISTEN_BACKLOG
#define SOCKET_KIND (SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)

/* Splits "ADDR:PORT" or "[ADDR]:PORT" into address and port. */
static int split_address(const char *address, char host[64], const char **ret_port)
{
	bool bracketed = address[0] == '[';
	const char *begin = address + bracketed;
	const char *end = bracketed ? strstr(begin, "]:") : strchr(begin, ':');
	int64_t port;

	if (!end || end - begin >= 64 || parse_int(end + 1 + bracketed, 0, 65535, &port) < 0)
		return -EINVAL;
	snprintf(host, 64, "%.*s", (int)(end - begin), begin);
	*ret_port = end + 1 + bracketed;
	return 0;
}

static int listen_on(const struct addrinfo *info)
{
	CLEANUP_CLOSE int fd = socket(info->ai_family, SOCKET_KIND, 0);
	int on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, info->ai_addr, info->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return steal_fd(&fd);
}

int http_listen_tcp(const char *address, struct err *reterr)
{
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
	};
	struct addrinfo *info;
	const char *port;
	char host[64];
	int fd;

	if (split_address(address, host, &port) < 0 || getaddrinfo(host, port, &hints, &info) != 0)
		return err_fail(reterr, EINVAL,
				"listen: invalid address %s (allowed: ADDR:PORT such as "
				"127.0.0.1:9788 or [::1]:9788)",
				address);
	fd = listen_on(info);
	freeaddrinfo(info);
	if (fd < 0)
		return err_fail(reterr, -fd, "listen: %s: %s", address, strerror(-fd));
	return fd;
}

static const struct {
	const char *name;
	bool tcp;
} activated[] = {
	{HTTP_ACTIVATED_UNIX, false},
	{HTTP_ACTIVATED_TCP, true},
};

/* A socket with an unknown name is an error, because its clients would never get a reply. */
static int take_socket(struct http_activated *sockets, int fd, const char *name, struct err *reterr)
{
	for (size_t i = 0; i < ARRAY_SIZE(activated); i++) {
		int *slot = activated[i].tcp ? &sockets->tcp : &sockets->unix_socket;

		if (strcmp(name, activated[i].name) != 0)
			continue;
		if (*slot >= 0)
			return err_fail(reterr, EINVAL,
					"systemd passed two sockets named %s (limit 1)", name);
		if ((activated[i].tcp ? sd_is_socket_inet(fd, AF_UNSPEC, SOCK_STREAM, 1, 0)
				      : sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0)) <= 0)
			return err_fail(reterr, EINVAL,
					"systemd passed %s, which is not a listening %s socket",
					name, activated[i].tcp ? "TCP" : "unix stream");
		if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
			return err_fail(reterr, errno, "%s: %s", name, strerror(errno));
		*slot = fd;
		return 0;
	}
	return err_fail(
		reterr, EINVAL,
		"systemd passed a socket named %.60s (allowed: FileDescriptorName=%s or %s)", name,
		HTTP_ACTIVATED_UNIX, HTTP_ACTIVATED_TCP);
}

int http_listen_activated(struct http_activated *ret_sockets, struct err *reterr)
{
	struct http_activated sockets = {-1, -1};
	char **names = NULL;
	int r, n = sd_listen_fds_with_names(/* unset_environment= */ 1, &names);

	r = n < 0 ? err_fail(reterr, -n, "sockets from systemd: cannot be read: %s", strerror(-n))
		  : 0;
	for (int i = 0; i < n; i++) {
		if (r >= 0)
			r = take_socket(&sockets, SD_LISTEN_FDS_START + i, names[i], reterr);
		free(names[i]);
	}
	free(names);
	if (r >= 0)
		*ret_sockets = sockets;
	return r;
}

#define AT_ONCE	 32
#define SWEEP_US 1000000

union address {
	struct sockaddr any;
	struct sockaddr_un un;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/*
 * Writes the name of the client of a connection: a user of this host, an IPv4 address, or an IPv6
 * /64 network, because an IPv6 /64 network usually belongs to one customer.
 */
static void name_client(int fd, const union address *address, char client[CONNECTION_CLIENT_MAX])
{
	struct ucred process = {.uid = (uid_t)-1};
	socklen_t size = sizeof(process);
	struct in6_addr network;
	char text[INET6_ADDRSTRLEN] = "";

	if (address->any.sa_family == AF_INET) {
		(void)inet_ntop(AF_INET, &address->in.sin_addr, text, sizeof(text));
	} else if (address->any.sa_family == AF_INET6) {
		network = address->in6.sin6_addr;
		if (!IN6_IS_ADDR_V4MAPPED(&network))
			memset(&network.s6_addr[8], 0, 8);
		(void)inet_ntop(AF_INET6, &network, text, sizeof(text));
	} else {
		(void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &process, &size);
		snprintf(text, sizeof(text), "user %lld", (long long)process.uid);
	}
	snprintf(client, CONNECTION_CLIENT_MAX, "%s", text);
}

/* Does not close @fd: libmicrohttpd owns @fd and closes it after the shutdown. */
static void shut_down(int fd)
{
	(void)shutdown(fd, SHUT_RDWR);
}

/* Takes ownership of @fd. */
static void add(struct acceptor *acceptor, int fd, const union address *address, socklen_t size)
{
	char client[CONNECTION_CLIENT_MAX];
	int r, evicted;

	name_client(fd, address, client);
	r = connection_table_add(acceptor->table, fd, client, clock_now().mono_ns, &evicted);
	if (r < 0) {
		(void)close(fd);
		return;
	}
	if (r > 0)
		shut_down(evicted);
	if (MHD_add_connection(acceptor->daemon, fd, &address->any, size) != MHD_YES)
		connection_table_remove(acceptor->table, fd); /* libmicrohttpd has closed @fd */
}

void http_run_soon(sd_event_source *timer)
{
	(void)sd_event_source_set_time_relative(timer, 0);
	(void)sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct acceptor *acceptor = userdata;

	(void)source;
	(void)events;
	for (int i = 0; i < AT_ONCE; i++) {
		union address address = {.any.sa_family = AF_UNSPEC};
		socklen_t size = sizeof(address);
		int connection = accept4(fd, &address.any, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (connection >= 0)
			add(acceptor, connection, &address, size);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			(void)sd_event_source_set_enabled(acceptor->readable, SD_EVENT_OFF);
		if (connection < 0 && errno != ECONNABORTED && errno != EINTR)
			break;
	}
	(void)sd_event_source_set_enabled(acceptor->sweep, SD_EVENT_ONESHOT);
	http_run_soon(acceptor->timer);
	return 0;
}

/*
 * Shuts down overdue connections. Also enables accepting again: on_readable() disables it when file
 * descriptors or memory run out.
 */
static int on_sweep(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct acceptor *acceptor = userdata;
	const uint64_t now_ns = clock_now().mono_ns;
	int fd;

	(void)usec;
	while ((fd = connection_table_evict_overdue(acceptor->table, now_ns)) >= 0)
		shut_down(fd);
	(void)sd_event_source_set_enabled(acceptor->readable, SD_EVENT_ON);
	(void)sd_event_source_set_time_relative(source, SWEEP_US);
	if (connection_table_count(acceptor->table) > 0)
		(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

int acceptor_init(struct acceptor *acceptor, int fd, struct MHD_Daemon *daemon,
		  struct connection_table *table, sd_event *event, sd_event_source *timer,
		  int64_t priority)
{
	int r;

	*acceptor = (struct acceptor){.daemon = daemon, .table = table, .fd = fd, .timer = timer};
	r = sd_event_add_io(event, &acceptor->readable, fd, EPOLLIN, on_readable, acceptor);
	if (r >= 0)
		r = sd_event_source_set_priority(acceptor->readable, priority);
	if (r >= 0)
		r = sd_event_add_time_relative(event, &acceptor->sweep, CLOCK_MONOTONIC, SWEEP_US,
					       SWEEP_US / 4, on_sweep, acceptor);
	if (r >= 0)
		r = sd_event_source_set_priority(acceptor->sweep, priority);
	return r;
}

void acceptor_listen_on(struct acceptor *acceptor, int fd)
{
	(void)sd_event_source_set_io_fd(acceptor->readable, fd);
	(void)close(acceptor->fd);
	acceptor->fd = fd;
}

void acceptor_fini(struct acceptor *acceptor)
{
	if (!acceptor->daemon)
		return;
	acceptor->readable = sd_event_source_disable_unref(acceptor->readable);
	acceptor->sweep = sd_event_source_disable_unref(acceptor->sweep);
	(void)close(acceptor->fd);
	acceptor->daemon = NULL;
}
