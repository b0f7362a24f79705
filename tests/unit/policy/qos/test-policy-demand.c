/* SPDX-License-Identifier: MIT */
/* The demand of a vGPU, with numbers computed by hand. */
#include "tests/unit/policy/qos/test-policy-demand.h"

/* --- the demand now --- */

static const struct {
	const char *rule;
	int contract, cap;
	bool burst;
	double target, load, fps, now;
} wants[] = {
	{"half the target with 20 % means a demand of 40 %", 50, 20, .target = 60, .load = 20,
	 .fps = 30, .now = 40},
	{"twice the target with 20 % means a demand of 10 %", 50, 50, .target = 60, .load = 20,
	 .fps = 120, .now = 10},
	{"no demand exceeds its contract", 50, 30, .target = 60, .load = 30, .fps = 30, .now = 50},
	{"a vGPU with burst may want more than its contract", 50, 30, .burst = true, .target = 60,
	 .load = 30, .fps = 30, .now = 60},
	{"with frames the demand is known even if the whole cap is used", 50, 30, .target = 60,
	 .load = 30, .fps = 60, .now = 30},
	{"without a frame, the demand is the load", 50, 30, .target = 60, .load = 20, .fps = 0,
	 .now = 20},
	{"with an invalid FPS, the demand is the load", 50, 30, .target = 60, .load = 20,
	 .fps = NAN, .now = 20},
	{"without a frame and with a fully used cap, the demand is probed", 50, 20, .target = 60,
	 .load = 20, .fps = 0, .now = 50},
	{"without a target frames have no influence", 50, 30, .load = 12, .fps = 30, .now = 12},
	{"with a fully used cap below the contract, the demand is probed", 50, 30, .load = 30,
	 .fps = NAN, .now = 50},
	{"a use of 97 % of the cap counts as full", 50, 30, .load = 29.1, .fps = NAN, .now = 50},
	{"exactly 97 % of the cap is the smallest full use", 60, 50, .load = 48.5, .fps = NAN,
	 .now = 60},
	{"a use below 1 % of the GPU is probed in the same way", 50, 1, .load = 0.98, .fps = NAN,
	 .now = 3},
	{"a probe assumes three times the use", 50, 10, .load = 10, .fps = NAN,
	 .now = 3 * 10 / 0.98},
	{"a use below 97 % of the cap is the demand", 50, 30, .load = 29, .fps = NAN, .now = 29},
	{"the whole contract is the largest demand", 50, 50, .load = 50, .fps = NAN, .now = 50},
	{"a vGPU with burst may want the whole GPU", 50, 50, .burst = true, .load = 50, .fps = NAN,
	 .now = 100},
};

TEST(test_the_demand_now)
{
	for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++) {
		make(wants[i].contract, wants[i].cap, wants[i].target);
		bench.vgpus[0].terms.burst = wants[i].burst;
		learn(wants[i].load, wants[i].fps);
		if (fabs(now_pct() - wants[i].now) > 1e-4)
			fail_msg("%s: %g", wants[i].rule, now_pct());
	}
}

TEST(test_the_tolerated_demand_is_not_broken)
{
	static const struct {
		double target, fps, tolerance;
	} rows[] = {{0, 30, 0.98},   {60, NAN, 0.98}, {60, 60, 0.975},
		    {140, 60, 0.98}, {30, 30, 0.95},  {2, 1, 0.5}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make(50, 50, rows[i].target);
		bench_read(&bench.vgpus[0], 0.5, rows[i].fps);
		assert_near(demand_tolerance(&bench.vgpus[0]), rows[i].tolerance);
	}
}

/* --- habits: a vGPU at its cap wants the most that followed before --- */

