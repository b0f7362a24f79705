/* SPDX-License-Identifier: MIT */
/*
 * The rate over a short period from a count of frames and the parts of frames at its ends; and the
 * limits of connections.
 */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "tests/unit/unit.h"
#include "monitor/fps/totals.h"

/* A program on a page, and the rate of each period as monitor.c computes it. */
struct program {
	struct fps_page page;
	struct fps_reading reading;
	struct fps_totals totals;
	uint64_t now_ns, next_ns; /* time of the next frame */
	uint64_t frames;	  /* counted before this period */
	double partial_frames;
};

static void start(struct program *program, uint64_t first_ns)
{
	*program = (struct program){.now_ns = NS_PER_S, .next_ns = first_ns};
	program->page.lanes = 1;
	fps_reading_begin(&program->reading, program->now_ns);
}

/* Presents frames of @frame_ns until the end of the period. Returns the rate of the period. */
static double run(struct program *program, uint64_t frame_ns, uint64_t period_ns)
{
	struct fps_lane *lane = &program->page.lane[0];
	double frames;

	program->now_ns += period_ns;
	for (; program->next_ns <= program->now_ns; program->next_ns += frame_ns) {
		lane->frames++;
		lane->last_ns = program->next_ns;
	}
	fps_reading_take(&program->reading, &program->page, program->now_ns, &program->totals);
	frames = (double)(program->totals.frames - program->frames) +
		 program->reading.partial_frames - program->partial_frames;
	program->frames = program->totals.frames;
	program->partial_frames = program->reading.partial_frames;
	return frames * 1e9 / (double)period_ns;
}

TEST(a_steady_rate_is_exact_in_every_period)
{
	static const double rates[] = {3, 4, 7, 24, 29.97, 30, 58.5, 60, 90, 144, 999};
	static const uint64_t periods_ms[] = {100, 200, 333, 1000, 5000};

	for (size_t i = 0; i < ARRAY_SIZE(rates) * ARRAY_SIZE(periods_ms); i++) {
		double rate = rates[i % ARRAY_SIZE(rates)];
		uint64_t period_ns = periods_ms[i / ARRAY_SIZE(rates)] * NS_PER_MS;
		uint64_t frame_ns = (uint64_t)(1e9 / rate);
		struct program program;

		start(&program, NS_PER_S + frame_ns / 3);
		for (uint64_t t = 0; t < NS_PER_S + period_ns; t += period_ns)
			(void)run(&program, frame_ns, period_ns);
		for (int p = 0; p < 50; p++) {
			double fps = run(&program, frame_ns, period_ns);

			if (fabs(fps / rate - 1) > 0.001)
				print_message("# %g FPS in %d ms: %g\n", rate,
					      (int)(period_ns / NS_PER_MS), fps);
			assert_true(fabs(fps / rate - 1) <= 0.001);
		}
	}
}

/* Frame times are random, from 5 to 45 ms. */
TEST(any_rate_is_within_one_frame_of_the_count)
{
	static const uint64_t periods_ms[] = {50, 200, 1000};
	uint64_t random = 1;

	for (size_t i = 0; i < ARRAY_SIZE(periods_ms); i++) {
		uint64_t period_ns = periods_ms[i] * NS_PER_MS;
		double seconds = (double)period_ns / 1e9, sum = 0;
		struct program program;

		start(&program, NS_PER_S);
		for (int p = 0; p < 1000; p++) {
			uint64_t before = program.frames;
			double fps;

			random = random * 6364136223846793005u + 1442695040888963407u;
			fps = run(&program, (5 + (random >> 33) % 41) * NS_PER_MS, period_ns);
			sum += fps * seconds;
			assert_true(fabs(fps * seconds - (double)(program.frames - before)) <=
				    1.0 + 1e-9);
			assert_true(fabs(sum - (double)program.frames) <= 1.0 + 1e-6);
		}
	}
}

TEST(a_program_that_stops_has_a_rate_of_0)
{
	struct program program;

	start(&program, NS_PER_S);
	for (int p = 0; p < 10; p++)
		(void)run(&program, 20 * NS_PER_MS, 200 * NS_PER_MS);
	program.next_ns = UINT64_MAX;
	/* In the first period, the frame that the program has begun counts at most once. */
	assert_true(run(&program, 0, 200 * NS_PER_MS) <= 5.0);
	for (int p = 0; p < 10; p++)
		assert_true(run(&program, 0, 200 * NS_PER_MS) == 0);
	/* It goes on after a pause. */
	program.next_ns = program.now_ns + NS_PER_MS;
	for (int p = 0; p < 3; p++)
		(void)run(&program, 20 * NS_PER_MS, 200 * NS_PER_MS);
	assert_true(fabs(run(&program, 20 * NS_PER_MS, 200 * NS_PER_MS) - 50) < 0.1);
}

