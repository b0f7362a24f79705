/* SPDX-License-Identifier: MIT */
/* Which counters of a page the hub believes. */
#include "tests/unit/monitor/fps/test-fps.h"

/* An implausible increase is ignored. Later plausible increases count. */
static void implausible_counters_are_ignored(void **state)
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

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct program p = program_new();
		uint64_t before;

		program_draw(&p, 1000);
		program_connect(&p);
		pump();
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
		fps_hub_collect(hub);
		assert_int_equal(frames_of("a"), before + rows[i].counted + 60);
		program_end(&p);
		pump();
	}
}

/* However often the page is read, 100,000 frames a second count, and 100,000 at once. */
static void the_rate_of_a_page_is_limited(void **state)
{
	static const double periods_s[] = {0.1, 0.33, 1, 7};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(periods_s); i++) {
		struct program p = program_new();
		uint64_t before = frames_of("a");
		double s = 0;

		program_connect(&p);
		pump();
		while (s < 20) {
			pass(periods_s[i]);
			s += periods_s[i];
			program_draw(&p, 40000);
			fps_hub_collect(hub);
		}
		assert_in_range(frames_of("a") - before, 40000,
				100000 + (uint64_t)(100000 * (s + 0.01)));
		program_end(&p);
		pump();
	}
}

static void a_wrong_number_of_lanes_is_harmless(void **state)
{
	static const uint32_t lanes[] = {0, UINT32_MAX, FPS_WIRE_LANES + 1, 0};
	struct program p = program_new();

	(void)state;
	program_draw(&p, 100);
	program_connect(&p);
	pump();
	fps_hub_collect(hub);
	for (size_t i = 0; i < ARRAY_SIZE(lanes); i++) {
		p.page->lanes = lanes[i];
		fps_hub_collect(hub);
		assert_in_range(frames_of("a"), 100, 200);
	}
	program_end(&p);
}

static void the_newest_frame_is_between_the_last_two_readings(void **state)
{
	static const int64_t offsets_s[] = {-500, 0, 500};
	struct program p = program_new();

	(void)state;
	program_connect(&p);
	pump();
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

static void the_longest_gap_is_the_maximum_of_all(void **state)
{
	struct program p = program_new(), q = program_new();

	(void)state;
	p.page->lanes = 2;
	program_connect(&p);
	program_connect(&q);
	pump();
	p.page->lane[0].longest_gap_ns = 30 * NS_PER_S / 1000;
	p.page->lane[1].longest_gap_ns = 70 * NS_PER_S / 1000;
	q.page->lane[0].longest_gap_ns = 50 * NS_PER_S / 1000;
	fps_hub_collect(hub);
	assert_int_equal(fps_hub_totals(hub, "a")->longest_gap_ns, 70 * NS_PER_S / 1000);
	q.page->lane[0].longest_gap_ns = 90 * NS_PER_S / 1000;
	program_end(&q);
	pump();
	assert_int_equal(fps_hub_totals(hub, "a")->longest_gap_ns, 90 * NS_PER_S / 1000);
	/* A gap longer than the uptime of the host is implausible. */
	p.page->lane[0].longest_gap_ns = fake_now.mono_ns + 1;
	fps_hub_collect(hub);
	assert_int_equal(fps_hub_totals(hub, "a")->longest_gap_ns, 90 * NS_PER_S / 1000);
	program_end(&p);
}

/* Implausible GPU times are ignored. The frames count. */
static void plausible_gpu_time_is_counted(void **state)
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

	(void)state;
	program_connect(&p);
	pump();
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

static void a_bucket_may_wrap(void **state)
{
	struct program p = program_new();

	(void)state;
	p.page->first_ns = 0;
	p.page->lane[0].frame_time[20] = UINT32_MAX;
	program_connect(&p);
	pump();
	program_draw(&p, 3);
	fps_hub_collect(hub);
	assert_int_equal(fps_hub_totals(hub, "a")->frame_time[20], 3);
	program_end(&p);
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RULE(implausible_counters_are_ignored),
		RULE(the_rate_of_a_page_is_limited),
		RULE(a_wrong_number_of_lanes_is_harmless),
		RULE(the_newest_frame_is_between_the_last_two_readings),
		RULE(the_longest_gap_is_the_maximum_of_all),
		RULE(plausible_gpu_time_is_counted),
		RULE(a_bucket_may_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
