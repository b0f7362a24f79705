/* SPDX-License-Identifier: MIT */
/* The library in a virtual machine sends complete messages, one at a time, over an unreliable
 * channel. */
#include "tests/unit/fps-preload/test-fps-report-rig.h"

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
