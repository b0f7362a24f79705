/* SPDX-License-Identifier: MIT */
/*
 * The library in a virtual machine sends complete messages, one at a time, over an unreliable
 * channel, and receives the frame rate limit. A channel, a page and a daemon are under the control
 * of the test.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/unit/unit.h"

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

#include "base/preload/owned-fd.c"
#include "fps-preload/limit.c"
#include "base/preload/debug.c"

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

static void draw(uint64_t frames)
{
	page_of_test.lane[0].frames += frames;
	page_of_test.lane[0].frame_time[30] += (uint32_t)frames;
	page_of_test.lane[0].last_ns += frames;
}

/* Returns the complete message number @index. */
static struct fps_message message(size_t index)
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

static size_t messages(void)
{
	assert_int_equal(n_sent % FPS_MESSAGE_BYTES, 0);
	return n_sent / FPS_MESSAGE_BYTES;
}

FIXTURE(by_vsock, drop)

TEST(a_message_a_second_reports_all_counters)
{
	draw(1);
	assert_int_equal(report_poll(), SECOND);
	page_of_test.lanes = FPS_WIRE_LANES + 3;
	page_of_test.lane[FPS_WIRE_LANES - 1].frames = 7;
	page_of_test.lane[FPS_WIRE_LANES - 1].longest_gap_ns = 900;
	page_of_test.lane[FPS_WIRE_LANES - 1].gpu_frames = 2;
	page_of_test.lane[FPS_WIRE_LANES - 1].gpu_time_ns = 300;
	page_of_test.lane[0].gpu_frames = 40;
	page_of_test.lane[0].gpu_time_ns = 5000;
	draw(60);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(messages(), 2);
	assert_int_equal(opens, 1);
	assert_memory_equal(sent_bytes, "govr-fps\x01\0\0\0\0\0\0\0", 16);
	assert_memory_equal(sent_bytes + FPS_MESSAGE_BYTES - 8, "fps-end.", 8);
	assert_int_equal(message(0).frames, 1);
	assert_int_equal(message(1).frames, 68);
	assert_int_equal(message(1).frame_time[30], 61);
	assert_int_equal(message(1).longest_gap_ns, 900);
	assert_int_equal(message(0).gpu_frames, 0);
	assert_int_equal(message(1).gpu_frames, 42);
	assert_int_equal(message(1).gpu_time_ns, 5300);
	assert_int_equal(message(1).newest_ns, 61);
	assert_int_equal(message(1).first_ns, 5);
	assert_int_equal(message(0).newest_ns, 5);
	assert_int_equal(message(0).program, message(1).program);
	assert_int_equal(message(1).sequence, message(0).sequence + 1);
	assert_true(message(1).sent_ns >= message(0).sent_ns);
	assert_int_equal(message(1).flags, 0);
}

TEST(a_partial_message_is_completed_before_the_next)
{
	draw(1);
	room = 100;
	assert_int_equal(report_poll(), FULL_NS);
	draw(10);
	assert_int_equal(report_poll(), FULL_NS);
	room = 515;
	assert_int_equal(report_poll(), FULL_NS);
	assert_int_equal(n_sent, FPS_MESSAGE_BYTES - 1);
	room = sizeof(sent_bytes);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(messages(), 1);
	assert_int_equal(message(0).frames, 1);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(messages(), 2);
	assert_int_equal(message(1).frames, 11);
	assert_int_equal(opens, 1);
}

TEST(a_message_not_yet_started_is_replaced)
{
	room = 0;
	for (int i = 0; i < 20; i++) {
		draw(1);
		assert_int_equal(report_poll(), FULL_NS);
	}
	room = FPS_MESSAGE_BYTES;
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(messages(), 1);
	assert_int_equal(message(0).frames, 20);
}

TEST(a_new_connection_starts_with_a_complete_message)
{
	draw(5);
	room = 300;
	assert_int_equal(report_poll(), FULL_NS);
	send_error = EPIPE;
	assert_int_equal(report_poll(), SECOND);
	send_error = 0;
	n_sent = 0;
	room = sizeof(sent_bytes);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(opens, 2);
	assert_int_equal(messages(), 1);
	assert_int_equal(message(0).frames, 5);
}

TEST(a_pending_connection_is_polled)
{
	connect_error = EINPROGRESS;
	for (int i = 0; i < 5; i++)
		assert_int_equal(report_poll(), CONNECTING_NS);
	connect_error = 0;
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(opens, 1);
	assert_int_equal(messages(), 1);
}

