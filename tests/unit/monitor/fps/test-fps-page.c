/* SPDX-License-Identifier: MIT */
/* Which counters of a page the hub believes. */
#include "tests/unit/monitor/fps/test-fps.h"

/* An implausible increase is ignored. Later plausible increases count. */
FIXTURE(setup, teardown)

TEST(implausible_counters_are_ignored)
{
	static const struct {
		const char *what;
		int64_t step;
		uint32_t times;
		uint64_t counted;
	} rows[] = {
		{"plausible", 60, 60, 60},
		{"backwards", -1, 0, 0},
		{"to zero", -1000, 0, 0},
		{"much too fast", 1000000, 0, 0},
		{"too fast", 199001, 0, 0}, /* 1,000 of 100,000 at once are already counted */
		{"nearly too fast", 199000, 0, 199000},
		{"far too many", INT64_MAX, 0, 0},
		{"many more frame times than frames", 1, 4000000000u, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct program p = program_new();
		uint64_t before;

		program_draw(&p, 1000);
		program_join(&p);
		fps_hub_collect(hub);
		before = frames_of("a");
		pass(1);
		p.page->lane[0].frames += (uint64_t)rows[i].step;
		p.page->lane[0].frame_time[3] += rows[i].times;
		fps_hub_collect(hub);
		if (frames_of("a") != before + rows[i].counted)
			fail_msg("%s: %lld frames counted", rows[i].what,
				 (long long)(frames_of("a") - before));
		pass(1);
		program_draw(&p, 60);
		assert_int_equal(collect("a"), before + rows[i].counted + 60);
		program_leave(&p);
	}
}

/* However often the page is read, 100,000 frames a second count, and 100,000 at once. */
TEST(the_rate_of_a_page_is_limited)
{
	static const double periods_s[] = {0.1, 0.33, 1, 7};

	for (size_t i = 0; i < ARRAY_SIZE(periods_s); i++) {
		struct program p = program_new();
		uint64_t before = frames_of("a");
		double s = 0;

		program_join(&p);
		while (s < 20) {
			pass(periods_s[i]);
			s += periods_s[i];
			program_draw(&p, 40000);
			fps_hub_collect(hub);
		}
		assert_in_range(frames_of("a") - before, 40000,
				100000 + (uint64_t)(100000 * (s + 0.01)));
		program_leave(&p);
	}
}

TEST(a_wrong_number_of_lanes_is_harmless)
{
	static const uint32_t lanes[] = {0, UINT32_MAX, FPS_WIRE_LANES + 1, 0};
	struct program p = program_new();

	program_draw(&p, 100);
	program_join(&p);
	fps_hub_collect(hub);
	for (size_t i = 0; i < ARRAY_SIZE(lanes); i++) {
		p.page->lanes = lanes[i];
		fps_hub_collect(hub);
		assert_in_range(frames_of("a"), 100, 200);
	}
	program_end(&p);
}

TEST(the_newest_frame_is_between_the_last_two_readings)
{
	static const int64_t offsets_s[] = {-500, 0, 500};
	struct program p = program_new();

	program_join(&p);
	for (size_t i = 0; i < ARRAY_SIZE(offsets_s); i++) {
		uint64_t from_ns = fake_now.mono_ns;

		pass(1);
		program_draw(&p, 1);
		p.page->lane[0].last_ns += (uint64_t)offsets_s[i] * NS_PER_S;
		fps_hub_collect(hub);
		assert_in_range(fps_hub_totals(hub, "a")->newest_ns, from_ns, fake_now.mono_ns);
	}
	program_end(&p);
}

TEST(the_longest_gap_is_the_maximum_of_all)
{
	struct program p = program_new(), q = program_new();

	p.page->lanes = 2;
	program_connect(&p);
	program_join(&q);
	p.page->lane[0].longest_gap_ns = 30 * NS_PER_S / 1000;
	p.page->lane[1].longest_gap_ns = 70 * NS_PER_S / 1000;
	q.page->lane[0].longest_gap_ns = 50 * NS_PER_S / 1000;
	fps_hub_collect(hub);
	assert_int_equal(fps_hub_totals(hub, "a")->longest_gap_ns, 70 * NS_PER_S / 1000);
	q.page->lane[0].longest_gap_ns = 90 * NS_PER_S / 1000;
	program_leave(&q);
	assert_int_equal(fps_hub_totals(hub, "a")->longest_gap_ns, 90 * NS_PER_S / 1000);
	/* A gap longer than the uptime of the host is implausible. */
	p.page->lane[0].longest_gap_ns = fake_now.mono_ns + 1;
	fps_hub_collect(hub);
	assert_int_equal(fps_hub_totals(hub, "a")->longest_gap_ns, 90 * NS_PER_S / 1000);
	program_end(&p);
}

/* Implausible GPU times are ignored. The frames count. */
TEST(plausible_gpu_time_is_counted)
{
	static const struct {
		const char *what;
		uint64_t frames, gpu_frames, gpu_time_ns, counted;
	} rows[] = {
		{"plausible", 60, 60, 600000000, 60},
		{"not measured", 60, 0, 0, 0},
		{"late", 0, 4, 40000000, 4},
		{"backwards", 60, UINT64_MAX, 5, 0},
		{"time backwards", 60, 3, UINT64_MAX - 7, 0},
		{"more frames than drawn", 60, 2000, 600000000, 0},
		{"more time than there was", 60, 60, 1000 * NS_PER_S, 0},
		{"more time than its frames can take", 60, 1, 12 * NS_PER_S, 0},
		{"time without frames", 60, 0, 5 * NS_PER_S, 0},
	};
	struct program p = program_new();
	uint64_t frames = 0, gpu_frames = 0;

	program_join(&p);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pass(1);
		program_draw(&p, rows[i].frames);
		p.page->lane[0].gpu_frames += rows[i].gpu_frames;
		p.page->lane[0].gpu_time_ns += rows[i].gpu_time_ns;
		fps_hub_collect(hub);
		frames += rows[i].frames;
		gpu_frames += rows[i].counted;
		if (frames_of("a") != frames || fps_hub_totals(hub, "a")->gpu_frames != gpu_frames)
			fail_msg("%s: %llu", rows[i].what,
				 (unsigned long long)fps_hub_totals(hub, "a")->gpu_frames);
	}
	assert_int_equal(fps_hub_totals(hub, "a")->gpu_time_ns, 640000000);
	program_end(&p);
}

