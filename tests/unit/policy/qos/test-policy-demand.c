/* SPDX-License-Identifier: MIT */
/* The demand of a vGPU, with numbers computed by hand, and at all lengths of a period. */
#include "tests/unit/policy/test-policy.h"

#include "policy/qos/demand.h"

#define COLD	 15 /* seconds */
#define FADING	 0.998
#define CONTRACT 50

static void make(int contract_pct, int cap_pct, double target_fps)
{
	bench_init((const struct given[]){{"a", contract_pct, .cap = cap_pct, .target = target_fps},
					  {.id = NULL}},
		   1);
}

static void learn(double load_pct, double fps)
{
	struct policy_vgpu *vgpu = &bench.vgpus[0];

	bench_read(vgpu, load_pct / vgpu->cap_pct, fps);
	vgpu->sample.load = load_pct / 100;
	demand_learn(&bench.gpu, vgpu);
}

/* Learns from periods without frames. */
static void learn_load(double load_pct, int periods)
{
	for (int i = 0; i < periods; i++)
		learn(load_pct, NAN);
}

static double now_pct(void)
{
	return demand_now_pct(&bench.vgpus[0]);
}

static double margin_pct(void)
{
	return (double)bench.tracks[0].demand.margin_pct;
}

#define assert_near(a, b) assert_float_equal(a, b, 1e-4)

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

/* --- the same at all lengths of a period --- */

static const double periods_s[] = {0.2, 0.5, 1, 2, 5};

/* Learns from @seconds with the demand @pct. */
static void learn_seconds(double pct, double seconds)
{
	learn_load(pct, (int)round(seconds / bench.gpu.period_s));
}

TEST(test_a_vgpu_is_cold_for_seconds)
{
	for (size_t i = 0; i < sizeof(periods_s) / sizeof(periods_s[0]); i++) {
		make(CONTRACT, 50, 0);
		bench.gpu.period_s = periods_s[i];
		learn_seconds(8, COLD - periods_s[i]);
		assert_false(bench.tracks[0].demand.known);
		learn_load(8, periods_s[i] == 2 ? 2 : 1);
		assert_true(bench.tracks[0].demand.known);
	}
}

/* Twenty seconds with 2 % and twenty with 40 %, again and again. */
TEST(test_the_history_is_the_same_at_all_periods)
{
	for (size_t i = 0; i < sizeof(periods_s) / sizeof(periods_s[0]); i++) {
		double share[101], above[POLICY_LEVELS];

		make(CONTRACT, 50, 0);
		bench.gpu.period_s = periods_s[i];
		for (int j = 0; j < 20; j++)
			learn_seconds(j % 2 ? 40 : 2, 20);
		assert_int_equal(bench.tracks[0].demand.ring_fill, POLICY_DEMAND_WINDOW);
		demand_distribution(&bench.vgpus[0], share);
		assert_near(share[2], 0.5);
		assert_near(share[40], 0.5);
		/* The demand falls once in the seconds of a cycle, or in its longer periods. */
		demand_predict(&bench.gpu, &bench.vgpus[0], above);
		assert_true(above[bench.tracks[0].demand.level] < 0.01);
	}
}

/* A change once in ten seconds has a probability of 10 % in a second, and of 2 % in 0.2 s. */
TEST(test_a_short_period_has_its_part_of_the_changes)
{
	static const double periods[] = {1, 0.5, 0.2};
	double above[POLICY_LEVELS];

	make(CONTRACT, 50, 0);
	learn_load(2, COLD);
	memset(bench.tracks[0].demand.follows, 0, sizeof(bench.tracks[0].demand.follows));
	bench.tracks[0].demand.follows[1][1] = 900;
	bench.tracks[0].demand.follows[1][12] = 100;
	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		bench.gpu.period_s = periods[i];
		demand_predict(&bench.gpu, &bench.vgpus[0], above);
		assert_float_equal(above[1], 0.1 * periods[i], 1e-4);
		assert_float_equal(above[0], 1, 1e-4);
		assert_true(above[12] < 1e-4);
	}
}