/* The connection may be refused by seccomp, by the kernel or by the host. */
TEST(failed_attempts_back_off_to_8_s)
{
	static const uint64_t waits_s[] = {1, 2, 4, 8, 8, 8};
	static const int errors[] = {EPERM, ENODEV, EAFNOSUPPORT, ECONNRESET, ETIMEDOUT, EACCES};

	for (size_t i = 0; i < ARRAY_SIZE(waits_s); i++) {
		open_error = i % 2 ? errors[i] : 0;
		connect_error = i % 2 ? 0 : errors[i];
		assert_int_equal(report_poll(), waits_s[i] * SECOND);
		assert_int_equal(channel.fd, -1);
	}
	assert_int_equal(opens, ARRAY_SIZE(waits_s));
	assert_int_equal(n_sent, 0);
}

TEST(a_connection_lost_at_once_counts_as_failed)
{
	static const uint64_t waits_s[] = {1, 2, 4, 8, 8};

	for (size_t i = 0; i < ARRAY_SIZE(waits_s); i++) {
		/* The first message is accepted but never read. */
		assert_int_equal(report_poll(), SECOND);
		send_error = EPIPE;
		assert_int_equal(report_poll(), waits_s[i] * SECOND);
		send_error = 0;
	}
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(report_poll(), SECOND);
	send_error = EPIPE;
	assert_int_equal(report_poll(), SECOND);
}

TEST(a_reused_fd_number_is_left_alone)
{
	int theirs = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), was;

	assert_int_equal(report_poll(), SECOND);
	was = channel.fd;
	assert_int_equal(dup2(theirs, was), was);
	assert_int_equal(report_poll(), SECOND);
	assert_int_not_equal(last_fd, was);
	assert_int_equal(opens, 2);
	assert_true(fcntl(was, F_GETFD) >= 0);
	assert_int_equal(close(was), 0);
	assert_int_equal(close(theirs), 0);
}

TEST_WITH(a_port_is_open_only_for_one_message, by_port, drop)
{
	for (int i = 1; i <= 3; i++) {
		draw(60);
		assert_int_equal(report_poll(), SECOND);
		assert_int_equal(channel.fd, -1);
		assert_int_equal(opens, i);
	}
	assert_int_equal(messages(), 3);
	assert_int_equal(message(2).frames, 180);
}

TEST_WITH(a_busy_or_full_port_is_retried, by_port, drop)
{
	open_error = EBUSY;
	assert_int_equal(report_poll(), 10 * NS_PER_MS);
	assert_int_equal(report_poll(), 20 * NS_PER_MS);
	open_error = 0;
	room = 0;
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(channel.fd, -1);
	room = sizeof(sent_bytes);
	assert_int_equal(report_poll(), SECOND);
	open_error = EBUSY;
	assert_int_equal(report_poll(), 10 * NS_PER_MS);
	for (int i = 0; i < 10; i++)
		(void)report_poll();
	assert_int_equal(report_poll(), 8 * SECOND);
	assert_int_equal(messages(), 1);
}

TEST_WITH(exit_waits_for_a_busy_port, by_port, drop)
{
	draw(30);
	open_error = EBUSY;
	busy_opens = 3;
	report_finish();
	assert_int_equal(opens, 4);
	assert_int_equal(messages(), 1);
	assert_int_equal(message(0).frames, 30);
}

TEST_WITH(exit_gives_up_on_a_port_that_stays_busy, by_port, drop)
{
	open_error = EBUSY;
	report_finish();
	assert_int_equal(opens, EXIT_TRIES);
	assert_int_equal(messages(), 0);
}

/* The Linux driver accepts whole messages only. Other drivers may accept a part of a message. */
TEST_WITH(a_partial_message_keeps_the_port_open, by_port, drop)
{
	room = 616 / 2;
	assert_int_equal(report_poll(), FULL_NS);
	assert_true(channel.fd >= 0);
	room = sizeof(sent_bytes);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(channel.fd, -1);
	assert_int_equal(opens, 1);
	assert_int_equal(messages(), 1);
}

TEST(a_forked_child_reports_as_a_new_program)
{
	struct fps_page own = {.lanes = 1};

	draw(100);
	assert_int_equal(report_poll(), SECOND);
	room = 50;
	assert_int_equal(report_poll(), FULL_NS);
	report_reset(); /* what the library calls in a forked child */
	assert_int_equal(channel.fd, -1);
	report_finish(); /* the child exits without having presented a frame */
	assert_int_equal(opens, 1);
	n_sent = FPS_MESSAGE_BYTES;
	room = sizeof(sent_bytes);
	own.lane[0].frames = 3;
	report_start(&own);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(messages(), 2);
	assert_int_equal(message(1).frames, 3);
	assert_int_equal(message(1).frame_time[30], 0);
	assert_int_equal(message(1).sequence, 1);
	assert_int_not_equal(message(1).program, message(0).program);
}

