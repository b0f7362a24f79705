/* SPDX-License-Identifier: MIT */
/* What programs in virtual machines tell: which bytes are a message, which messages count, and at
 * what rate. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "monitor/fps/reporter.h"

#define NOW (1000 * NS_PER_S)

static const int one, other; /* connections */
static struct fps_reporters reporters;
static struct fps_totals totals;
static uint64_t now_ns;

static int setup(void **state)
{
	(void)state;
	reporters = (struct fps_reporters){.n = 0};
	totals = (struct fps_totals){.frames = 0};
	now_ns = NOW;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fps_reporters_free(&reporters);
	return 0;
}

/* Of a program that has lived @age_s, in a guest whose clock is nothing like ours. */
static struct fps_message message(uint64_t program, double age_s, uint64_t frames)
{
	struct fps_message m = {
		.magic = FPS_MESSAGE_MAGIC,
		.version = FPS_MESSAGE_VERSION,
		.program = program,
		.sequence = 1 + (uint64_t)(age_s * 100),
		.first_ns = 7 * NS_PER_S,
		.frames = frames,
		.end = FPS_MESSAGE_END,
	};

	m.sent_ns = m.newest_ns = m.first_ns + (uint64_t)(age_s * 1e9);
	m.frame_time[28] = frames;
	return m;
}

static bool take(const void *via, struct fps_message m)
{
	return fps_reporters_count_message(&reporters, via, &m, now_ns - NS_PER_S / 2, now_ns,
					   &totals);
}

static int sum(void)
{
	totals.reporting = 0;
	totals.reported_fps = 0;
	return fps_reporters_sum_rates(&reporters, now_ns, &totals);
}

static void pass(double s)
{
	now_ns += (uint64_t)(s * 1e9);
}

static void frames_and_rate_are_those_between_messages(void **state)
{
	(void)state;
	assert_true(take(&one, message(1, 0, 1)));
	assert_int_equal(totals.frames, 1);
	assert_int_equal(sum(), 1);
	assert_int_equal(totals.reporting, 0); /* one message is no rate */
	pass(1.3);			       /* however late it comes */
	assert_true(take(&one, message(1, 1, 61)));
	assert_int_equal(totals.frames, 61);
	assert_int_equal(totals.reported_frames, 61);
	assert_int_equal(totals.frame_time[28], 61);
	assert_int_equal(totals.newest_ns, now_ns);
	assert_int_equal(sum(), 1);
	assert_int_equal(totals.reporting, 1);
	assert_float_equal(totals.reported_fps, 60, 1e-9);
}

/* Where they can be; a wrong one costs no frame. */
static void gpu_time_and_the_longest_gap_come_along(void **state)
{
	static const struct {
		const char *what;
		uint64_t gpu_frames, gpu_time_ns, gap_ns; /* more than before */
		uint64_t counted, longest_ns;
	} rows[] = {
		{"honest", 60, 600000000, 30000000, 60, 30000000},
		{"not measured", 0, 0, 0, 0, 30000000},
		{"late", 64, 640000000, 10000000, 64, 40000000},
		{"more frames than drawn", 1500, 600000000, 0, 0, 40000000},
		{"more time than there was", 60, 1000 * NS_PER_S, 0, 0, 40000000},
		{"a gap longer than there was time", 0, 0, UINT64_MAX / 2, 0, 40000000},
	};
	struct fps_message sent = {.gpu_frames = 0};
	uint64_t gpu_frames = 0;

	(void)state;
	assert_true(take(&one, message(1, 0, 1000)));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fps_message m = message(1, (double)i + 1, 1060 + 60 * i);

		m.gpu_frames = sent.gpu_frames + rows[i].gpu_frames;
		m.gpu_time_ns = sent.gpu_time_ns + rows[i].gpu_time_ns;
		m.longest_gap_ns = sent.longest_gap_ns + rows[i].gap_ns;
		sent = m;
		pass(1);
		gpu_frames += rows[i].counted;
		if (!take(&one, m) || totals.frames != m.frames ||
		    totals.gpu_frames != gpu_frames || totals.longest_gap_ns != rows[i].longest_ns)
			fail_msg("%s: GPU %llu, gap %llu", rows[i].what,
				 (unsigned long long)totals.gpu_frames,
				 (unsigned long long)totals.longest_gap_ns);
	}
	assert_int_equal(totals.gpu_time_ns, 1240000000);
}

