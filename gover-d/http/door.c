/* SPDX-License-Identifier: MIT */
/*
 * The door of the house. MHD accepts too, but knows one limit for all: whoever came first kept
 * everybody else out. Must never accept so many at once that the loop waits for it.
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
#include "gover-d/http/door.h"
#include "gover-d/http/stream.h"

#define AT_ONCE	 32
#define SWEEP_US 1000000

union address {
	struct sockaddr any;
	struct sockaddr_un un;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* A user of this host, or an address; of IPv6 a network, which is one customer's. */
static void name_peer(int fd, const union address *address, char peer[HOUSE_PEER_MAX])
{
	struct ucred who = {.uid = (uid_t)-1};
	socklen_t size = sizeof(who);
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
		(void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size);
		snprintf(text, sizeof(text), "user %lld", (long long)who.uid);
	}
	snprintf(peer, HOUSE_PEER_MAX, "%s", text);
}

/* MHD sees the end of the connection and closes it. */
static void show_out(int fd)
{
	(void)shutdown(fd, SHUT_RDWR);
}

/* Takes over @fd. */
static void let_in(struct door *door, int fd, const union address *address, socklen_t size)
{
	char peer[HOUSE_PEER_MAX];
	int r, evicted;

	name_peer(fd, address, peer);
	r = house_enter(door->house, fd, peer, clock_now().mono_ns, &evicted);
	if (r < 0) {
		(void)close(fd);
		return;
	}
	if (r > 0)
		show_out(evicted);
	if (MHD_add_connection(door->daemon, fd, &address->any, size) != MHD_YES)
		house_leave(door->house, fd); /* MHD closed it */
}

static int on_arrival(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct door *door = userdata;

	(void)source;
	(void)events;
	for (int i = 0; i < AT_ONCE; i++) {
		union address address = {.any.sa_family = AF_UNSPEC};
		socklen_t size = sizeof(address);
		int guest = accept4(fd, &address.any, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (guest >= 0)
			let_in(door, guest, &address, size);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			(void)sd_event_source_set_enabled(door->arrivals, SD_EVENT_OFF);
		if (guest < 0 && errno != ECONNABORTED && errno != EINTR)
			break;
	}
	(void)sd_event_source_set_enabled(door->sweep, SD_EVENT_ONESHOT);
	http_run_soon(door->timer);
	return 0;
}

/* Shows out who has had his time, and opens the door again where it was shut for want of fds. */
static int on_sweep(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct door *door = userdata;
	const uint64_t now_ns = clock_now().mono_ns;
	int fd;

	(void)usec;
	while ((fd = house_overdue(door->house, now_ns)) >= 0)
		show_out(fd);
	(void)sd_event_source_set_enabled(door->arrivals, SD_EVENT_ON);
	(void)sd_event_source_set_time_relative(source, SWEEP_US);
	if (house_count(door->house) > 0)
		(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

int door_init(struct door *door, int fd, struct MHD_Daemon *daemon, struct house *house,
	      sd_event *event, sd_event_source *timer, int64_t priority)
{
	int r;

	*door = (struct door){.daemon = daemon, .house = house, .fd = fd, .timer = timer};
	r = sd_event_add_io(event, &door->arrivals, fd, EPOLLIN, on_arrival, door);
	if (r >= 0)
		r = sd_event_source_set_priority(door->arrivals, priority);
	if (r >= 0)
		r = sd_event_add_time_relative(event, &door->sweep, CLOCK_MONOTONIC, SWEEP_US,
					       SWEEP_US / 4, on_sweep, door);
	if (r >= 0)
		r = sd_event_source_set_priority(door->sweep, priority);
	return r;
}

void door_fini(struct door *door)
{
	if (!door->daemon)
		return;
	door->arrivals = sd_event_source_disable_unref(door->arrivals);
	door->sweep = sd_event_source_disable_unref(door->sweep);
	(void)close(door->fd);
	door->daemon = NULL;
}
