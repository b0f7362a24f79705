/* SPDX-License-Identifier: MIT */
/*
 * The connection to the daemon. The library sends one message with the memfd of its page. The
 * daemon sends the frame rate limit, and whether it counts the frames. If one side exits, the
 * connection ends, so that the other side detects the exit.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/preload/debug.h"
#include "fps-preload/connection.h"
#include "fps-preload/limit.h"
#include "fps-preload/report.h"
#include "fps-preload/wire.h"

#define NS_PER_S	  1000000000ull
#define MAX_DELAY_S	  8
#define MESSAGES_PER_POLL 8 /* maximum messages read per call */
#define GROUP_BYTES	  160

/* Written by the constructor, constant afterwards. */
static struct sockaddr_un address;
/* true: in a virtual machine, where report.c sends messages and no page is passed */
static bool in_vm, debug;
static uint32_t *limit;

/* No lock is needed: only one thread at a time polls, and a forked child starts with one thread. */
static struct owned_fd memfd = {.fd = -1};
static struct owned_fd sock = {.fd = -1};
/* time from the last attempt to the next, doubled at each attempt; 0: the connection works */
static unsigned int delay_s;

void connection_setup(const struct setup *setup, uint32_t *limit_ns)
{
	address = setup->daemon;
	limit = limit_ns;
	debug = setup->debug;
	in_vm = setup->transport != SETUP_UNIX;
	if (in_vm)
		report_setup(setup, limit_ns);
}

void connection_start(const struct fps_page *page, struct owned_fd *new_memfd)
{
	connection_reset();
	if (in_vm) {
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
	if (in_vm)
		/*
		 * On the host no last message is needed: the daemon reads the page when the
		 * connection ends.
		 */
		report_finish();
}

/* Reads the control group of this process: the first line of its file, cut off if it is long. */
static void read_group(char ret_group[GROUP_BYTES])
{
	int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret_group, GROUP_BYTES - 1);

	if (fd >= 0)
		(void)close(fd);
	ret_group[n > 0 ? n : 0] = '\0';
	ret_group[strcspn(ret_group, "\n")] = '\0';
}

static void log_counting(bool counted)
{
	char group[GROUP_BYTES];

	if (!debug)
		return;
	if (counted) {
		debug_log("this process is in a vGPU: its frames are counted");
		return;
	}
	read_group(group);
	debug_log("this process is in no vGPU: its frames are not counted (control group: %s)",
		  group[0] ? group : "unknown");
}

/* Receives the messages of the daemon. Returns false if the connection has ended. */
static bool receive_messages(void)
{
	union {
		struct fps_limit limit;
		struct fps_counting counting;
	} message;

	if (!owned_fd_is_valid(&sock))
		return false;
	for (int i = 0; i < MESSAGES_PER_POLL; i++) {
		ssize_t n = recv(sock.fd, &message, sizeof(message), MSG_DONTWAIT | MSG_TRUNC);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		if (n == 0)
			return false;
		if (message.limit.magic != FPS_WIRE_MAGIC ||
		    message.limit.version != FPS_WIRE_VERSION)
			continue;
		if (n == sizeof(message.limit))
			limit_set(message.limit.period_ns, limit);
		else if (n == sizeof(message.counting))
			log_counting(message.counting.counted == 1);
	}
	return true;
}

static int send_page(int fd)
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
		r = send_page(sock.fd);
	if (r < 0)
		owned_fd_close(&sock);
	return r;
}

uint64_t connection_poll(void)
{
	unsigned int wait_s = delay_s;
	int r;

	if (in_vm)
		return report_poll();
	if (sock.fd >= 0) {
		if (receive_messages()) {
			delay_s = 0;
			return NS_PER_S;
		}
		debug_log("connection to %s closed by the daemon", address.sun_path);
		owned_fd_close(&sock);
		if (wait_s > 0)
			return wait_s * NS_PER_S;
	}
	if (!owned_fd_is_valid(&memfd))
		return 0;
	r = connect_daemon();
	delay_s = delay_s == 0 ? 1 : delay_s * 2;
	if (delay_s > MAX_DELAY_S)
		delay_s = MAX_DELAY_S;
	if (r < 0) {
		debug_log("cannot connect to %s: %s; next attempt in %u s", address.sun_path,
			  strerrordesc_np(-r), delay_s);
		return delay_s * NS_PER_S;
	}
	debug_log("connected to %s", address.sun_path);
	return NS_PER_S;
}