/* As after a stall, or from who floods: a frame in a millisecond is no 1,000 a second. */
static void messages_close_together_make_no_rate(void **state)
{
	(void)state;
	assert_true(take(&one, message(1, 0, 1)));
	assert_true(take(&one, message(1, 0.01, 2)));
	assert_true(take(&one, message(1, 0.02, 3)));
	assert_int_equal(sum(), 1);
	assert_int_equal(totals.reporting, 0);
	assert_true(take(&one, message(1, 0.5, 31)));
	assert_int_equal(sum(), 1);
	assert_float_equal(totals.reported_fps, 60, 1e-9);
	assert_true(take(&one, message(1, 0.51, 41)));
	assert_int_equal(sum(), 1);
	assert_float_equal(totals.reported_fps, 60, 1e-9);
}

static void a_rate_stands_until_the_next_message_then_there_are_no_frames(void **state)
{
	(void)state;
	assert_true(take(&one, message(1, 0, 1)));
	assert_true(take(&one, message(1, 1, 31)));
	pass(2.4);
	assert_int_equal(sum(), 1);
	assert_float_equal(totals.reported_fps, 30, 1e-9);
	pass(0.2);
	assert_int_equal(sum(), 1);
	assert_int_equal(totals.reporting, 1);
	assert_float_equal(totals.reported_fps, 0, 1e-9); /* connected, and silent */
	fps_reporters_disconnect(&reporters, &one);
	assert_int_equal(sum(), 0);
	assert_int_equal(totals.reporting, 0);
}

static void on_a_port_who_is_silent_is_gone(void **state)
{
	(void)state;
	reporters.fleeting = true;
	assert_true(take(&one, message(1, 0, 1)));
	assert_true(take(&one, message(1, 1, 31)));
	assert_true(take(&one, message(2, 0, 1)));
	assert_int_equal(sum(), 2); /* several on one connection */
	pass(2.6);
	assert_int_equal(sum(), 0);
	assert_int_equal(totals.reporting, 0);
	assert_true(take(&one, message(1, 4, 121)));
	assert_int_equal(totals.frames, 122); /* and goes on when it speaks again */
	assert_int_equal(sum(), 1);
}

static void a_last_message_ends_a_program(void **state)
{
	struct fps_message last = message(1, 1.5, 91);

	(void)state;
	reporters.fleeting = true;
	assert_true(take(&one, message(1, 0, 1)));
	assert_true(take(&one, message(1, 1, 61)));
	last.flags = FPS_MESSAGE_LAST;
	assert_true(take(&one, last));
	assert_int_equal(totals.frames, 91);
	assert_int_equal(sum(), 0);
}

static void a_program_that_finds_another_connection_goes_on(void **state)
{
	(void)state;
	assert_true(take(&one, message(1, 0, 1)));
	assert_true(take(&one, message(1, 1, 61)));
	fps_reporters_disconnect(&reporters, &one);
	pass(9);
	assert_true(take(&other, message(1, 10, 601)));
	assert_int_equal(totals.frames, 601); /* those between are not lost */
	assert_int_equal(sum(), 1);
	fps_reporters_disconnect(&reporters, &one); /* the old one's end means nothing */
	assert_int_equal(sum(), 1);
}

static void a_program_older_than_our_time_counts_from_now(void **state)
{
	(void)state;
	assert_true(take(&one, message(1, 3600, 200000)));
	assert_int_equal(totals.frames, 0);
	assert_true(take(&one, message(1, 3601, 200060)));
	assert_int_equal(totals.frames, 60);
	assert_true(take(&other, message(2, 2, 120)));
	assert_int_equal(totals.frames, 180); /* began since the last tick, about */
}

static void a_connection_has_one_program(void **state)
{
	(void)state;
	assert_true(take(&one, message(1, 0, 1)));
	assert_true(take(&one, message(1, 1, 61)));
	assert_true(take(&one, message(2, 0, 1))); /* began anew */
	assert_int_equal(sum(), 1);
	assert_int_equal(totals.reporting, 0);
	assert_int_equal(totals.frames, 62);
}

