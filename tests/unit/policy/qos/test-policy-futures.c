/* SPDX-License-Identifier: MIT */
/* Policy qos: the sampled futures of a GPU after a sale. */
#include "tests/unit/policy/test-policy.h"

#include "policy/qos/futures.h"

#define HOUR 3600

static void make(int n)
{
	static const char *const ids[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	struct given given[BENCH_MAX + 1] = {{0}};

	for (int i = 0; i < n; i++)
		given[i] = (struct given){ids[i], 50, .cap = 12};
	bench_init(given, 1);
	bench.gpu.flavors[0] = (struct policy_terms){.initial_cap_pct = 50, .weight = 1};
}

/* One period with these demands, in percent of the GPU. */
static void see(const double *pct)
{
	for (int i = 0; i < bench.gpu.n_vgpus; i++) {
		struct policy_demand *demand = &bench.tracks[i].demand;

		demand->known = true;
		demand->source = POLICY_DEMAND_SEEN;
		demand->now_pct = (float)pct[i];
	}
	futures_learn(&bench.gpu);
}

static struct futures sample(void)
{
	struct futures futures;

	futures_sample(&bench.params, &bench.gpu, bench.gpu.flavors, 1, &futures);
	return futures;
}

static struct futures after(int seconds, const double *pct)
{
	for (int t = 0; t < seconds; t++)
		see(pct);
	return sample();
}

TEST(test_a_slot_stores_the_largest_demand)
{
	const struct policy_past *past;

	make(1);
	past = &bench.tracks[0].past;
	/* Slot 0 contains the first three seconds. 98 % of a demand must be served. */
	for (int t = 1; t <= 8; t++)
		see((double[]){t == 2 ? 18 : t == 5 ? 14 : 10});
	assert_int_equal(past->slots, 3);
	assert_int_equal(past->pct[0], 18);
	assert_int_equal(past->pct[1], 14);
	assert_int_equal(past->pct[2], 10);
	assert_int_equal(past->peak_pct, 18);
	assert_true(past->seen_s == 8);
}

TEST(test_a_long_period_fills_several_slots)
{
	const struct policy_past *past;

	make(1);
	bench.gpu.period_s = 10;
	past = &bench.tracks[0].past;
	see((double[]){10});
	see((double[]){20});
	/* The second period ends in slot 5. */
	assert_int_equal(past->pct[2], 10);
	assert_int_equal(past->pct[3], 20);
	assert_int_equal(past->pct[4], 20);
	assert_int_equal(past->pct[5], 20);
	assert_int_equal(past->slots, 4);
}

TEST(test_observed_vgpus_that_fit_have_a_small_risk)
{
	double early, late;

	make(4);
	early = after(30, (double[]){10, 10, 5, 5}).broken;
	late = after(HOUR, (double[]){10, 10, 5, 5}).broken;
	assert_true(early > 2 * late);
	assert_true(late < 0.02);
}

TEST(test_idle_vgpus_allow_more_sales_the_longer_they_are_idle)
{
	double risk[3];

	for (int i = 0; i < 3; i++) {
		make(8);
		risk[i] = after((int[]){60, 600, 2 * HOUR}[i], (double[8]){0}).broken;
	}
	assert_true(risk[0] > risk[1] && risk[1] > risk[2]);
	assert_true(risk[2] < 0.04);
}

TEST(test_a_full_gpu_breaks_with_a_newcomer)
{
	struct futures futures;

	make(2);
	futures = after(600, (double[]){49, 49});
	assert_true(futures.over > 0.95);
	assert_true(futures.broken > 0.9);
}

/* Two vGPUs use 45 % in every second slot: at the same time, or alternately. */
TEST(test_vgpus_that_are_busy_together_are_riskier)
{
	double over[2];

	for (int together = 0; together < 2; together++) {
		make(2);
		for (int t = 0; t < HOUR; t++) {
			bool odd = (t + 1) / 4 % 2;

			see((double[]){odd ? 45 : 1, odd == together ? 45 : 1});
		}
		over[together] = sample().over;
	}
	/* Alternately, a busy newcomer fits. */
	assert_true(over[0] < 0.1);
	assert_true(over[1] > 0.2);
}

TEST(test_a_steady_rise_continues)
{
	double broken[2];

	for (int rises = 0; rises < 2; rises++) {
		make(3);
		for (int t = 0; t < 900; t++) {
			double pct = rises ? 2 + t / 40.0 : 24;

			see((double[]){pct, pct, pct});
		}
		broken[rises] = sample().broken;
	}
	assert_true(broken[1] > broken[0] + 0.2);
}

/* A vGPU that was idle for 10 minutes rises to 45 %: its idle time no longer counts. */
/* Until the trend of a rise can be seen, the rise must not pass for steady work. */
TEST(test_a_young_rise_is_not_steady_work)
{
	static const double periods_s[] = {1, 2, 4, 5};

	for (size_t i = 0; i < sizeof(periods_s) / sizeof(periods_s[0]); i++) {
		make(2);
		bench.gpu.period_s = periods_s[i];
		for (double t_s = 0; t_s <= 120; t_s += periods_s[i]) {
			double pct = 2.4 + 46 * t_s / 890;

			see((double[]){pct, pct});
			assert_true(t_s < 30 || 100 * sample().broken > bench.params.sale_risk_pct);
		}
	}
}

TEST(test_after_a_rise_the_idle_time_is_forgotten)
{
	make(2);
	(void)after(600, (double[]){40, 0});
	assert_int_equal(bench.gpu.risen, 0);
	(void)after(1, (double[]){40, 45});
	assert_int_equal(bench.gpu.risen, 1);
	assert_int_equal(bench.tracks[1].past.slots, 1);
	assert_true(bench.tracks[1].past.seen_s == 1);
	assert_true(sample().over > 0.5);
}

/* 10 % and the rises of two others fit, 30 % and two rises do not. */
TEST(test_a_gpu_that_survives_two_rises_has_a_smaller_risk)
{
	double broken[2];

	for (int heavy = 0; heavy < 2; heavy++) {
		make(4);
		broken[heavy] = after(300, (double[]){heavy ? 30 : 10, 0, 0, 0}).broken;
	}
	assert_true(broken[0] > 0);
	assert_true(broken[1] > 5 * broken[0]);
}

/* Neither idle nor steady: 3 % of the GPU with a contract of 50 %. A shared cause may raise all. */
TEST(test_vgpus_with_small_work_count_as_risen)
{
	double broken[2];

	for (int works = 0; works < 2; works++) {
		double pct = works ? 3 : 2;

		make(4);
		broken[works] = after(300, (double[]){pct, pct, pct, pct}).broken;
	}
	assert_true(broken[1] > 10 * broken[0]);
}

TEST(test_the_order_has_no_effect)
{
	static const double pct[] = {7, 31, 2, 22, 11};
	struct futures first = {0};

	for (int turn = 0; turn < 5; turn++) {
		struct futures futures;
		double turned[5];

		make(5);
		for (int i = 0; i < 5; i++) {
			static const char *const ids[] = {"a", "b", "c", "d", "e"};

			bench.vgpus[i].id = ids[(i + turn) % 5];
			turned[i] = pct[(i + turn) % 5];
		}
		futures = after(100, turned);
		if (turn == 0)
			first = futures;
		assert_memory_equal(&first, &futures, sizeof(first));
	}
}

TEST(test_a_filled_past_equals_an_observed_past)
{
	unsigned char pct[300];
	struct policy_past seen;
	double past_s;

	make(1);
	(void)after(1203, (double[]){20});
	seen = bench.tracks[0].past;
	past_s = bench.gpu.past_s;
	make(1);
	bench.gpu.past_s = past_s - 3;
	memset(pct, 20, sizeof(pct));
	futures_fill(&bench.gpu, &bench.vgpus[0], pct, 300);
	(void)after(3, (double[]){20});
	assert_int_equal(bench.tracks[0].past.slots, seen.slots);
	assert_int_equal(bench.tracks[0].past.peak_pct, 20);
	assert_true(bench.tracks[0].past.seen_s == seen.seen_s);
	assert_memory_equal(bench.tracks[0].past.pct, seen.pct, 301);
}
