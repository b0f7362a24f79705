/* SPDX-License-Identifier: MIT */
/* The demand of a vGPU is learned in the same way at all lengths of a period. */
#include "tests/unit/policy/qos/test-policy-demand.h"

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
