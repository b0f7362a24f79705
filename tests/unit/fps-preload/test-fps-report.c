/* SPDX-License-Identifier: MIT */
/* The preload's messages out of a virtual machine: whole ones, one at a time, whatever the way
 * does; and the limit that comes back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <endian.h>
#include <fcntl.h>
#include <stdbool.h>
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

#define SECOND NS_PER_S

static struct fps_page drawn;
static int dials, dial_error; /* 0: it is there at once */
static int ready_error;
static size_t room; /* bytes that the way takes before it is full */
static int broken;  /* an errno of the way */
static int last_fd;
static char got[64 * FPS_MESSAGE_BYTES];
static size_t got_bytes;
static char said[1024]; /* the daemon's answers that are not read yet */
static size_t said_bytes;
static bool ended; /* behind them */
static uint32_t limit_ns;

static ssize_t take(int fd, const void *bytes, size_t size)
{
	size_t n = size < room ? size : room;

	last_fd = fd;
	if (broken || n == 0) {
		errno = broken ? broken : EAGAIN;
		return -1;
	}
	assert_true(got_bytes + n <= sizeof(got));
	memcpy(got + got_bytes, bytes, n);
	got_bytes += n;
	room -= n;
	return (ssize_t)n;
}

static ssize_t fake_send(int fd, const void *bytes, size_t size, int flags)
{
	assert_int_equal(flags, MSG_DONTWAIT | MSG_NOSIGNAL);
	assert_int_equal(to.transport, SETUP_VSOCK);
	return take(fd, bytes, size);
}

static ssize_t fake_write(int fd, const void *bytes, size_t size)
{
	assert_int_equal(to.transport, SETUP_PORT);
	return take(fd, bytes, size);
}

static ssize_t fake_recv(int fd, void *bytes, size_t size, int flags)
{
	size_t n = size < said_bytes ? size : said_bytes;

	assert_int_equal(flags, MSG_DONTWAIT);
	assert_int_equal(to.transport, SETUP_VSOCK);
	assert_int_equal(fd, way.fd);
	if (n == 0) {
		errno = EAGAIN;
		return ended ? 0 : -1;
	}
	memcpy(bytes, said, n);
	said_bytes -= n;
	memmove(said, said + n, said_bytes);
	return (ssize_t)n;
}

static int dial(struct owned_fd *ret_owned)
{
	dials++;
	return dial_error ? -dial_error
			  : owned_fd_take(open("/dev/null", O_WRONLY | O_CLOEXEC), ret_owned);
}

int channel_open_vsock(const struct sockaddr_vm *host, struct owned_fd *ret_sock)
{
	assert_int_equal(host->svm_cid, 2);
	return dial(ret_sock);
}

int channel_open_port(const char *name, struct owned_fd *ret_port)
{
	assert_string_equal(name, "org.gover.fps.0");
	return dial(ret_port);
}

int channel_check_connected(const struct owned_fd *sock)
{
	assert_true(sock->fd >= 0);
	return -ready_error;
}

static void begin(enum setup_transport by)
{
	const struct setup setup = {
		.transport = by, .host = {.svm_cid = 2}, .port = "org.gover.fps.0"};

	dials = dial_error = ready_error = broken = 0;
	room = sizeof(got);
	got_bytes = said_bytes = 0;
	ended = false;
	limit_ns = 0;
	memset(&drawn, 0, sizeof(drawn));
	drawn.lanes = 1;
	drawn.first_ns = 5;
	report_setup(&setup, &limit_ns);
	report_start(&drawn);
}

static int by_vsock(void **state)
{
	(void)state;
	begin(SETUP_VSOCK);
	return 0;
}

static int by_port(void **state)
{
	(void)state;
	begin(SETUP_PORT);
	return 0;
}

static int drop(void **state)
{
	(void)state;
	report_reset();
	return 0;
}

static void draw(uint64_t frames)
{
	drawn.lane[0].frames += frames;
	drawn.lane[0].frame_time[30] += (uint32_t)frames;
	drawn.lane[0].last_ns += frames;
}

/* Message number @index as it arrived; all of them are whole. */
static struct fps_message message(size_t index)
{
	uint64_t words[WORDS];
	struct fps_message arrived;

	assert_true((index + 1) * sizeof(words) <= got_bytes);
	memcpy(words, got + index * sizeof(words), sizeof(words));
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
	assert_int_equal(got_bytes % FPS_MESSAGE_BYTES, 0);
	return got_bytes / FPS_MESSAGE_BYTES;
}

