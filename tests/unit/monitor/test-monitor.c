/* SPDX-License-Identifier: MIT */
/* The monitor with a fake GPU backend. Each table row is one period: the reading and the expected
 * result. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "monitor/monitor.h"
#include "tests/unit/unit.h"

#define PERIOD_S 1.0

struct swept {
	int result;
	struct gpu_reading reading;
};

static uint64_t ns(double s)
{
	return (uint64_t)llround(s * 1e9);
}

#define NO -1.0 /* the value is not valid */

static void check(const char *what, double expected, bool valid, double is)
{
	if (valid == (expected == NO) || (valid && fabs(is - expected) > 1e-9)) {
		print_error("%s: expected %g, is %g (%s)\n", what, expected, is,
			    valid ? "valid" : "not valid");
		fail();
	}
}

struct busy_row {
	double at_s, busy_s, sched_s; /* reading; busy_s = NO: busy time not valid */
	int cap, result;
	/* expected */
	double dt_s, load, util;
	int read_errno;
};

static void check_busy(const struct busy_row *rows, size_t n)
{
	struct monitor_track track = {0};

	for (size_t i = 0; i < n; i++) {
		const struct busy_row *b = &rows[i];
		struct swept vgpu = {.result = b->result};
		struct monitor_row row;

		vgpu.reading = (struct gpu_reading){
			.at_ns = ns(b->at_s),
			.busy_valid = b->busy_s != NO,
			.busy_ns = b->busy_s != NO ? ns(b->busy_s) : 0,
			.sched_ns = ns(b->sched_s),
			.cap_valid = b->cap >= 0,
			.cap_pct = b->cap,
		};
		print_message("# row %zu\n", i);
		monitor_sample(&track, vgpu.result, &vgpu.reading, NULL, PERIOD_S, 1, &row);
		check("dt", b->dt_s, true, row.sample.dt_s);
		check("load", b->load, row.sample.busy_valid, row.sample.load);
		check("util", b->util, row.sample.busy_valid, row.sample.util);
		assert_int_equal(row.read_errno, b->read_errno);
		assert_int_equal(row.gone, b->result == -ENODEV);
		assert_int_equal(row.reading.cap_valid, b->result == 0 && b->cap >= 0);
		if (row.reading.cap_valid)
			assert_int_equal(row.reading.cap_pct, b->cap);
		if (row.sample.busy_valid)
			assert_int_equal(row.reading.busy_ns, ns(b->busy_s));
		assert_false(row.sample.fps_valid || row.sample.p99_valid || row.fps_seen);
	}
}

TEST(load_and_util_use_measured_time)
{
	static const struct busy_row rows[] = {
		{100, 50, 70, 40, 0, 0, NO, NO, 0}, /* a first reading gives no rates */
		{101, 50.1, 70.4, 40, 0, 1, 0.1, 0.25, 0},
		/* A late tick: rates use the measured time. */
		{102.5, 50.7, 71, 40, 0, 1.5, 0.4, 1, 0},
		{103, 51, 71.25, 60, 0, 0.5, 0.6, 1.2, 0}, /* util may slightly exceed 1 */
		{104, 51, 71.85, 0, 0, 1, 0, 0, 0},	   /* load 0 is valid */
		{105, 51.5, 72.85, -1, 0, 1, 0.5, 0.5, 0}, /* cap not valid, load and util valid */
	};

	check_busy(rows, ARRAY_SIZE(rows));
}

TEST(impossible_counters_are_invalid_for_one_period)
{
	static const struct busy_row rows[] = {
		{10, 5, 5, 50, 0, 0, NO, NO, 0},
		{11, 6.7, 5.5, 50, 0, 1, 1.7, 3.4, 0}, /* the largest accepted increase */
		{12, 8.5, 6, 50, 0, 1, NO, NO, ERANGE},
		{13, 9e9, 6.5, 50, 0, 1, NO, NO, ERANGE},
		{14, 9e9, 7, 50, 0, 1, 0, 0, 0},
		{15, 9e9, 9e9, 50, 0, 1, NO, NO, ERANGE}, /* impossible allotted time */
	};

	check_busy(rows, ARRAY_SIZE(rows));
}