TEST(test_a_demand_at_the_cap_is_estimated_by_habit)
{
	struct policy_demand before;

	make(CONTRACT, 50, 0);
	for (int i = 0; i < 20; i++) {
		learn_load(2, 1);
		learn_load(i == 0 ? 40 : 20, 1);
	}
	learn_load(2, 1);
	before = bench.tracks[0].demand;
	bench.vgpus[0].cap_pct = 4;
	learn_load(4, 1);
	assert_near(now_pct(), 40 / 0.98);
	assert_int_equal(bench.tracks[0].demand.source, POLICY_DEMAND_BY_HABIT);
	assert_memory_equal(before.follows, bench.tracks[0].demand.follows, sizeof(before.follows));
	bench.vgpus[0].cap_pct = 42; /* exceeds every measured demand */
	learn_load(42, 1);
	assert_near(now_pct(), CONTRACT);
	assert_int_equal(bench.tracks[0].demand.source, POLICY_DEMAND_PROBED);
}

/* Only demands that have followed the present level count: 30 and 20, not 40. */
TEST(test_a_habit_is_what_followed_this_level)
{
	static const double seen_pct[] = {40, 20, 30, 20};

	make(CONTRACT, 50, 0);
	for (size_t i = 0; i < sizeof(seen_pct) / sizeof(seen_pct[0]); i++)
		learn_load(seen_pct[i], 1);
	bench.vgpus[0].cap_pct = 21;
	learn_load(21, 1);
	assert_near(now_pct(), 30 / 0.98);
	bench.vgpus[0].cap_pct = 30; /* a habit must exceed the use */
	learn_load(30, 1);
	assert_int_equal(bench.tracks[0].demand.source, POLICY_DEMAND_PROBED);
}

TEST(test_the_lowest_level_can_be_a_habit)
{
	make(100, 50, 0);
	for (int i = 0; i < 3; i++)
		learn_load(i == 0 ? 1.9 : 0.5, 1);
	bench.vgpus[0].cap_pct = 1;
	learn_load(1, 1);
	assert_near(now_pct(), (double)1.9f / 0.98);
}

/* With this cap, the demand uses half a percent less than the part at which it is unknown. */
TEST(test_the_smallest_cap_that_shows_the_demand)
{
	make(CONTRACT, 50, 0);
	learn_load(30, 1);
	assert_near(30 / demand_observable_cap_pct(&bench.gpu, &bench.vgpus[0]), 0.965);
	bench.vgpus[0].cap_pct = 30; /* the demand is estimated */
	learn_load(30, 1);
	assert_true(demand_observable_cap_pct(&bench.gpu, &bench.vgpus[0]) == 0);

	make(CONTRACT, 50, 60); /* frames show the demand with any cap */
	learn(30, 60);
	assert_true(demand_observable_cap_pct(&bench.gpu, &bench.vgpus[0]) == 0);
}

TEST(test_a_vgpu_at_its_cap_may_want_its_contract)
{
	double above[POLICY_LEVELS];

	make(CONTRACT, 50, 0);
	learn_load(4, COLD);
	bench.vgpus[0].cap_pct = 6;
	learn_load(6, 1);
	demand_predict(&bench.gpu, &bench.vgpus[0], above);
	for (int i = 0; i < POLICY_LEVELS; i++)
		assert_near(above[i], i < POLICY_LEVELS - 1);
	bench.vgpus[0].cap_pct = 50;
	learn_load(5, 1); /* below the cap, so the demand is measured */
	demand_predict(&bench.gpu, &bench.vgpus[0], above);
	assert_true(above[bench.tracks[0].demand.level] < 0.1);
	assert_near(demand_peak_pct(&bench.vgpus[0]), 5);
}

/* --- the next period --- */

TEST(test_a_cold_vgpu_may_want_its_contract)
{
	/* number of cold periods: without migration, with migration */
	static const int periods[] = {COLD, 1};

	for (int movable = 0; movable < 2; movable++) {
		double above[POLICY_LEVELS];

		make(CONTRACT, 50, 0);
		bench.gpu.migrates = true;
		bench.gpu.moving.answered = movable;
		learn_load(8, periods[movable] - 1);
		assert_near(demand_peak_pct(&bench.vgpus[0]), CONTRACT);
		/* as likely to rise to the contract as to stay on its level; a vGPU that was not
		 * seen is on level 0 */
		demand_predict(&bench.gpu, &bench.vgpus[0], above);
		for (int i = 0; i < POLICY_LEVELS; i++)
			assert_near(above[i], i == POLICY_LEVELS - 1		 ? 0
					      : i < bench.tracks[0].demand.level ? 1
										 : 0.5);
		learn_load(8, 1);
		assert_near(demand_peak_pct(&bench.vgpus[0]), 8);
	}
}