/* A program that draws a single frame after a pause, and then nothing, has 0 FPS. */
TEST(a_pause_is_not_a_frame_time)
{
	struct program program;

	start(&program, NS_PER_S);
	for (int p = 0; p < 10; p++)
		(void)run(&program, 20 * NS_PER_MS, 200 * NS_PER_MS);
	program.next_ns = program.now_ns + 5 * NS_PER_S;
	for (int p = 0; p < 26; p++)
		(void)run(&program, 100 * NS_PER_S, 200 * NS_PER_MS);
	for (int p = 0; p < 10; p++)
		assert_true(run(&program, 100 * NS_PER_S, 200 * NS_PER_MS) == 0);
}

/* A page may contain any numbers. */
TEST(a_wrong_time_of_the_newest_frame_does_no_harm)
{
	static const uint64_t times[] = {0, 1, UINT64_MAX, NS_PER_S, 1000 * NS_PER_S};
	struct program program;

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		start(&program, UINT64_MAX);
		for (int p = 0; p < 20; p++) {
			program.page.lane[0].frames += 12;
			program.page.lane[0].last_ns =
				times[(i + (size_t)p % 2) % ARRAY_SIZE(times)];
			assert_true(fabs(run(&program, NS_PER_S, 200 * NS_PER_MS) - 60) <= 5.0);
			assert_true(program.partial_frames >= 0 && program.partial_frames <= 1);
		}
	}
}

TEST(the_first_frames_have_no_part)
{
	struct fps_phase phase = {0};

	assert_true(fps_phase_take(&phase, 0, 0, 100) == 0);
	assert_true(fps_phase_take(&phase, 1, 150, 200) == 0);
	assert_true(fps_phase_take(&phase, 0, 150, 300) == 0);
	assert_true(fps_phase_take(&phase, 2, 350, 400) == 0.5); /* 200 in two frames */
	assert_true(fps_phase_take(&phase, 0, 350, 450) == 1);
	assert_true(fps_phase_take(&phase, 0, 350, 900) == 1);
	assert_true(fps_phase_take(&phase, 1, 350, 950) == 1);
	assert_int_equal(phase.interval_ns, 100);
}

/* --- limits of connections --- */

TEST(a_connection_is_admitted_below_all_limits)
{
	static const struct {
		const char *what;
		int used, held;
		bool admitted;
	} rows[] = {
		{"first", 0, 0, true},
		{"below the limit of a holder", 50, 19, true},
		{"at the limit of a holder", 50, 20, false},
		{"last that is not reserved", 69, 10, true},
		{"reserved, holder with many", 70, 10, false},
		{"reserved, holder with as many as few", 70, 5, false},
		{"reserved, holder with few", 70, 4, true},
		{"last reserved", 99, 0, true},
		{"all used", 100, 0, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fps_quota quota = {
			.all = 100, .each = 20, .reserved = 30, .few = 5, .used = rows[i].used};
		int held = rows[i].held;

		if (fps_quota_take(&quota, &held) != rows[i].admitted ||
		    quota.used != rows[i].used + rows[i].admitted ||
		    held != rows[i].held + rows[i].admitted)
			fail_msg("%s", rows[i].what);
		if (!rows[i].admitted)
			continue;
		fps_quota_give(&quota, &held);
		assert_int_equal(quota.used, rows[i].used);
		assert_int_equal(held, rows[i].held);
	}
}

/* However many connections the others want, each holder gets its few of the reserve. */
TEST(a_reserve_serves_each_holder_in_turn)
{
	struct fps_quota quota = {.all = 100, .each = 20, .reserved = 30, .few = 5};
	int held[10] = {0};

	for (size_t i = 0; i < ARRAY_SIZE(held); i++)
		while (fps_quota_take(&quota, &held[i]))
			;
	assert_int_equal(held[0], 20);
	assert_int_equal(held[2], 20);
	assert_int_equal(held[3], 10); /* 70 are not reserved */
	for (size_t i = 4; i < ARRAY_SIZE(held); i++)
		assert_int_equal(held[i], 5);
	assert_int_equal(quota.used, 100);
}

TEST(a_refusal_is_recorded)
{
	struct fps_refusals refusals = {0};

	fps_refusals_add(&refusals, 20, 1000);
	fps_refusals_add(&refusals, 7, 2000);
	assert_int_equal(refusals.n, 2);
	assert_int_equal(refusals.held, 7);
	assert_int_equal(refusals.newest_ns, 2000);
}