static void a_message_a_second_says_all_that_was_drawn(void **state)
{
	(void)state;
	draw(1);
	assert_int_equal(report_poll(), SECOND);
	drawn.lanes = FPS_WIRE_LANES + 3;
	drawn.lane[FPS_WIRE_LANES - 1].frames = 7;
	drawn.lane[FPS_WIRE_LANES - 1].longest_gap_ns = 900;
	drawn.lane[FPS_WIRE_LANES - 1].gpu_frames = 2;
	drawn.lane[FPS_WIRE_LANES - 1].gpu_time_ns = 300;
	drawn.lane[0].gpu_frames = 40;
	drawn.lane[0].gpu_time_ns = 5000;
	draw(60);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(messages(), 2);
	assert_int_equal(dials, 1);
	assert_memory_equal(got, "govr-fps\x01\0\0\0\0\0\0\0", 16);
	assert_memory_equal(got + FPS_MESSAGE_BYTES - 8, "fps-end.", 8);
	assert_int_equal(message(0).frames, 1);
	assert_int_equal(message(1).frames, 68);
	assert_int_equal(message(1).frame_time[30], 61);
	assert_int_equal(message(1).longest_gap_ns, 900);
	assert_int_equal(message(0).gpu_frames, 0);
	assert_int_equal(message(1).gpu_frames, 42);
	assert_int_equal(message(1).gpu_time_ns, 5300);
	assert_int_equal(message(1).newest_ns, 61);
	assert_int_equal(message(1).first_ns, 5);
	assert_int_equal(message(0).newest_ns, 5); /* never before the first */
	assert_int_equal(message(0).program, message(1).program);
	assert_int_equal(message(1).sequence, message(0).sequence + 1);
	assert_true(message(1).sent_ns >= message(0).sent_ns);
	assert_int_equal(message(1).flags, 0);
}

static void half_a_message_is_completed_before_the_next(void **state)
{
	(void)state;
	draw(1);
	room = 100;
	assert_int_equal(report_poll(), FULL_NS);
	draw(10);
	assert_int_equal(report_poll(), FULL_NS);
	room = 515;
	assert_int_equal(report_poll(), FULL_NS);
	assert_int_equal(got_bytes, FPS_MESSAGE_BYTES - 1);
	room = sizeof(got);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(messages(), 1);
	assert_int_equal(message(0).frames, 1);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(messages(), 2);
	assert_int_equal(message(1).frames, 11);
	assert_int_equal(dials, 1);
}

static void a_message_that_has_not_begun_is_made_anew(void **state)
{
	(void)state;
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

static void a_new_connection_begins_with_a_whole_message(void **state)
{
	(void)state;
	draw(5);
	room = 300;
	assert_int_equal(report_poll(), FULL_NS);
	broken = EPIPE;
	assert_int_equal(report_poll(), SECOND);
	broken = 0;
	got_bytes = 0;
	room = sizeof(got);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(dials, 2);
	assert_int_equal(messages(), 1);
	assert_int_equal(message(0).frames, 5);
}

static void a_connection_may_take_its_time(void **state)
{
	(void)state;
	ready_error = EINPROGRESS;
	for (int i = 0; i < 5; i++)
		assert_int_equal(report_poll(), SOON_NS);
	ready_error = 0;
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(dials, 1);
	assert_int_equal(messages(), 1);
}

/* Refused by seccomp, by the kernel, by the host: all the same. */
static void who_finds_no_way_waits_longer_and_longer(void **state)
{
	static const uint64_t waits_s[] = {1, 2, 4, 8, 8, 8};
	static const int errors[] = {EPERM, ENODEV, EAFNOSUPPORT, ECONNRESET, ETIMEDOUT, EACCES};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(waits_s); i++) {
		dial_error = i % 2 ? errors[i] : 0;
		ready_error = i % 2 ? 0 : errors[i];
		assert_int_equal(report_poll(), waits_s[i] * SECOND);
		assert_int_equal(way.fd, -1);
	}
	assert_int_equal(dials, ARRAY_SIZE(waits_s));
	assert_int_equal(got_bytes, 0);
}

static void a_connection_that_is_lost_at_once_was_no_success(void **state)
{
	static const uint64_t waits_s[] = {1, 2, 4, 8, 8};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(waits_s); i++) {
		assert_int_equal(report_poll(), SECOND); /* into a connection that is not taken */
		broken = EPIPE;
		assert_int_equal(report_poll(), waits_s[i] * SECOND);
		broken = 0;
	}
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(report_poll(), SECOND);
	broken = EPIPE;
	assert_int_equal(report_poll(), SECOND);
}