/* Finds the levels by learning every demand from 0 to the contract. */
TEST(test_levels_are_finer_for_small_demands)
{
	double end_pct[POLICY_LEVELS] = {0}, begin_pct = 0, last_width_pct = 0;

	for (int i = 0; i <= 1000; i++) {
		make(100, 100, 0);
		learn_load(i / 10.0, 1);
		end_pct[bench.tracks[0].demand.level] = i / 10.0;
	}
	for (int i = 0; i < POLICY_LEVELS; i++) {
		double width_pct = end_pct[i] - begin_pct;

		assert_true(width_pct > 1.99 && width_pct < 10.01);
		if (end_pct[i] < 90.01) /* above, the levels are finer again */
			assert_true(width_pct > last_width_pct - 0.01);
		begin_pct = end_pct[i];
		last_width_pct = width_pct;
	}
	assert_near(end_pct[0], 2);
	assert_near(end_pct[POLICY_LEVELS - 1], 100);
}

/* A new transition from a level fades the older ones from this level, and no others. */
TEST(test_only_transitions_from_the_same_level_fade)
{
	static const double pct[] = {0, 22, 50};
	static const int levels[] = {0, 9, POLICY_LEVELS - 1};

	for (int from = 0; from < 3; from++) {
		struct policy_demand *demand;

		make(CONTRACT, 50, 0);
		demand = &bench.tracks[0].demand;
		learn_load(pct[from], 1);
		for (int i = 0; i < POLICY_LEVELS; i++)
			for (int j = 0; j < POLICY_LEVELS; j++)
				demand->follows[i][j] = 1;
		learn_load(22, 1);
		for (int i = 0; i < POLICY_LEVELS; i++)
			for (int j = 0; j < POLICY_LEVELS; j++)
				assert_float_equal(demand->follows[i][j],
						   (i == levels[from] ? FADING : 1) +
							   (i == levels[from] && j == 9),
						   1e-6);
	}
}

TEST(test_transitions_are_counted)
{
	double above[POLICY_LEVELS];

	make(CONTRACT, 50, 0);
	bench.gpu.migrates = true;
	bench.gpu.moving.answered = 1;
	for (int i = 0; i < 5; i++)
		learn_load(i % 2 ? 50 : 0, 1);
	demand_predict(&bench.gpu, &bench.vgpus[0], above);
	for (int i = 0; i < POLICY_LEVELS - 1; i++)
		assert_near(above[i], 1);
	assert_near(above[POLICY_LEVELS - 1], 0);
	learn_load(50, 1);
	demand_predict(&bench.gpu, &bench.vgpus[0], above);
	for (int i = 0; i < POLICY_LEVELS - 1; i++)
		assert_near(above[i], 0.05 / (1 * FADING + 1 + 0.05));
}

TEST(test_a_level_ends_at_its_largest_demand)
{
	make(CONTRACT, 50, 0);
	learn_load(22, 1);
	learn_load(21, 1);
	assert_int_equal(bench.tracks[0].demand.level, 9);	 /* 20 to 25 % */
	assert_near(demand_level_pct(&bench.vgpus[0], 9), 22.3); /* with the least margin */
	bench.tracks[0].demand.margin_pct = 2;
	assert_near(demand_level_pct(&bench.vgpus[0], 9), 24);
	bench.tracks[0].demand.margin_pct = 5;
	assert_near(demand_level_pct(&bench.vgpus[0], 9), 25);
	assert_near(demand_level_pct(&bench.vgpus[0], 8),
		    20); /* no demand was measured on this level */
	assert_near(demand_level_pct(&bench.vgpus[0], 15), 50);
}

