/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of pacing: the end of a paced frame, and the bucket of a frame time.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "monitor/fps/fps.h"

#include "fps-preload/pace.c"
#include "tests/unit/unit.h"

#define MS 1000000ull

TEST(fps_max_is_1_to_1000_with_six_decimals)
{
	static const struct {
		const char *text;
		int result;
		uint64_t period_ns;
	} rows[] = {
		{"1", 0, 1000000000},
		{"60", 0, 16666667},
		{"59.94", 0, 16683350},
		{"144", 0, 6944444},
		{"1000", 0, 1000000},
		{"1000.000000", 0, 1000000},
		{"1.000001", 0, 999999000},
		{"0060", 0, 16666667},
		{"0", -ERANGE, 0},
		{"0.999999", -ERANGE, 0},
		{"1000.000001", -ERANGE, 0},
		{"1001", -ERANGE, 0},
		{"99999999999999999999999", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"-60", -EINVAL, 0},
		{"+60", -EINVAL, 0},
		{" 60", -EINVAL, 0},
		{"60 ", -EINVAL, 0},
		{"60.", -EINVAL, 0},
		{".5", -EINVAL, 0},
		{"60,5", -EINVAL, 0},
		{"6e1", -EINVAL, 0},
		{"0x3c", -EINVAL, 0},
		{"nan", -EINVAL, 0},
		{"60fps", -EINVAL, 0},
		{"60.1234567", -EINVAL, 0},
		{"60.5.5", -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t period_ns = 0;

		if (pace_parse(rows[i].text, &period_ns) != rows[i].result ||
		    period_ns != rows[i].period_ns)
			fail_msg("'%s' gives %llu ns", rows[i].text, (unsigned long long)period_ns);
	}
}

TEST(the_first_frame_does_not_wait)
{
	struct pace pace = {0};

	assert_int_equal(pace_next(&pace, 10 * MS, 500 * MS), 0);
	assert_int_equal(pace_next(&pace, 10 * MS, 502 * MS), 510 * MS);
}

/* Frame n ends after n periods, even if frames take long to render or the thread wakes up late. */
TEST(deadlines_do_not_drift)
{
	struct pace pace = {0};
	uint64_t period_ns = 16666667, start = 77 * MS, now = start, at;

	srand(1);
	(void)pace_next(&pace, period_ns, now);
	for (uint64_t n = 1; n <= 100000; n++) {
		now += (uint64_t)rand() % period_ns;
		at = pace_next(&pace, period_ns, now);
		if (at) {
			assert_int_equal(at, start + n * period_ns);
			now = at + (uint64_t)rand() % 100000;
		}
	}
	assert_int_equal(pace.due_ns, start + 100000 * period_ns);
}

TEST(a_late_frame_shortens_the_next_one)
{
	struct pace pace = {0};

	(void)pace_next(&pace, 10 * MS, 100 * MS);
	assert_int_equal(pace_next(&pace, 10 * MS, 116 * MS), 0);
	assert_int_equal(pace_next(&pace, 10 * MS, 117 * MS), 120 * MS);
}

TEST(a_long_stall_causes_no_burst)
{
	struct pace pace = {0};

	(void)pace_next(&pace, 10 * MS, 100 * MS);
	assert_int_equal(pace_next(&pace, 10 * MS, 5000 * MS), 0);
	assert_int_equal(pace_next(&pace, 10 * MS, 5001 * MS), 0);
	assert_int_equal(pace_next(&pace, 10 * MS, 5002 * MS), 5010 * MS);
	assert_int_equal(pace_next(&pace, 10 * MS, 5011 * MS), 5020 * MS);
}

TEST(buckets_are_quarter_octaves_of_100_us)
{
	static const struct {
		uint64_t ns;
		unsigned int bucket;
	} rows[] = {
		{0, 0},		  {1, 0},	    {99999, 0},	      {100000, 0},
		{118920, 0},	  {118921, 1},	    {141421, 1},      {141422, 2},
		{168180, 3},	  {199999, 3},	    {200000, 4},      {16666667, 29},
		{33333333, 33},	  {1000000000, 53}, {5510922239, 62}, {5510922240, 63},
		{6553600000, 63}, {UINT64_MAX, 63},
	};
	unsigned int last = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (fps_wire_bucket(rows[i].ns) != rows[i].bucket)
			fail_msg("%llu ns falls into bucket %u", (unsigned long long)rows[i].ns,
				 fps_wire_bucket(rows[i].ns));
	for (uint64_t ns = 1; ns < 1ull << 63; ns += ns / 50 + 1) {
		unsigned int bucket = fps_wire_bucket(ns);

		assert_true(bucket >= last && bucket <= last + 1);
		last = bucket;
	}
	assert_int_equal(last, FPS_WIRE_BUCKETS - 1);
}

TEST(p99_is_the_time_that_1_frame_in_100_exceeds)
{
	uint64_t frame_time[FPS_WIRE_BUCKETS] = {0};
	unsigned int fast = fps_wire_bucket(16666667), slow = fps_wire_bucket(50 * MS);

	assert_true(fps_percentile_ms(frame_time, 0.01) == 0);
	frame_time[fast] = 1;
	assert_float_equal(fps_percentile_ms(frame_time, 0.01), 16.667, 16.667 * 0.095);
	frame_time[fast] = 990;
	frame_time[slow] = 10;
	assert_float_equal(fps_percentile_ms(frame_time, 0.01), 16.667, 16.667 * 0.095);
	frame_time[fast] = 989;
	frame_time[slow] = 11;
	assert_float_equal(fps_percentile_ms(frame_time, 0.01), 50, 50 * 0.095);
	frame_time[FPS_WIRE_BUCKETS - 1] = 1000000;
	assert_true(fps_percentile_ms(frame_time, 0.01) > 5500);
	frame_time[FPS_WIRE_BUCKETS - 1] = 0;
	assert_float_equal(fps_percentile_ms(frame_time, 0.5), 16.667, 16.667 * 0.095);
	assert_float_equal(fps_percentile_ms(frame_time, 0), 50, 50 * 0.095);
}