TEST(decreasing_counters_are_invalid_for_one_period)
{
	static const struct busy_row rows[] = {
		{10, 5, 5, 50, 0, 0, NO, NO, 0},
		{11, 4, 5.5, 50, 0, 1, NO, NO, ERANGE},
		{12, 4.2, 6, 50, 0, 1, 0.2, 0.4, 0},
		{13, 4.4, 1, 50, 0, 1, NO, NO, ERANGE}, /* allotted time decreases */
		{14, 4.6, 1.5, 50, 0, 1, 0.2, 0.4, 0},
		{14, 4.7, 1.6, 50, 0, 0, NO, NO, 0}, /* no time passed */
		{13, 4.8, 1.7, 50, 0, 0, NO, NO, 0}, /* the clock decreases */
		{14, 4.9, 1.8, 50, 0, 1, 0.1, 1, 0},
	};

	check_busy(rows, ARRAY_SIZE(rows));
}

TEST(missing_readings_are_invalid_with_an_errno)
{
	static const struct busy_row rows[] = {
		{10, 5, 5, 50, 0, 0, NO, NO, 0},
		{11, NO, 5.5, 50, 0, 1, NO, NO, ENODATA}, /* busy time not valid */
		{12, 5.2, 6, 50, 0, 1, NO, NO, 0},	  /* first valid reading */
		{13, 5.4, 6, 50, 0, 1, NO, NO, ENODATA},  /* no time allotted */
		{14, 5.4, 6.5, 50, 0, 1, 0, 0, 0},
		{15, 9, 9, 50, -EIO, 0, NO, NO, EIO},
		/* The rates are means over the two periods since the last reading. */
		{16, 5.8, 7.5, 50, 0, 2, 0.2, 0.4, 0},
		{17, 9, 9, 50, -ENODEV, 0, NO, NO, ENODEV},
		{18, 10, 10, 50, 0, 0, NO, NO, 0}, /* a new vGPU with the same name */
		{19, 10.1, 10.5, 50, 0, 1, 0.1, 0.2, 0},
	};

	check_busy(rows, ARRAY_SIZE(rows));
}

struct frames_row {
	double at_s;
	int open;	 /* number of connected programs; -1: no program has reported */
	uint64_t frames; /* frames so far, each of 10 ms */
	int result;	 /* 0 or negative errno of the reading */
	/* expected */
	double fps, age_s; /* age_s = NO: no frame seen yet */
};

/*
 * If @own is true, the backend counts the frames, and open = -1 means that this reading has no
 * frame counter. Otherwise programs report the frames.
 */
static void check_frames(const struct frames_row *rows, size_t n, bool own)
{
	const int bucket = (int)floor(log2(10000.0 / 100) * 4);
	struct monitor_track track = {0};
	uint64_t frames_before = 0;

	for (size_t i = 0; i < n; i++) {
		const struct frames_row *f = &rows[i];
		struct fps_totals totals = {.frames = f->frames, .open = f->open};
		struct swept vgpu = {.result = f->result};
		bool counted = own && f->open >= 0;
		struct monitor_row row;

		totals.frame_time[bucket] = f->frames;
		vgpu.reading = (struct gpu_reading){
			.at_ns = ns(f->at_s),
			.frames_valid = counted,
			.frames = counted ? f->frames : 0,
			.frame_p99_ms = counted && f->frames > frames_before ? 10 : 0,
		};
		print_message("# row %zu\n", i);
		monitor_sample(&track, vgpu.result, &vgpu.reading,
			       own || f->open < 0 ? NULL : &totals, PERIOD_S, 1, &row);
		check("fps", f->fps, row.sample.fps_valid, row.sample.fps);
		check("age", f->age_s, row.fps_seen, row.fps_age_s);
		assert_int_equal(row.sample.p99_valid, row.sample.fps_valid && row.sample.fps > 0);
		if (row.sample.p99_valid)
			assert_true(row.sample.frame_p99_ms >= 8.4 &&
				    row.sample.frame_p99_ms <= 11.9);
		assert_int_equal(row.frames, f->result == -ENODEV ? 0
					     : f->result < 0	  ? frames_before
					     : f->open < 0	  ? 0
								  : f->frames);
		if (f->open >= 0 && f->result == 0)
			frames_before = f->frames;
	}
}