TEST(test_the_margin_learns_from_misses)
{
	make(CONTRACT, 50, 0);
	demand_note_need(&bench.vgpus[0], 1);
	learn_load(20, COLD); /* the margin of a cold vGPU does not grow */
	assert_near(margin_pct(), 0.3);
	learn_load(20, 1);
	assert_near(margin_pct(), 0.795);
	demand_note_need(&bench.vgpus[0], 19.6); /* a cap of 98 % of the demand is sufficient */
	learn_load(20, 1);
	assert_near(margin_pct(), 0.79);
	demand_note_need(&bench.vgpus[0], 49); /* exactly 98 % of the demand */
	learn_load(50, 1);
	assert_near(margin_pct(), 0.785);
	demand_note_need(&bench.vgpus[0], 19.6);
	learn_load(20, 100);
	assert_near(margin_pct(), 0.3);
	demand_note_need(&bench.vgpus[0], 19.5);
	learn_load(20, 20);
	assert_near(margin_pct(), 0.3 + 20 * 0.495);
}

/* --- distribution of recent demands --- */

static void check_spread(const double want[101])
{
	double share[101], sum = 0;

	memset(share, 0xa5, sizeof(share)); /* every element is written */
	demand_distribution(&bench.vgpus[0], share);
	for (int i = 0; i <= 100; i++) {
		if (fabs(share[i] - want[i]) > 1e-9 || (want[i] == 0 && share[i] != 0))
			fail_msg("%d %%: %g, not %g", i, share[i], want[i]);
		sum += share[i];
	}
	assert_near(sum, 1);
}

TEST(test_a_cold_vgpus_distribution_is_its_contract)
{
	make(CONTRACT, 50, 0);
	learn_load(10, COLD - 1);
	check_spread((double[101]){[49] = 1}); /* 98 % of 50 */
}

TEST(test_the_distribution_is_of_recent_demands)
{
	make(CONTRACT, 50, 0);
	learn_load(0, 10);
	learn_load(10, 5); /* 9.8 */
	learn_load(40, 5); /* 39.2 */
	check_spread((double[101]){[0] = 0.5, [10] = 0.25, [40] = 0.25});
}

TEST(test_demands_older_than_the_window_are_forgotten)
{
	make(CONTRACT, 50, 0);
	learn_load(40, POLICY_DEMAND_WINDOW + 1);
	check_spread((double[101]){[40] = 1});
	learn_load(10, POLICY_DEMAND_WINDOW - 1);
	check_spread((double[101]){
		[10] = 1 - 1. / POLICY_DEMAND_WINDOW, [40] = 1. / POLICY_DEMAND_WINDOW});
	learn_load(10, 1);
	check_spread((double[101]){[10] = 1});
}

/* 98 % of the demand in whole percent, rounded up. */
TEST(test_the_distribution_is_of_tolerated_demands)
{
	static const struct {
		double load_pct;
		int whole_pct;
	} rows[] = {{10.2, 10}, {10.21, 11}, {20.409, 21}, {20.4081, 20}, {50, 49}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double want[101] = {0};

		make(CONTRACT, 50, 0);
		learn_load(rows[i].load_pct, COLD);
		want[rows[i].whole_pct] = 1;
		check_spread(want);
	}
}

/* The demand is 30 x 28 / 21 = 40 %, of which 95 % are tolerated. In binary fractions the product
 * is slightly more than 38. */
TEST(test_a_rounding_error_is_no_demand)
{
	make(CONTRACT, 50, 30);
	for (int i = 0; i < COLD; i++)
		learn(28, 21);
	check_spread((double[101]){[38] = 1});
}

TEST(test_an_idle_vgpu_has_no_demand)
{
	make(CONTRACT, 50, 0);
	learn_load(0, COLD);
	assert_true(demand_peak_pct(&bench.vgpus[0]) == 0);
	check_spread((double[101]){[0] = 1});
}

TEST(test_a_low_clock_rate_does_not_raise_the_demand)
{
	make(CONTRACT, 50, 0);
	bench.gpu.clock = 0.5;
	learn_load(20, COLD);
	assert_near(now_pct(), 20);
	check_spread((double[101]){[10] = 1});
}