static void what_has_become_the_programs_is_left_alone(void **state)
{
	int theirs = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), was;

	(void)state;
	assert_int_equal(report_poll(), SECOND);
	was = way.fd;
	assert_int_equal(dup2(theirs, was), was);
	assert_int_equal(report_poll(), SECOND);
	assert_int_not_equal(last_fd, was);
	assert_int_equal(dials, 2);
	assert_true(fcntl(was, F_GETFD) >= 0);
	assert_int_equal(close(was), 0);
	assert_int_equal(close(theirs), 0);
}

static void a_port_is_open_for_a_message_alone(void **state)
{
	(void)state;
	for (int i = 1; i <= 3; i++) {
		draw(60);
		assert_int_equal(report_poll(), SECOND);
		assert_int_equal(way.fd, -1);
		assert_int_equal(dials, i);
	}
	assert_int_equal(messages(), 3);
	assert_int_equal(message(2).frames, 180);
}

static void a_port_that_is_taken_or_that_nobody_reads_is_tried_again(void **state)
{
	(void)state;
	dial_error = EBUSY;
	assert_int_equal(report_poll(), SECOND);
	dial_error = 0;
	room = 0;
	assert_int_equal(report_poll(), 2 * SECOND);
	assert_int_equal(way.fd, -1);
	room = sizeof(got);
	assert_int_equal(report_poll(), SECOND);
	dial_error = EBUSY;
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(messages(), 1);
}

/* Linux's driver never does it, but then the port must stay ours. */
static void half_a_message_keeps_the_port_open(void **state)
{
	(void)state;
	room = 616 / 2;
	assert_int_equal(report_poll(), FULL_NS);
	assert_true(way.fd >= 0);
	room = sizeof(got);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(way.fd, -1);
	assert_int_equal(dials, 1);
	assert_int_equal(messages(), 1);
}

static void a_child_is_a_program_of_its_own(void **state)
{
	struct fps_page own = {.lanes = 1};

	(void)state;
	draw(100);
	assert_int_equal(report_poll(), SECOND);
	room = 50;
	assert_int_equal(report_poll(), FULL_NS);
	report_reset(); /* as fork() does */
	assert_int_equal(way.fd, -1);
	report_finish(); /* it presents nothing, and ends */
	assert_int_equal(dials, 1);
	got_bytes = FPS_MESSAGE_BYTES;
	room = sizeof(got);
	own.lane[0].frames = 3;
	report_start(&own);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(messages(), 2);
	assert_int_equal(message(1).frames, 3);
	assert_int_equal(message(1).frame_time[30], 0);
	assert_int_equal(message(1).sequence, 1);
	assert_int_not_equal(message(1).program, message(0).program);
}

static void counts_do_not_wrap_where_the_pages_do(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		drawn.lane[0].frame_time[30] += UINT32_MAX;
		drawn.lane[0].frames += UINT32_MAX;
		assert_int_equal(report_poll(), SECOND);
	}
	assert_int_equal(message(2).frame_time[30], 3ull * UINT32_MAX);
	assert_int_equal(message(2).frames, 3ull * UINT32_MAX);
}

static void the_last_counts_are_sent_at_the_end(void **state)
{
	(void)state;
	draw(1);
	assert_int_equal(report_poll(), SECOND);
	draw(30);
	if (to.transport == SETUP_VSOCK) {
		room = 9;
		assert_int_equal(report_poll(), FULL_NS);
		draw(3);
		room = sizeof(got);
	} else {
		draw(3);
	}
	report_finish();
	assert_int_equal(way.fd, -1);
	assert_int_equal(messages(), to.transport == SETUP_VSOCK ? 3 : 2);
	assert_int_equal(message(messages() - 1).frames, 34);
	assert_int_equal(message(messages() - 1).flags, FPS_MESSAGE_LAST);
	assert_int_equal(message(0).flags, 0);
}

/* Half a message on a way that lives on would spoil the next one's. */
static void the_end_sends_nothing_behind_half_a_message(void **state)
{
	(void)state;
	room = 200;
	assert_int_equal(report_poll(), FULL_NS);
	room = 100;
	report_finish();
	assert_int_equal(got_bytes, 300);
}

#define LIMIT_NS 20000000

static struct fps_limit_message good_answer(uint64_t period_ns)
{
	return (struct fps_limit_message){FPS_LIMIT_MAGIC, FPS_LIMIT_VERSION, period_ns,
					  FPS_LIMIT_END};
}

