/* SPDX-License-Identifier: MIT */
/*
 * Accepts connections for libmicrohttpd. libmicrohttpd itself has only one limit for all clients,
 * so that a single client could use all connections. At most AT_ONCE connections are accepted in
 * one call, so that the event loop is not delayed.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <arpa/inet.h>

#include "base/clock.h"
#include "gover-d/http/acceptor.h"
#include "gover-d/http/stream.h"

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

void acceptor_fini(struct acceptor *acceptor)
{
	if (!acceptor->daemon)
		return;
	acceptor->readable = sd_event_source_disable_unref(acceptor->readable);
	acceptor->sweep = sd_event_source_disable_unref(acceptor->sweep);
	(void)close(acceptor->fd);
	acceptor->daemon = NULL;
}
