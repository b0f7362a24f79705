/* SPDX-License-Identifier: MIT */
/* Shared by the tests of fps-preload/report.c: a channel, a page and a daemon under the control of
 * the test. Included once per test program. */
#ifndef TESTS_UNIT_FPS_PRELOAD_TEST_FPS_REPORT_RIG_H
#define TESTS_UNIT_FPS_PRELOAD_TEST_FPS_REPORT_RIG_H

#include <errno.h>

#include <endian.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/cleanup.h"

static ssize_t fake_send(int fd, const void *bytes, size_t size, int flags);
static ssize_t fake_write(int fd, const void *bytes, size_t size);
static ssize_t fake_recv(int fd, void *bytes, size_t size, int flags);

#define send  fake_send
#define write fake_write
#define recv  fake_recv
#include "fps-preload/report.c"
#undef send
#undef write
#undef recv

#include "fps-preload/owned-fd.c"
#include "fps-preload/limit.c"
#include "fps-preload/debug.c"
#include "tests/unit/unit.h"

#define SECOND NS_PER_S

static struct fps_page page_of_test;
static int opens, open_error; /* open_error: errno; 0: success */
static int busy_opens;	      /* number of opens that fail with open_error; 0: all */
static int connect_error;
static size_t room; /* bytes that the channel accepts until it is full */
static int send_error;
static int last_fd;
static char sent_bytes[64 * FPS_MESSAGE_BYTES];
static size_t n_sent;
static char incoming[1024]; /* bytes sent by the daemon and not received yet */
static size_t n_incoming;
static bool ended; /* the daemon closes the connection after @incoming */
static uint32_t limit_ns;

static ssize_t take(int fd, const void *bytes, size_t size)
{
	size_t n = size < room ? size : room;

	last_fd = fd;
	if (send_error || n == 0) {
		errno = send_error ? send_error : EAGAIN;
		return -1;
	}
	assert_true(n_sent + n <= sizeof(sent_bytes));
	memcpy(sent_bytes + n_sent, bytes, n);
	n_sent += n;
	room -= n;
	return (ssize_t)n;
}

static ssize_t fake_send(int fd, const void *bytes, size_t size, int flags)
{
	assert_int_equal(flags, MSG_DONTWAIT | MSG_NOSIGNAL);
	assert_int_equal(config.transport, SETUP_VSOCK);
	return take(fd, bytes, size);
}

static ssize_t fake_write(int fd, const void *bytes, size_t size)
{
	assert_int_equal(config.transport, SETUP_PORT);
	return take(fd, bytes, size);
}

static ssize_t fake_recv(int fd, void *bytes, size_t size, int flags)
{
	size_t n = size < n_incoming ? size : n_incoming;

	assert_int_equal(flags, MSG_DONTWAIT);
	assert_int_equal(config.transport, SETUP_VSOCK);
	assert_int_equal(fd, channel.fd);
	if (n == 0) {
		errno = EAGAIN;
		return ended ? 0 : -1;
	}
	memcpy(bytes, incoming, n);
	n_incoming -= n;
	memmove(incoming, incoming + n, n_incoming);
	return (ssize_t)n;
}

static int open_fake(struct owned_fd *ret_owned)
{
	opens++;
	if (busy_opens > 0 && opens > busy_opens)
		open_error = 0;
	return open_error ? -open_error
			  : owned_fd_take(open("/dev/null", O_WRONLY | O_CLOEXEC), ret_owned);
}

int channel_open_vsock(const struct sockaddr_vm *host, struct owned_fd *ret_sock)
{
	assert_int_equal(host->svm_cid, 2);
	return open_fake(ret_sock);
}

int channel_open_port(const char *name, struct owned_fd *ret_port)
{
	assert_string_equal(name, "org.gover.fps.0");
	return open_fake(ret_port);
}

int channel_check_connected(const struct owned_fd *sock)
{
	assert_true(sock->fd >= 0);
	return -connect_error;
}

static void start(enum setup_transport by)
{
	const struct setup setup = {
		.transport = by, .host = {.svm_cid = 2}, .port = "org.gover.fps.0"};

	opens = open_error = busy_opens = connect_error = send_error = 0;
	room = sizeof(sent_bytes);
	n_sent = n_incoming = 0;
	ended = false;
	limit_ns = 0;
	memset(&page_of_test, 0, sizeof(page_of_test));
	page_of_test.lanes = 1;
	page_of_test.first_ns = 5;
	report_setup(&setup, &limit_ns);
	report_start(&page_of_test);
}

static int by_vsock(void)
{
	start(SETUP_VSOCK);
	return 0;
}

static int by_port(void)
{
	start(SETUP_PORT);
	return 0;
}

static int drop(void)
{
	report_reset();
	return 0;
}

static inline void draw(uint64_t frames)
{
	page_of_test.lane[0].frames += frames;
	page_of_test.lane[0].frame_time[30] += (uint32_t)frames;
	page_of_test.lane[0].last_ns += frames;
}

/* Returns the complete message number @index. */
static inline struct fps_message message(size_t index)
{
	uint64_t words[WORDS];
	struct fps_message arrived;

	assert_true((index + 1) * sizeof(words) <= n_sent);
	memcpy(words, sent_bytes + index * sizeof(words), sizeof(words));
	for (size_t i = 0; i < WORDS; i++)
		words[i] = le64toh(words[i]);
	memcpy(&arrived, words, sizeof(arrived));
	assert_int_equal(arrived.magic, FPS_MESSAGE_MAGIC);
	assert_int_equal(arrived.version, FPS_MESSAGE_VERSION);
	assert_int_equal(arrived.end, FPS_MESSAGE_END);
	return arrived;
}

static inline size_t messages(void)
{
	assert_int_equal(n_sent % FPS_MESSAGE_BYTES, 0);
	return n_sent / FPS_MESSAGE_BYTES;
}

#endif
