/* SPDX-License-Identifier: MIT */
/*
 * The connection to the daemon. It carries one message, the page's memfd; after that it tells each
 * side whether the other lives, and us how fast to be at most. Must never block, print, or use an
 * fd that is not ours any more.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fps-preload/report.h"
#include "fps-preload/connection.h"
#include "fps-preload/limit.h"
#include "fps-preload/debug.h"
#include "fps-preload/wire.h"

#define NS_PER_S	1000000000ull
#define LONGEST_DELAY_S 8
#define ORDERS_AT_ONCE	8 /* the rest a second later */

/* Written by the constructor, constant after it. */
static struct sockaddr_un address;
static bool from_guest; /* by messages */
static uint32_t *limit;

/* Touched only by the one thread that tends the link, and by a forked child before it has others.
 */
static struct owned_fd memfd = {.fd = -1};
static struct owned_fd sock = {.fd = -1};
static unsigned int
	delay_s; /* before the next attempt; 0 while the connection is known to be good */

void connection_setup(const struct setup *setup, uint32_t *limit_ns)
{
	address = setup->daemon;
	limit = limit_ns;
	from_guest = setup->transport != SETUP_UNIX;
	if (from_guest)
		report_setup(setup, limit_ns);
}

void connection_start(const struct fps_page *page, struct owned_fd *new_memfd)
{
	connection_reset();
	if (from_guest) {
		owned_fd_close(new_memfd);
		report_start(page);
	} else {
		memfd = *new_memfd;
	}
}

void connection_reset(void)
{
	owned_fd_close(&sock);
	owned_fd_close(&memfd);
	delay_s = 0;
	report_reset();
}

void connection_finish(void)
{
	if (from_guest)
		report_finish(); /* else the daemon reads the page once more */
}

/* Reads the daemon's orders. When they are read an open connection has nothing to read, and a dead
 * one reads its end. */
static bool daemon_is_there(void)
{
	struct fps_limit order;

	if (!owned_fd_is_valid(&sock))
		return false;
	for (int i = 0; i < ORDERS_AT_ONCE; i++) {
		ssize_t n = recv(sock.fd, &order, sizeof(order), MSG_DONTWAIT | MSG_TRUNC);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		if (n == 0)
			return false;
		if (n == sizeof(order) && order.magic == FPS_WIRE_MAGIC &&
		    order.version == FPS_WIRE_VERSION)
			limit_set(order.period_ns, limit);
	}
	return true;
}

static int hand_over(int fd)
{
	struct fps_hello hello = {
		.magic = FPS_WIRE_MAGIC,
		.version = FPS_WIRE_VERSION,
		.page_bytes = FPS_WIRE_PAGE_SIZE,
		.pid = (uint32_t)getpid(),
	};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = &hello, .iov_len = sizeof(hello)};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *rights = CMSG_FIRSTHDR(&message);

	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(rights), &memfd.fd, sizeof(int));
	return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int connect_daemon(void)
{
	int r = owned_fd_take(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
			      &sock);

	if (r < 0)
		return r;
	if (connect(sock.fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		r = -errno;
	else
		r = hand_over(sock.fd);
	if (r < 0)
		owned_fd_close(&sock);
	return r;
}

uint64_t connection_poll(void)
{
	unsigned int wait_s = delay_s;
	int r;

	if (from_guest)
		return report_poll();
	if (sock.fd >= 0) {
		if (daemon_is_there()) {
			delay_s = 0;
			return NS_PER_S;
		}
		debug_log("the daemon at %s is gone", address.sun_path);
		owned_fd_close(&sock);
		if (wait_s > 0)
			return wait_s * NS_PER_S;
	}
	if (!owned_fd_is_valid(&memfd))
		return 0;
	r = connect_daemon();
	delay_s = delay_s == 0 ? 1 : delay_s * 2;
	if (delay_s > LONGEST_DELAY_S)
		delay_s = LONGEST_DELAY_S;
	if (r < 0) {
		debug_log("no daemon at %s: %s; again in %u s", address.sun_path,
			  strerrordesc_np(-r), delay_s);
		return delay_s * NS_PER_S;
	}
	debug_log("connected to %s", address.sun_path);
	return NS_PER_S;
}
