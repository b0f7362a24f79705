/* SPDX-License-Identifier: MIT */
/* Messages of programs in virtual machines: parsing, plausibility, and rates. */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "monitor/fps/reporter.h"
#include "tests/unit/unit.h"

#define NOW (1000 * NS_PER_S)

static const int one, other; /* connections */
static struct fps_reporters reporters;
static struct fps_totals totals;
static uint64_t now_ns;

static int setup(void)
{
	reporters = (struct fps_reporters){.n = 0};
	totals = (struct fps_totals){.frames = 0};
	now_ns = NOW;
	return 0;
}

static int teardown(void)
{
	fps_reporters_free(&reporters);
	return 0;
}

FIXTURE(setup, teardown)

/* A message of a program that has run for @age_s. The guest's clock differs from the host's. */
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

TEST(frames_and_rates_are_differences_of_messages)
{
	assert_true(take(&one, message(1, 0, 1)));
	assert_int_equal(totals.frames, 1);
	assert_int_equal(sum(), 1);
	assert_int_equal(totals.reporting, 0); /* a rate needs two messages */
	pass(1.3);			       /* the next message arrives 0.3 s late */
	assert_true(take(&one, message(1, 1, 61)));
	assert_int_equal(totals.frames, 61);
	assert_int_equal(totals.reported_frames, 61);
	assert_int_equal(totals.frame_time[28], 61);
	assert_int_equal(totals.newest_ns, now_ns);
	assert_int_equal(sum(), 1);
	assert_int_equal(totals.reporting, 1);
	assert_float_equal(totals.reported_fps, 60, 1e-9);
}