/* Each row comes a second after an honest message of 100 frames; an honest one follows. */
static void what_cannot_be_counts_nothing(void **state)
{
	static const struct {
		const char *what;
		size_t field; /* offset */
		int64_t step;
		bool counts;
	} rows[] = {
		{"honest", offsetof(struct fps_message, frames), 0, true},
		{"frames backwards", offsetof(struct fps_message, frames), -61, false},
		{"frames absurd", offsetof(struct fps_message, frames), INT64_MAX, false},
		{"too many frames", offsetof(struct fps_message, frames), 200001, false},
		{"another beginning", offsetof(struct fps_message, first_ns), 1, false},
		{"sent before", offsetof(struct fps_message, sent_ns), -2000000000, false},
		{"newest after it was sent", offsetof(struct fps_message, newest_ns), 1, false},
		{"more GPU frames than frames", offsetof(struct fps_message, gpu_frames), 9999,
		 false},
		{"a bucket backwards", offsetof(struct fps_message, frame_time[28]), -61, false},
		{"a bucket absurd", offsetof(struct fps_message, frame_time[3]), INT64_MAX, false},
		{"many more frame times", offsetof(struct fps_message, frame_time[3]), 300000,
		 false},
		{"an unknown flag", offsetof(struct fps_message, flags), 2, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fps_message m = message(i, 1, 160);
		uint64_t before, value;

		assert_true(take(&one, message(i, 0, 100)));
		pass(1);
		before = totals.frames;
		memcpy(&value, (char *)&m + rows[i].field, sizeof(value));
		value += (uint64_t)rows[i].step;
		memcpy((char *)&m + rows[i].field, &value, sizeof(value));
		if (take(&one, m) != rows[i].counts ||
		    totals.frames - before != (rows[i].counts ? 60 : 0))
			fail_msg("%s: %llu frames counted", rows[i].what,
				 (unsigned long long)(totals.frames - before));
		assert_int_equal(sum(), 1);
		assert_int_equal(totals.reporting, rows[i].counts);
		pass(1);
	}
}

static void honest_ones_count_again_after_a_lie(void **state)
{
	(void)state;
	assert_true(take(&one, message(1, 0, 100)));
	pass(1);
	assert_false(take(&one, message(1, 1, 1000000)));
	pass(1);
	assert_false(take(&one, message(1, 2, 220))); /* back: this is the new beginning */
	pass(1);
	assert_true(take(&one, message(1, 3, 280)));
	assert_int_equal(totals.frames, 160);
	assert_int_equal(sum(), 1);
	assert_float_equal(totals.reported_fps, 60, 1e-9);
}

static void a_message_counts_once(void **state)
{
	struct fps_message again = message(1, 1, 61);

	(void)state;
	assert_true(take(&one, message(1, 0, 1)));
	assert_true(take(&one, again));
	assert_false(take(&one, again));
	again.frames += 100;
	assert_false(take(&one, again)); /* the sequence says so */
	assert_int_equal(totals.frames, 61);
}

static void four_a_second_are_looked_at(void **state)
{
	int taken = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		taken += take(&one, message(1, i * 0.01, (uint64_t)i));
		pass(0.01);
	}
	assert_in_range(taken, 40, 48);
	pass(1);
	assert_true(take(&one, message(1, 11, 2000))); /* and nothing is lost */
	assert_int_equal(totals.frames, 2000);
}

static void a_machine_has_so_many_programs_and_no_more(void **state)
{
	(void)state;
	reporters.fleeting = true;
	for (uint64_t i = 0; i < 2 * FPS_REPORTERS_MAX; i++)
		assert_int_equal(take(&one, message(i, 0, 1)), i < FPS_REPORTERS_MAX);
	assert_int_equal(reporters.n, FPS_REPORTERS_MAX);
	assert_int_equal(sum(), FPS_REPORTERS_MAX);
	pass(3); /* silent ones make room */
	assert_true(take(&one, message(99, 0, 1)));
	assert_int_equal(reporters.n, FPS_REPORTERS_MAX);
	pass(61);
	assert_int_equal(sum(), 0);
	assert_int_equal(reporters.n, 0);
}

static void who_always_begins_anew_gains_nothing(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		(void)take(&one, message(i, 0, 1));
		pass(0.001);
		assert_true(sum() <= 1);
		assert_int_equal(totals.reporting, 0);
	}
	assert_true(reporters.n <= FPS_REPORTERS_MAX);
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void an_answer_travels_the_same_from_every_machine(void **state)
{
	uint8_t bytes[FPS_LIMIT_BYTES];

	(void)state;
	fps_limit_encode(20000000, bytes);
	assert_memory_equal(bytes,
			    "govr-max"
			    "\x01\0\0\0\0\0\0\0"
			    "\x00\x2d\x31\x01\0\0\0\0"
			    "max-end.",
			    sizeof(bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RULE(frames_and_rate_are_those_between_messages),
		RULE(gpu_time_and_the_longest_gap_come_along),
		RULE(messages_close_together_make_no_rate),
		RULE(a_rate_stands_until_the_next_message_then_there_are_no_frames),
		RULE(on_a_port_who_is_silent_is_gone),
		RULE(a_last_message_ends_a_program),
		RULE(a_program_that_finds_another_connection_goes_on),
		RULE(a_program_older_than_our_time_counts_from_now),
		RULE(a_connection_has_one_program),
		RULE(what_cannot_be_counts_nothing),
		RULE(honest_ones_count_again_after_a_lie),
		RULE(a_message_counts_once),
		RULE(four_a_second_are_looked_at),
		RULE(a_machine_has_so_many_programs_and_no_more),
		RULE(who_always_begins_anew_gains_nothing),
		RULE(an_answer_travels_the_same_from_every_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