/* The daemon says the first @bytes of an answer. */
static void say_part(struct fps_limit_message answer, size_t bytes)
{
	uint64_t words[ANSWER_WORDS];

	memcpy(words, &answer, sizeof(words));
	for (size_t i = 0; i < ANSWER_WORDS; i++)
		words[i] = htole64(words[i]);
	assert_true(said_bytes + bytes <= sizeof(said));
	memcpy(said + said_bytes, words, bytes);
	said_bytes += bytes;
}

static void say_limit(uint64_t period_ns)
{
	say_part(good_answer(period_ns), FPS_LIMIT_BYTES);
}

static void the_daemons_limit_comes_and_goes(void **state)
{
	(void)state;
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, 0); /* an older one says nothing */
	say_limit(LIMIT_NS);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, LIMIT_NS);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, LIMIT_NS);
	say_limit(1000000);
	say_limit(1000000000); /* the last one stands */
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, 1000000000);
	say_limit(0);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, 0);
	assert_int_equal(messages(), 5);
}

static void the_limit_stands_while_the_daemon_is_away(void **state)
{
	(void)state;
	say_limit(LIMIT_NS);
	ended = true;
	assert_int_equal(report_poll(), SECOND);
	broken = EPIPE;
	assert_int_equal(report_poll(), SECOND);
	dial_error = ECONNREFUSED;
	assert_int_equal(report_poll(), 2 * SECOND);
	assert_int_equal(limit_ns, LIMIT_NS);
	broken = dial_error = 0;
	ended = false;
	say_limit(0); /* the next one knows of none */
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, 0);
}

/* Who is let go is told so, and finds the connection ended. */
static void what_was_said_before_the_end_is_heard(void **state)
{
	(void)state;
	say_limit(LIMIT_NS);
	assert_int_equal(report_poll(), SECOND);
	say_limit(0);
	ended = true;
	broken = EPIPE;
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, 0);
}

static void half_an_answer_ends_with_its_connection(void **state)
{
	(void)state;
	say_part(good_answer(LIMIT_NS), FPS_LIMIT_BYTES - 8);
	assert_int_equal(report_poll(), SECOND);
	broken = EPIPE;
	assert_int_equal(report_poll(), SECOND);
	broken = 0;
	memcpy(said, "max-end.", 8);
	said_bytes = 8;
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, 0);
	say_limit(1000000);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, 1000000);
}

static void who_answers_without_end_takes_no_more_of_our_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(said) / FPS_LIMIT_BYTES; i++)
		say_limit(LIMIT_NS + i);
	assert_int_equal(report_poll(), SECOND);
	assert_int_equal(limit_ns, LIMIT_NS + ANSWERS_AT_ONCE - 1);
	assert_int_equal(said_bytes, sizeof(said) - ANSWERS_AT_ONCE * FPS_LIMIT_BYTES);
	assert_int_equal(messages(), 1);
}

static void a_port_is_not_read(void **state)
{
	(void)state;
	say_limit(LIMIT_NS);
	for (int i = 0; i < 3; i++)
		assert_int_equal(report_poll(), SECOND);
	assert_int_equal(said_bytes, FPS_LIMIT_BYTES);
	assert_int_equal(limit_ns, 0);
}

#define VSOCK(name) cmocka_unit_test_setup_teardown(name, by_vsock, drop)
#define PORT(name)  cmocka_unit_test_setup_teardown(name, by_port, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		VSOCK(a_message_a_second_says_all_that_was_drawn),
		VSOCK(half_a_message_is_completed_before_the_next),
		VSOCK(a_message_that_has_not_begun_is_made_anew),
		VSOCK(a_new_connection_begins_with_a_whole_message),
		VSOCK(a_connection_may_take_its_time),
		VSOCK(who_finds_no_way_waits_longer_and_longer),
		VSOCK(a_connection_that_is_lost_at_once_was_no_success),
		VSOCK(what_has_become_the_programs_is_left_alone),
		PORT(a_port_is_open_for_a_message_alone),
		PORT(a_port_that_is_taken_or_that_nobody_reads_is_tried_again),
		PORT(half_a_message_keeps_the_port_open),
		VSOCK(a_child_is_a_program_of_its_own),
		VSOCK(counts_do_not_wrap_where_the_pages_do),
		VSOCK(the_last_counts_are_sent_at_the_end),
		PORT(the_last_counts_are_sent_at_the_end),
		VSOCK(the_end_sends_nothing_behind_half_a_message),
		VSOCK(the_daemons_limit_comes_and_goes),
		VSOCK(the_limit_stands_while_the_daemon_is_away),
		VSOCK(what_was_said_before_the_end_is_heard),
		VSOCK(half_an_answer_ends_with_its_connection),
		VSOCK(who_answers_without_end_takes_no_more_of_our_time),
		PORT(a_port_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