/* Implausible GPU times and gaps are ignored. The frames of the message count. */
TEST(gpu_time_and_longest_gap_are_reported)
{
	static const struct {
		const char *what;
		uint64_t gpu_frames, gpu_time_ns, gap_ns; /* increase */
		uint64_t counted, longest_ns;
	} rows[] = {
		{"plausible", 60, 600000000, 30000000, 60, 30000000},
		{"not measured", 0, 0, 0, 0, 30000000},
		{"late", 64, 640000000, 10000000, 64, 40000000},
		{"more frames than drawn", 1500, 600000000, 0, 0, 40000000},
		{"more time than elapsed", 60, 1000 * NS_PER_S, 0, 0, 40000000},
		{"a gap longer than the clock", 0, 0, UINT64_MAX / 2, 0, 40000000},
	};
	struct fps_message sent = {.gpu_frames = 0};
	uint64_t gpu_frames = 0;

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

/*
 * After a stall, messages may follow each other closely. One frame in 10 ms does not mean 100 FPS.
 */
TEST(messages_close_together_give_no_rate)
{
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

TEST(a_rate_holds_until_the_next_message_is_overdue)
{
	assert_true(take(&one, message(1, 0, 1)));
	assert_true(take(&one, message(1, 1, 31)));
	pass(2.4);
	assert_int_equal(sum(), 1);
	assert_float_equal(totals.reported_fps, 30, 1e-9);
	pass(0.2);
	assert_int_equal(sum(), 1);
	assert_int_equal(totals.reporting, 1);
	/* A silent program has 0 FPS while it is connected. */
	assert_float_equal(totals.reported_fps, 0, 1e-9);
	fps_reporters_disconnect(&reporters, &one);
	assert_int_equal(sum(), 0);
	assert_int_equal(totals.reporting, 0);
}

TEST(on_a_port_a_silent_program_has_exited)
{
	reporters.connectionless = true;
	assert_true(take(&one, message(1, 0, 1)));
	assert_true(take(&one, message(1, 1, 31)));
	assert_true(take(&one, message(2, 0, 1)));
	assert_int_equal(sum(), 2); /* one port carries the messages of several programs */
	pass(2.6);
	assert_int_equal(sum(), 0);
	assert_int_equal(totals.reporting, 0);
	assert_true(take(&one, message(1, 4, 121)));
	assert_int_equal(totals.frames, 122); /* counting continues with the next message */
	assert_int_equal(sum(), 1);
}

TEST(the_last_message_removes_the_program)
{
	struct fps_message last = message(1, 1.5, 91);

	reporters.connectionless = true;
	assert_true(take(&one, message(1, 0, 1)));
	assert_true(take(&one, message(1, 1, 61)));
	last.flags = FPS_MESSAGE_LAST;
	assert_true(take(&one, last));
	assert_int_equal(totals.frames, 91);
	assert_int_equal(sum(), 0);
}

TEST(a_reconnected_program_continues)
{
	assert_true(take(&one, message(1, 0, 1)));
	assert_true(take(&one, message(1, 1, 61)));
	fps_reporters_disconnect(&reporters, &one);
	pass(9);
	assert_true(take(&other, message(1, 10, 601)));
	assert_int_equal(totals.frames, 601); /* the frames between the messages are counted */
	assert_int_equal(sum(), 1);
	fps_reporters_disconnect(&reporters,
				 &one); /* the end of the old connection has no effect */
	assert_int_equal(sum(), 1);
}

TEST(a_program_older_than_the_last_tick_counts_from_now)
{
	assert_true(take(&one, message(1, 3600, 200000)));
	assert_int_equal(totals.frames, 0);
	assert_true(take(&one, message(1, 3601, 200060)));
	assert_int_equal(totals.frames, 60);
	assert_true(take(&other, message(2, 2, 120)));
	/* Program 2 started shortly before the last tick, so all its frames count. */
	assert_int_equal(totals.frames, 180);
}

TEST(a_connection_has_one_program)
{
	assert_true(take(&one, message(1, 0, 1)));
	assert_true(take(&one, message(1, 1, 61)));
	assert_true(take(&one, message(2, 0, 1))); /* the program restarted */
	assert_int_equal(sum(), 1);
	assert_int_equal(totals.reporting, 0);
	assert_int_equal(totals.frames, 62);
}

/* Each row is an implausible message, sent between two plausible messages. */
TEST(implausible_messages_are_ignored)
{
	static const struct {
		const char *what;
		size_t field; /* offset */
		int64_t step;
		bool counts;
	} rows[] = {
		{"plausible", offsetof(struct fps_message, frames), 0, true},
		{"frames backwards", offsetof(struct fps_message, frames), -61, false},
		{"far too many frames", offsetof(struct fps_message, frames), INT64_MAX, false},
		{"too many frames", offsetof(struct fps_message, frames), 200001, false},
		{"first_ns changed", offsetof(struct fps_message, first_ns), 1, false},
		{"sent earlier", offsetof(struct fps_message, sent_ns), -2000000000, false},
		{"newest after it was sent", offsetof(struct fps_message, newest_ns), 1, false},
		{"more GPU frames than frames", offsetof(struct fps_message, gpu_frames), 9999,
		 false},
		{"a bucket backwards", offsetof(struct fps_message, frame_time[28]), -61, false},
		{"a bucket far too high", offsetof(struct fps_message, frame_time[3]), INT64_MAX,
		 false},
		{"many more frame times", offsetof(struct fps_message, frame_time[3]), 300000,
		 false},
		{"an unknown flag", offsetof(struct fps_message, flags), 2, false},
	};

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

TEST(counting_resumes_after_an_implausible_message)
{
	assert_true(take(&one, message(1, 0, 100)));
	pass(1);
	assert_false(take(&one, message(1, 1, 1000000)));
	pass(1);
	/* This message has fewer frames than the ignored message, so it is ignored too. */
	assert_false(take(&one, message(1, 2, 220)));
	pass(1);
	assert_true(take(&one, message(1, 3, 280)));
	assert_int_equal(totals.frames, 160);
	assert_int_equal(sum(), 1);
	assert_float_equal(totals.reported_fps, 60, 1e-9);
}

TEST(a_message_counts_once)
{
	struct fps_message again = message(1, 1, 61);

	assert_true(take(&one, message(1, 0, 1)));
	assert_true(take(&one, again));
	assert_false(take(&one, again));
	again.frames += 100;
	assert_false(take(&one, again)); /* the sequence number is not new */
	assert_int_equal(totals.frames, 61);
}

TEST(four_messages_a_second_are_accepted)
{
	int taken = 0;

	for (int i = 0; i < 1000; i++) {
		taken += take(&one, message(1, i * 0.01, (uint64_t)i));
		pass(0.01);
	}
	assert_in_range(taken, 40, 48);
	pass(1);
	/* The counter includes the frames of the ignored messages. */
	assert_true(take(&one, message(1, 11, 2000)));
	assert_int_equal(totals.frames, 2000);
}

TEST(programs_per_virtual_machine_are_limited)
{
	reporters.connectionless = true;
	for (uint64_t i = 0; i < 2 * FPS_REPORTERS_MAX; i++)
		assert_int_equal(take(&one, message(i, 0, 1)), i < FPS_REPORTERS_MAX);
	assert_int_equal(reporters.n, FPS_REPORTERS_MAX);
	assert_int_equal(sum(), FPS_REPORTERS_MAX);
	pass(3); /* a silent program may be replaced */
	assert_true(take(&one, message(99, 0, 1)));
	assert_int_equal(reporters.n, FPS_REPORTERS_MAX);
	pass(61);
	assert_int_equal(sum(), 0);
	assert_int_equal(reporters.n, 0);
}

TEST(new_ids_count_no_extra_frames)
{
	for (uint64_t i = 0; i < 1000; i++) {
		(void)take(&one, message(i, 0, 1));
		pass(0.001);
		assert_true(sum() <= 1);
		assert_int_equal(totals.reporting, 0);
	}
	assert_true(reporters.n <= FPS_REPORTERS_MAX);
}

TEST(the_limit_message_is_little_endian)
{
	uint8_t bytes[FPS_LIMIT_BYTES];

	fps_limit_encode(20000000, bytes);
	assert_memory_equal(bytes,
			    "govr-max"
			    "\x01\0\0\0\0\0\0\0"
			    "\x00\x2d\x31\x01\0\0\0\0"
			    "max-end.",
			    sizeof(bytes));
}
