/* SPDX-License-Identifier: MIT */
/* The library in a virtual machine receives the frame rate limit. */
#include "tests/unit/fps-preload/test-fps-report-rig.h"

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

FIXTURE(by_vsock, drop)

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