TEST(fps_are_valid_from_the_first_full_period)
{
	static const struct frames_row rows[] = {
		{10, -1, 0, 0, NO, NO}, /* no frames yet */
		{11, 1, 7, 0, NO, 0},	/* a program connected during the period: no FPS yet */
		{12, 1, 67, 0, 60, 0},
		{13.25, 2, 167, 0, 80, 0},  /* late tick; a second program has connected */
		{14.25, 2, 167, 0, 0, 0},   /* connected programs without new frames: 0 FPS */
		{30, 2, 200, 0, NO, 15.75}, /* more than 2.5 periods since the last reading */
		{32.5, 2, 225, 0, 10, 0},   /* exactly 2.5 periods since the last reading */
		{33.5, 2, 200, 0, NO, 1},   /* the frame counter decreases */
		{34.5, 2, 230, 0, 30, 0},
	};

	check_frames(rows, ARRAY_SIZE(rows), false);
}

TEST(fps_are_valid_in_the_period_in_which_a_program_exits)
{
	static const struct frames_row rows[] = {
		{10, 1, 0, 0, NO, NO},	{11, 1, 60, 0, 60, 0},
		{12, 0, 90, 0, 30, 0}, /* the program exited: its last frames count */
		{13, 0, 90, 0, NO, 1},	{14, 0, 90, 0, NO, 2},
		{15, 1, 95, 0, NO, 3}, /* another program connects during the period */
		{16, 1, 155, 0, 60, 0}, {17, 0, 155, 0, 0, 0},
		{18, 0, 165, 0, NO, 1}, /* a program connected and exited in this period */
		{19, -1, 0, 0, NO, 2},	/* the totals were forgotten */
		{20, 1, 10, 0, NO, 3},	{21, 1, 20, 0, 10, 0},
	};

	check_frames(rows, ARRAY_SIZE(rows), false);
}

TEST(fps_that_no_program_can_reach_are_invalid)
{
	static const struct frames_row rows[] = {
		{10, 1, 0, 0, NO, NO},		{11, 1, 1000000, 0, 1e6, 0},
		{12, 1, 2000001, 0, NO, 1},	{13, 1, 2000061, 0, 60, 0},
		{13.5, 1, 2501061, 0, NO, 0.5}, {14.5, 1, 2501121, 0, 60, 0},
	};

	check_frames(rows, ARRAY_SIZE(rows), false);
}

/* A program may send no message in a period, or two messages. The FPS stays valid. */
TEST(message_rates_hold_between_messages)
{
	static const struct {
		double reported_fps;
		int reporting, open;
		uint64_t frames, reported;
		double fps, p99_ms; /* 0: none */
	} rows[] = {
		{0, 0, 0, 1, 1, NO, 0}, /* a first message gives no rate */
		{59.5, 1, 0, 60, 60, 59.5, 3.5},
		{59.5, 1, 0, 60, 60, 59.5, 3.5}, /* no message in this period */
		{59.5, 1, 0, 60, 60, 59.5, 3.5},
		{60, 1, 0, 180, 180, 60, 3.5},
		{60, 1, 1, 240, 240, 60, 3.5}, /* a program on the host draws too */
		{60, 1, 1, 330, 300, 90, 3.5},
		{0, 1, 0, 360, 300, 30, 3.5}, /* the program in the virtual machine stops drawing */
		{0, 1, 0, 360, 300, 0, 0},
		{0, 0, 0, 360, 300, NO, 0}, /* exited */
	};
	struct monitor_track track = {0};
	struct swept vgpu = {.reading = {.at_ns = NS_PER_S}};
	struct monitor_row row;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fps_totals totals = {
			.frames = rows[i].frames,
			.open = rows[i].open,
			.reported_frames = rows[i].reported,
			.reporting = rows[i].reporting,
			.reported_fps = rows[i].reported_fps,
		};

		print_message("# row %zu\n", i);
		totals.frame_time[20] = rows[i].frames; /* bucket of 3.2 to 3.8 ms */
		totals.gpu_frames = rows[i].frames;
		totals.gpu_time_ns = rows[i].frames * 2000000;
		monitor_sample(&track, vgpu.result, &vgpu.reading, &totals, PERIOD_S, 1, &row);
		check("fps", rows[i].fps, row.sample.fps_valid, row.sample.fps);
		assert_int_equal(row.sample.p99_valid, rows[i].p99_ms > 0);
		if (row.sample.p99_valid)
			assert_true(fabs(row.sample.frame_p99_ms - rows[i].p99_ms) < 0.3);
		assert_true(row.frame_p50_ms == row.sample.frame_p99_ms);
		assert_true(row.frame_max_ms == row.sample.frame_p99_ms);
		assert_true(fabs(row.frame_gpu_ms - (row.sample.p99_valid ? 2 : 0)) < 1e-9);
		assert_int_equal(row.frames, rows[i].frames);
		vgpu.reading.at_ns += NS_PER_S;
	}
}