TEST(a_bucket_may_wrap)
{
	struct program p = program_new();

	p.page->first_ns = 0;
	p.page->lane[0].frame_time[20] = UINT32_MAX;
	program_join(&p);
	program_draw(&p, 3);
	fps_hub_collect(hub);
	assert_int_equal(fps_hub_totals(hub, "a")->frame_time[20], 3);
	program_end(&p);
}

static enum fps_present present_of(const char *id)
{
	return fps_present_of(fps_hub_totals(hub, id));
}

/* A program waits if a call has lasted since the last reading. Counters may have any value. */
TEST(a_call_that_lasts_for_a_period_waits)
{
	static const struct {
		const char *what;
		uint32_t begun, ended;
		enum fps_present present;
	} rows[] = {
		{"frames before the connection", 90, 90, FPS_PRESENT_OUTSIDE},
		{"a call begins", 91, 90, FPS_PRESENT_UNKNOWN},
		{"it lasts", 91, 90, FPS_PRESENT_WAITS},
		{"it lasts", 91, 90, FPS_PRESENT_WAITS},
		{"it ends", 91, 91, FPS_PRESENT_OUTSIDE},
		{"60 frames, and a call begins", 152, 151, FPS_PRESENT_UNKNOWN},
		{"60 frames, and another call begins", 212, 211, FPS_PRESENT_UNKNOWN},
		{"nested calls of two threads", 215, 211, FPS_PRESENT_UNKNOWN},
		{"they last", 215, 211, FPS_PRESENT_WAITS},
		{"one of the threads goes on", 217, 215, FPS_PRESENT_UNKNOWN},
		{"both are outside", 217, 217, FPS_PRESENT_OUTSIDE},
		{"an end seen before its begin", 217, 218, FPS_PRESENT_OUTSIDE},
		{"the counters before they wrap", UINT32_MAX, UINT32_MAX, FPS_PRESENT_OUTSIDE},
		{"a call begins", 0, UINT32_MAX, FPS_PRESENT_UNKNOWN},
		{"it lasts", 0, UINT32_MAX, FPS_PRESENT_WAITS},
		{"it ends", 0, 0, FPS_PRESENT_OUTSIDE},
		{"nonsense", 7, 5000, FPS_PRESENT_OUTSIDE},
		{"nonsense", 7, 1u << 31, FPS_PRESENT_OUTSIDE},
		{"nonsense", 1u << 30, 0, FPS_PRESENT_UNKNOWN},
	};

	for (uint32_t lanes = 1; lanes <= FPS_WIRE_LANES; lanes++) {
		struct program p = program_new();
		struct fps_lane *lane = &p.page->lane[lanes - 1];

		p.page->lanes = lanes;
		p.page->features = FPS_PAGE_PRESENTS;
		program_join(&p);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			pass(1);
			lane->presents_begun = rows[i].begun;
			lane->presents_ended = rows[i].ended;
			fps_hub_collect(hub);
			if (present_of("a") != rows[i].present)
				fail_msg("lane %u, %s: %d", lanes, rows[i].what, present_of("a"));
		}
		program_leave(&p);
	}
}

TEST(the_present_calls_of_an_old_library_are_unknown)
{
	struct program p = program_new();

	program_join(&p);
	for (uint32_t i = 0; i < 3; i++) {
		pass(1);
		program_draw(&p, 60);
		/* without the feature, these bytes have no meaning */
		p.page->lane[0].presents_begun = 1;
		assert_int_equal(collect("a"), 60 * (i + 1));
		assert_int_equal(present_of("a"), FPS_PRESENT_UNKNOWN);
	}
	program_end(&p);
}

/* One program that waits is enough. All programs must be outside. */
TEST(the_programs_of_a_vgpu_are_judged_together)
{
	struct program p = program_new(), q = program_new();

	p.page->features = FPS_PAGE_PRESENTS;
	program_connect(&p);
	program_join(&q);
	fps_hub_collect(hub);
	assert_int_equal(present_of("a"), FPS_PRESENT_UNKNOWN); /* q is an old library */
	q.page->features = FPS_PAGE_PRESENTS;
	fps_hub_collect(hub);
	assert_int_equal(present_of("a"), FPS_PRESENT_OUTSIDE);
	q.page->lane[0].presents_begun++;
	fps_hub_collect(hub);
	assert_int_equal(present_of("a"), FPS_PRESENT_UNKNOWN);
	fps_hub_collect(hub);
	assert_int_equal(present_of("a"), FPS_PRESENT_WAITS);
	program_leave(&q);
	fps_hub_collect(hub);
	assert_int_equal(present_of("a"), FPS_PRESENT_OUTSIDE);
	program_leave(&p);
	fps_hub_collect(hub);
	assert_int_equal(present_of("a"), FPS_PRESENT_UNKNOWN);
}