TEST(counters_do_not_wrap_when_the_page_does)
{
	for (int i = 0; i < 3; i++) {
		page_of_test.lane[0].frame_time[30] += UINT32_MAX;
		page_of_test.lane[0].frames += UINT32_MAX;
		assert_int_equal(report_poll(), SECOND);
	}
	assert_int_equal(message(2).frame_time[30], 3ull * UINT32_MAX);
	assert_int_equal(message(2).frames, 3ull * UINT32_MAX);
}

TEST(the_last_counters_are_sent_at_exit)
{
	draw(1);
	assert_int_equal(report_poll(), SECOND);
	draw(30);
	if (config.transport == SETUP_VSOCK) {
		room = 9;
		assert_int_equal(report_poll(), FULL_NS);
		draw(3);
		room = sizeof(sent_bytes);
	} else {
		draw(3);
	}
	report_finish();
	assert_int_equal(channel.fd, -1);
	assert_int_equal(messages(), config.transport == SETUP_VSOCK ? 3 : 2);
	assert_int_equal(message(messages() - 1).frames, 34);
	assert_int_equal(message(messages() - 1).flags, FPS_MESSAGE_LAST);
	assert_int_equal(message(0).flags, 0);
}

ALSO_WITH(the_last_counters_are_sent_at_exit, by_port, drop)

/* More data would corrupt the next message of another program on this port. */
TEST(exit_sends_nothing_after_a_partial_message)
{
	room = 200;
	assert_int_equal(report_poll(), FULL_NS);
	room = 100;
	report_finish();
	assert_int_equal(n_sent, 300);
}

#define LIMIT_NS 20000000

static struct fps_limit_message good_message(uint64_t period_ns)
{
	return (struct fps_limit_message){FPS_LIMIT_MAGIC, FPS_LIMIT_VERSION, period_ns,
					  FPS_LIMIT_END};
}

/* The daemon sends the first @bytes of a limit message. */
static void send_part(struct fps_limit_message limit_message, size_t bytes)
{
	uint64_t words[LIMIT_WORDS];

	memcpy(words, &limit_message, sizeof(words));
	for (size_t i = 0; i < LIMIT_WORDS; i++)
		words[i] = htole64(words[i]);
	assert_true(n_incoming + bytes <= sizeof(incoming));
	memcpy(incoming + n_incoming, words, bytes);
	n_incoming += bytes;
}

static void send_limit(uint64_t period_ns)
{
	send_part(good_message(period_ns), FPS_LIMIT_BYTES);
}

TEST(the_limit_is_set_changed_and_lifted)
{
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, 0); /* an older daemon sends no limit */
	send_limit(LIMIT_NS);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, LIMIT_NS);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, LIMIT_NS);
	send_limit(1000000);
	send_limit(1000000000); /* the last of several limits applies */
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, 1000000000);
	send_limit(0);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, 0);
	assert_int_equal(messages(), 5);
}

TEST(the_limit_stays_while_the_daemon_is_away)
{
	send_limit(LIMIT_NS);
	ended = true;
	assert_int_equal(report_poll(), SECOND);
	send_error = EPIPE;
	assert_int_equal(report_poll(), SECOND);
	open_error = ECONNREFUSED;
	assert_int_equal(report_poll(), 2 * SECOND);
	assert_int_equal(limit_ns, LIMIT_NS);
	send_error = open_error = busy_opens = 0;
	ended = false;
	send_limit(0); /* the restarted daemon has no limit */
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, 0);
}

/* The daemon lifts the limit of a removed vGPU and closes the connection. */
TEST(a_limit_sent_before_the_end_is_received)
{
	send_limit(LIMIT_NS);
	assert_int_equal(report_poll(), SECOND);
	send_limit(0);
	ended = true;
	send_error = EPIPE;
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, 0);
}

TEST(a_partial_limit_is_dropped_with_its_connection)
{
	send_part(good_message(LIMIT_NS), FPS_LIMIT_BYTES - 8);
	assert_int_equal(report_poll(), SECOND);
	send_error = EPIPE;
	assert_int_equal(report_poll(), SECOND);
	send_error = 0;
	memcpy(incoming, "max-end.", 8);
	n_incoming = 8;
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, 0);
	send_limit(1000000);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, 1000000);
}

TEST(limits_per_poll_are_bounded)
{
	for (size_t i = 0; i < sizeof(incoming) / FPS_LIMIT_BYTES; i++)
		send_limit(LIMIT_NS + i);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, LIMIT_NS + LIMITS_PER_POLL - 1);
	assert_int_equal(n_incoming, sizeof(incoming) - LIMITS_PER_POLL * FPS_LIMIT_BYTES);
	assert_int_equal(messages(), 1);
}

TEST_WITH(a_port_is_never_read, by_port, drop)
{
	send_limit(LIMIT_NS);
	for (int i = 0; i < 3; i++)
		assert_int_equal(report_poll(), SECOND);
	assert_int_equal(n_incoming, FPS_LIMIT_BYTES);
	assert_int_equal(limit_ns, 0);
}