TEST(present_calls_are_known_from_reports_of_all_programs)
{
	static const struct {
		const char *what;
		int result;
		bool counted; /* by the backend */
		struct fps_totals totals;
		enum fps_present present;
	} rows[] = {
		{"no program", 0, false, {.open = 0}, FPS_PRESENT_UNKNOWN},
		{"old libraries", 0, false, {.open = 2}, FPS_PRESENT_UNKNOWN},
		{"one is outside", 0, false, .totals = {.open = 2, .present_outside = 1},
		 FPS_PRESENT_UNKNOWN},
		{"both are outside", 0, false, .totals = {.open = 2, .present_outside = 2},
		 FPS_PRESENT_OUTSIDE},
		{"one waits", 0, false,
		 .totals = {.open = 2, .present_outside = 1, .present_waits = 1},
		 FPS_PRESENT_WAITS},
		{"a program in a virtual machine", 0, false,
		 .totals = {.open = 1, .present_outside = 1, .reporting = 1}, FPS_PRESENT_UNKNOWN},
		{"one waits on the host", 0, false,
		 .totals = {.open = 1, .present_waits = 1, .reporting = 1}, FPS_PRESENT_WAITS},
		{"frames of the backend", 0, true, .totals = {.open = 1, .present_waits = 1},
		 FPS_PRESENT_UNKNOWN},
		{"no reading", -EIO, false, {.open = 1, .present_waits = 1}, FPS_PRESENT_UNKNOWN},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct monitor_track track = {0};
		struct gpu_reading reading = {.at_ns = NS_PER_S, .frames_valid = rows[i].counted};
		struct monitor_row row;

		monitor_sample(&track, rows[i].result, &reading, &rows[i].totals, PERIOD_S, 1,
			       &row);
		if (row.present != rows[i].present)
			fail_msg("%s: %d", rows[i].what, row.present);
	}
}

/* 60 FPS in periods of 0.21 s: 12 or 13 frames, and the part of the next one. */
TEST(parts_of_frames_count_at_both_ends_of_a_period)
{
	struct monitor_track track = {0};
	struct swept vgpu = {.reading = {.at_ns = NS_PER_S}};
	struct monitor_row row;

	for (int i = 0; i < 20; i++) {
		double frames = 0.3 + i * 0.21 * 60;
		struct fps_totals totals = {.frames = (uint64_t)frames,
					    .partial_frames = frames - floor(frames),
					    .open = 1};

		monitor_sample(&track, vgpu.result, &vgpu.reading, &totals, 0.21, 1, &row);
		if (i > 0)
			check("fps", 60, row.sample.fps_valid, row.sample.fps);
		vgpu.reading.at_ns += 210 * NS_PER_MS;
	}
	/* The program that had begun a frame exits, and another one is connected. */
	monitor_sample(&track, vgpu.result, &vgpu.reading,
		       &(struct fps_totals){.frames = 239, .partial_frames = 0, .open = 1}, 0.21, 1,
		       &row);
	check("fps", 0, row.sample.fps_valid, row.sample.fps);
}

/* The GPU's thread reads late in every second period. The frames are counted in time. */
TEST(a_late_reading_of_the_gpu_changes_no_rate)
{
	for (int speed = 1; speed <= 10; speed += 9) {
		struct monitor_track track = {0};
		struct monitor_row row;

		for (uint64_t i = 0; i < 10; i++) {
			uint64_t at_ns = NS_PER_S + i * 200 * NS_PER_MS;
			struct gpu_reading reading = {.at_ns = (at_ns + (i % 2) * 20 * NS_PER_MS) *
							       (uint64_t)speed};
			struct fps_totals totals = {
				.frames = 12 * i, .open = 1, .at_ns = at_ns + NS_PER_MS};

			monitor_sample(&track, 0, &reading, &totals, 0.2 * speed, speed, &row);
			if (i > 0)
				check("fps", 60.0 / speed, row.sample.fps_valid, row.sample.fps);
		}
	}
}