/* The largest demand of a second counts, as long as the second lasts. */
TEST(test_a_second_has_its_largest_demand)
{
	static const double pct[] = {10, 40, 10, 20, 10};
	double share[101];

	make(CONTRACT, 50, 0);
	bench.gpu.period_s = 0.2;
	for (int i = 0; i < 5 * COLD; i++) {
		learn_load(pct[i % 5], 1);
		assert_near(now_pct(), pct[i % 5]);
		assert_int_equal(bench.tracks[0].demand.level, i % 5 ? 12 : 5);
	}
	demand_distribution(&bench.vgpus[0], share);
	assert_near(share[40], 1);
	assert_near((double)bench.tracks[0].demand.follows[12][12],
		    (1 - pow(FADING, COLD - 1)) / (1 - FADING));
}

/* A count of frames is wrong by up to one, a demand that changes by more changes at once. */
TEST(test_counting_errors_change_no_demand)
{
	for (size_t i = 0; i < sizeof(periods_s) / sizeof(periods_s[0]); i++) {
		double frame = 1 / periods_s[i];

		make(CONTRACT, 50, 60);
		bench.gpu.period_s = periods_s[i];
		for (int j = 0; j < 100; j++) {
			learn(20, 60 + (j % 2 ? frame : 0));
			if (j > 0)
				assert_true(fabs(now_pct() - 20) < 0.02 * 20 * frame + 0.3);
		}
		learn(28, 60);
		assert_near(now_pct(), 28);
	}
}

/* A vGPU that misses its target by 3 % for three seconds, although its cap should serve its demand,
 * has a larger demand. */
TEST(test_missed_targets_correct_a_demand)
{
	make(CONTRACT, 30, 60);
	for (int i = 0; i < 20; i++)
		learn(30, 60);
	for (int i = 0; i < 2; i++) {
		learn(30, 58.2);
		assert_true(now_pct() < 30.9);
	}
	learn(30, 58.2);
	assert_near(now_pct(), 30 * 60 / 58.2);
}

/* Without a frame for a whole second, the demand is the load. */
TEST(test_the_cost_of_a_frame_is_forgotten_without_frames)
{
	make(CONTRACT, 50, 60);
	bench.gpu.period_s = 0.2;
	for (int i = 0; i < 10; i++)
		learn(20, 60);
	learn(0.1, 0);
	assert_near(now_pct(), 20);
	for (int i = 0; i < 9; i++)
		learn(0.1, 0);
	assert_near(now_pct(), 0.1);
}

/* With guarantees, a vGPU that is limited may get a little more than others in a short period. */
TEST(test_a_limited_demand_is_measured_after_a_second)
{
	static const struct {
		double period_s;
		int periods; /* until the demand counts as measured */
	} rows[] = {{0.2, 5}, {0.5, 2}, {1, 1}, {5, 1}};

	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		bool hard = i % 2;
		struct policy_demand *demand;

		make(CONTRACT, 20, 0);
		demand = &bench.tracks[0].demand;
		bench.gpu.period_s = rows[i / 2].period_s;
		bench.gpu.sharing = hard ? POLICY_SHARING_HARD : POLICY_SHARING_GUARANTEE;
		bench.gpu.saturated = true;
		bench.gpu.held_util = 1;
		learn_load(20, 1);
		assert_int_equal(demand->source, POLICY_DEMAND_PROBED);
		learn_load(19, hard ? 1 : rows[i / 2].periods);
		assert_int_equal(demand->source, POLICY_DEMAND_SEEN);
		learn_load(20, 1);
		learn_load(19, rows[i / 2].periods - 1);
		if (!hard)
			assert_int_equal(demand->source, POLICY_DEMAND_PROBED);
	}
}