TEST(frames_survive_a_failed_reading_but_not_a_lost_vgpu)
{
	static const struct frames_row rows[] = {
		{10, 1, 0, 0, NO, NO},	   {11, 1, 60, 0, 60, 0},
		{12, 1, 120, -EIO, NO, 0}, /* failed reading: the age does not change */
		{13, 1, 180, 0, 60, 0},	   {14, 1, 240, -ENODEV, NO, NO},
		{15, 1, 300, 0, NO, 0},	   {16, 1, 360, 0, 60, 0},
	};

	check_frames(rows, ARRAY_SIZE(rows), false);
}

TEST(backend_frames_need_no_program)
{
	static const struct frames_row rows[] = {
		{10, 0, 500, 0, NO, 0},	  {11, 0, 530, 0, 30, 0},
		{12, 0, 530, 0, 0, 0}, /* no new frames: 0 FPS is valid */
		{22, 0, 830, 0, 30, 0},	  {23, -1, 0, 0, NO, 1},
		{24, 0, 900, 0, NO, 2},	  {25, 0, 910, 0, 10, 0},
		{26, 0, 5, 0, NO, 1},	  {27, 0, 15, 0, 10, 0},
		{28, 0, 99, -EIO, NO, 0}, {29, 0, 35, 0, 10, 0},
	};

	check_frames(rows, ARRAY_SIZE(rows), true);
}

TEST(frame_times_cover_one_period)
{
	struct monitor_track track = {0};
	struct fps_totals totals = {.open = 1};
	struct swept vgpu = {.reading = {.at_ns = NS_PER_S}};
	struct monitor_row row;

	totals.frames = totals.frame_time[60] = 1000; /* slow frames before the first reading */
	monitor_sample(&track, vgpu.result, &vgpu.reading, &totals, PERIOD_S, 1, &row);
	assert_false(row.sample.p99_valid);
	vgpu.reading.at_ns += NS_PER_S;
	totals.frames += 50;
	totals.frame_time[20] += 50; /* bucket of 3.2 to 3.8 ms */
	monitor_sample(&track, vgpu.result, &vgpu.reading, &totals, PERIOD_S, 1, &row);
	assert_true(row.sample.p99_valid && row.sample.frame_p99_ms >= 3.2 &&
		    row.sample.frame_p99_ms <= 3.81);
	assert_true(row.frame_p50_ms == row.sample.frame_p99_ms &&
		    row.frame_max_ms == row.sample.frame_p99_ms);
	assert_true(row.frame_gpu_ms == 0);

	/*
	 * If the longest gap has increased in the period, the maximum is this gap. Otherwise the
	 * maximum is taken from the highest bucket with new frames.
	 */
	for (int record = 1; record >= 0; record--) {
		vgpu.reading.at_ns += NS_PER_S;
		totals.frames += 100;
		totals.frame_time[20] += 60;
		totals.frame_time[24] += 39;
		totals.frame_time[40]++; /* bucket of 102 to 122 ms */
		totals.longest_gap_ns = 107 * NS_PER_S / 1000;
		totals.gpu_frames += 98;
		totals.gpu_time_ns += 98 * 2500000ull;
		monitor_sample(&track, vgpu.result, &vgpu.reading, &totals, PERIOD_S, 1, &row);
		assert_true(row.frame_p50_ms >= 3.2 && row.frame_p50_ms <= 3.81);
		assert_true(row.sample.frame_p99_ms >= 6.4 && row.sample.frame_p99_ms <= 7.62);
		assert_true(record ? row.frame_max_ms == 107
				   : row.frame_max_ms >= 102 && row.frame_max_ms <= 122 &&
					     row.frame_max_ms != 107);
		assert_true(row.frame_gpu_ms == 2.5);
	}

	/* Decreasing bucket counters give no frame times. */
	vgpu.reading.at_ns += NS_PER_S;
	totals.frames += 50;
	totals.frame_time[20]--;
	monitor_sample(&track, vgpu.result, &vgpu.reading, &totals, PERIOD_S, 1, &row);
	assert_true(row.sample.fps_valid && !row.sample.p99_valid);
}
