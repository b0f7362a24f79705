/* SPDX-License-Identifier: MIT */
/*
 * Sums of demands and the expected profit, with numbers computed by hand, and the sampled futures
 * of a GPU after a sale.
 */
#include "policy/qos/futures.h"
#include "policy/qos/profit.h"
#include "tests/unit/policy/test-policy.h"

#define MORE 101
#define HOOK 15.0 /* seconds of overload until a vGPU has been migrated */

#define assert_near(a, b) assert_float_equal(a, b, 1e-9)

/* The recent demands of a vGPU in whole percent, one for each period. */
struct lately {
	const char *id; /* NULL ends the list */
	int n;
	int pct[8];
	bool held; /* the cap is held at the last demand */
};

static void make(const struct lately *lately)
{
	struct given given[BENCH_MAX + 1] = {{0}};

	for (int i = 0; i < BENCH_MAX && lately[i].id; i++)
		given[i] = (struct given){lately[i].id, 50, .cap = 10, .held = lately[i].held};
	bench_init(given, 1);
	bench.gpu.migrates = true;
	bench.gpu.moving = (struct policy_moving){.answered = 1, .delay_s = 10};
	bench.gpu.flavors[0] = (struct policy_terms){.initial_cap_pct = 50, .weight = 1};
	for (int i = 0; i < bench.gpu.n_vgpus; i++) {
		struct policy_demand *demand = &bench.tracks[i].demand;

		demand->known = true;
		demand->ring_fill = lately[i].n;
		for (int t = 0; t < lately[i].n; t++) {
			demand->ring_pct[t] = (unsigned char)lately[i].pct[t];
			demand->peak_pct[0] = fmaxf(demand->peak_pct[0], (float)lately[i].pct[t]);
		}
		if (lately[i].held)
			bench.vgpus[i].cap_pct = lately[i].pct[lately[i].n - 1];
	}
}

static struct overload sum_of(void)
{
	struct overload overload;

	overload_sum_demands(&bench.params, &bench.gpu, &overload);
	return overload;
}

static void check(const struct overload *overload, const double want[MORE + 1])
{
	for (int i = 0; i <= MORE; i++)
		if (fabs(overload->share[i] - want[i]) > 1e-9 ||
		    (want[i] == 0 && overload->share[i] != 0))
			fail_msg("%d %%: %g, not %g", i, overload->share[i], want[i]);
}

TEST(test_demands_add_up)
{
	struct overload overload;

	make((const struct lately[]){{.id = NULL}});
	overload = sum_of();
	check(&overload, (double[MORE + 1]){[0] = 1});
	assert_int_equal(overload.top, 0);

	make((const struct lately[]){{"a", .n = 4, .pct = {10, 10, 20, 40}},
				     {"b", .n = 2, .pct = {30, 80}},
				     {.id = NULL}});
	overload = sum_of();
	check(&overload, (double[MORE + 1]){[40] = 0.25,
					    [50] = 0.125,
					    [70] = 0.125,
					    [90] = 0.25,
					    [100] = 0.125,
					    [MORE] = 0.125});
	assert_int_equal(overload.top, MORE);
}

TEST(test_the_top_is_the_largest_possible_total)
{
	struct overload overload;

	make((const struct lately[]){{"a", .n = 4, .pct = {10, 10, 20, 40}},
				     {"b", .n = 2, .pct = {25, 30}},
				     {.id = NULL}});
	overload = sum_of();
	assert_int_equal(overload.top, 70);
}

TEST(test_overload_stays_overload)
{
	struct overload overload;

	make((const struct lately[]){{"a", .n = 2, .pct = {40, 60}},
				     {"b", .n = 1, .pct = {50}},
				     {"c", .n = 2, .pct = {5, 10}},
				     {.id = NULL}});
	overload = sum_of();
	check(&overload, (double[MORE + 1]){[95] = 0.25, [100] = 0.25, [MORE] = 0.5});
}

TEST(test_holds_and_floors_count)
{
	struct overload overload;

	make((const struct lately[]){{"a", .n = 2, .pct = {90, 25}, .held = true},
				     {"b", .n = 4, .pct = {0, 3, 4, 20}},
				     {.id = NULL}});
	bench.vgpus[1].terms.min_cap_pct = 4;
	overload = sum_of();
	check(&overload, (double[MORE + 1]){[29] = 0.75, [45] = 0.25});
}

TEST(test_a_hold_may_be_almost_the_whole_gpu)
{
	for (int pct = 98; pct <= 100; pct++) {
		struct overload overload;

		make((const struct lately[]){{"a", .n = 1, .pct = {pct}, .held = true},
					     {.id = NULL}});
		overload = sum_of();
		assert_true(overload.share[pct] == 1);
		assert_int_equal(overload.top, pct);
	}
}

TEST(test_the_order_does_not_matter)
{
	static const struct lately all[] = {
		{"a", .n = 7, .pct = {1, 2, 3, 5, 8, 13, 21}},
		{"b", .n = 3, .pct = {7, 11, 31}},
		{"c", .n = 6, .pct = {0, 0, 49, 1, 9, 9}},
		{"d", .n = 5, .pct = {3, 3, 4, 9, 30}},
		{"e", .n = 7, .pct = {2, 4, 4, 8, 16, 6, 5}},
	};
	struct overload first;

	for (int turn = 0; turn < 4; turn++) {
		struct lately lately[6] = {{.id = NULL}};
		struct overload overload;

		for (int i = 0; i < 5; i++)
			lately[i] = all[(i * (turn + 1) + turn) % 5];
		make(lately);
		overload = sum_of();
		if (turn == 0)
			first = overload;
		assert_memory_equal(&first, &overload, sizeof(first));
	}
}

/* Three vGPUs with seven demands each: the probabilities add up to 1 with a rounding error. */
TEST(test_a_rounding_error_is_no_overload)
{
	static const struct lately lately[] = {{"a", .n = 7, .pct = {1, 2, 3, 4, 5, 6, 7}},
					       {"b", .n = 7, .pct = {1, 2, 3, 4, 5, 6, 7}},
					       {"c", .n = 7, .pct = {1, 2, 3, 4, 5, 6, 7}},
					       {.id = NULL}};
	struct overload overload;
	double share[OVERLOAD_PCTS] = {0};

	make(lately);
	overload = sum_of();
	for (int pct = 1; pct <= 7; pct++)
		share[pct] = 1. / 7;
	assert_true(overload_probability(&overload, share) == 0);
}

/* A probability of 1e-10 is no rounding error. */
TEST(test_a_rare_overload_counts)
{
	struct overload overload = {.share = {[5] = 1 - 1e-10, [80] = 1e-10}, .top = 80};
	double share[OVERLOAD_PCTS] = {[30] = 1};

	assert_near(overload_probability(&overload, share) / 1e-10, 1);
}

TEST(test_a_newcomer_adds_overload)
{
	struct overload overload;

	make((const struct lately[]){{"a", .n = 4, .pct = {10, 10, 20, 40}},
				     {"b", .n = 2, .pct = {30, 80}},
				     {.id = NULL}});
	overload = sum_of();
	assert_near(overload_probability(&overload, (double[OVERLOAD_PCTS]){[0] = 1}), 0.125);
	assert_near(overload_probability(&overload, (double[OVERLOAD_PCTS]){[10] = 1}), 0.25);
	assert_near(overload_probability(&overload, (double[OVERLOAD_PCTS]){[0] = 0.5, [20] = 0.5}),
		    0.3125);
	assert_near(overload_probability(&overload, (double[OVERLOAD_PCTS]){[100] = 1}), 1);
}

/*
 * --- the expected profit ---
 *
 * The newcomer has a contract of 50 %. A whole GPU costs 1 per hour and a broken vGPU-second 0.01,
 * so the price pays for 50 broken seconds per hour.
 */

static struct profit expect(void)
{
	struct profit profit;

	profit_expect(&bench.params, &bench.gpu, bench.gpu.flavors, 1, &profit);
	return profit;
}

static void check_profit(double misfit, double broken_s, double expected)
{
	struct profit profit = expect();

	assert_near(profit.price,
		    bench.params.price_per_cap_hour * bench.gpu.flavors[0].initial_cap_pct / 100);
	assert_near(profit.misfit, misfit);
	assert_float_equal(profit.broken_s, broken_s, 1e-6);
	assert_float_equal(profit.penalty, bench.params.penalty_per_broken_s * broken_s, 1e-6);
	assert_float_equal(profit.expected, expected, 1e-6);
}

TEST(test_an_empty_gpu_is_all_profit)
{
	make((const struct lately[]){{.id = NULL}});
	check_profit(0, 0, 0.5);
	bench.gpu.flavors[0].initial_cap_pct = 25;
	bench.params.price_per_cap_hour = 8;
	check_profit(0, 0, 2);
}

TEST(test_without_a_price_no_newcomer_fits)
{
	make((const struct lately[]){{.id = NULL}});
	bench.params.price_per_cap_hour = 0;
	check_profit(1, HOOK, -0.01 * HOOK);
	bench.params.penalty_per_broken_s = 0;
	check_profit(1, HOOK, 0);
}

TEST(test_a_newcomer_that_does_not_fit_costs_until_it_is_migrated)
{
	make((const struct lately[]){{"a", .n = 1, .pct = {50}, .held = true},
				     {"b", .n = 1, .pct = {50}, .held = true},
				     {.id = NULL}});
	check_profit(1, HOOK, -0.15);
	bench.gpu.moving.delay_s = 120;
	check_profit(1, 125, -1.25);
	bench.params.penalty_per_broken_s = 0; /* without penalties every newcomer fits */
	check_profit(0, 0, 0.5);
}

/* The demand of a newcomer of an unseen kind may be 31 to 50 %. It fits if its demand is at most
 * 40 %. */
TEST(test_unseen_kinds_weigh_as_much_as_one_vgpu)
{
	make((const struct lately[]){
		{"a", .n = 1, .pct = {30}}, {"b", .n = 1, .pct = {30}}, {.id = NULL}});
	check_profit(10. / 60, HOOK / 6, 0.5 * 5 / 6 - 0.01 * HOOK / 6);
}

/* Both vGPUs are held at 50 %, so every future of a sale exceeds the GPU, and the newcomer must be
 * migrated. */
TEST(test_migrations_have_a_price)
{
	struct profit profit;

	make((const struct lately[]){{"a", .n = 1, .pct = {50}, .held = true},
				     {"b", .n = 1, .pct = {50}, .held = true},
				     {.id = NULL}});
	bench.params.price_per_move = 0.6;
	profit = expect();
	assert_near(profit.moves, 1);
	assert_near(profit.penalty, 0.01 * HOOK + 0.6);
	assert_near(profit.expected, -0.75);
	/* One naming was answered: the trust is 1 / 1.03, and a migration takes 15 of 1800 s. */
	assert_true(profit.risk > 0.015 && profit.risk <= 0.038);
}

/* The risk of a sale is weighted by the probability that vGPUs are not migrated. */
TEST(test_the_risk_depends_on_the_trust_in_migrations)
{
	double risk;

	make((const struct lately[]){{"a", .n = 1, .pct = {60}, .held = true},
				     {"b", .n = 1, .pct = {40}, .held = true},
				     {.id = NULL}});
	bench.gpu.migrates = false;
	risk = expect().risk;
	assert_true(risk > 0.5);
	bench.gpu.migrates = true;
	bench.gpu.moving.answered = 0;
	assert_near(expect().risk, risk);
	bench.gpu.moving.unanswered = true;
	assert_near(expect().risk, risk);
	bench.gpu.moving = (struct policy_moving){.answered = 9};
	assert_near(expect().risk, (1 - 9 / 9.03 * (1 - HOOK / 1800.0)) * risk);
}

TEST(test_a_sale_needs_a_profit_and_a_small_risk)
{
	struct policy_params params = {.sale_risk_pct = 4.5};

	assert_true(profit_is_enough(&params, &(struct profit){.expected = 0.1, .risk = 0.045}));
	assert_false(profit_is_enough(&params, &(struct profit){.expected = 0.1, .risk = 0.046}));
	assert_false(profit_is_enough(&params, &(struct profit){.expected = 0, .risk = 0}));
}

/* The contract is 50 %. A largest demand of 48 % is at least 95 % of it, so no further kind is
 * assumed. With 47 %, there may be newcomers that want 48, 49 or 50 %. */
TEST(test_kinds_above_almost_the_whole_contract_are_not_assumed)
{
	make((const struct lately[]){
		{"a", .n = 1, .pct = {48}}, {"b", .n = 1, .pct = {4}, .held = true}, {.id = NULL}});
	check_profit(0, 0, 0.5);
	make((const struct lately[]){
		{"a", .n = 1, .pct = {47}}, {"b", .n = 1, .pct = {5}, .held = true}, {.id = NULL}});
	/* A newcomer with 47, 5 or 48 % fits. 98 % of 49 and of 50 are 49 in whole percent, which
	 * do not fit. Each of the two vGPUs weighs as much as these three kinds. */
	check_profit(2. / 9, HOOK * 2 / 9, 0.5 * 7 / 9 - 0.01 * HOOK * 2 / 9);

	/* A largest demand of exactly 95 % of the contract: the only further kind is not assumed.
	 */
	make((const struct lately[]){{"a", .n = 1, .pct = {19}},
				     {"b", .n = 1, .pct = {62}, .held = true},
				     {.id = NULL}});
	bench.tracks[1].demand.peak_pct[0] = 0;
	bench.gpu.flavors[0].initial_cap_pct = 20;
	check_profit(0.5, HOOK / 2, 0.2 / 2 - 0.01 * HOOK / 2);
}

/* The only further kind weighs as much as the present vGPU. */
TEST(test_a_single_unseen_kind_has_its_weight)
{
	make((const struct lately[]){
		{"a", .n = 1, .pct = {9}}, {"b", .n = 1, .pct = {82}, .held = true}, {.id = NULL}});
	bench.tracks[1].demand.peak_pct[0] = 0;
	bench.gpu.flavors[0].initial_cap_pct = 10;
	/* 9 % fits; 82 % and 10 % do not. */
	check_profit(2. / 3, HOOK * 2 / 3, 0.1 / 3 - 0.01 * HOOK * 2 / 3);
}

/* Beside idle vGPUs and a hold of 70 %: 1 to 50 % are assumed, and 1 to 30 % fit. */
TEST(test_beside_idle_vgpus_every_demand_is_assumed)
{
	make((const struct lately[]){{"a", .n = 1, .pct = {70}, .held = true}, {.id = NULL}});
	bench.tracks[0].demand.peak_pct[0] = 0;
	/* The kind of vGPU a, which weighs 50, and 20 other kinds do not fit. */
	check_profit(0.7, HOOK * 0.7, 0.5 * 0.3 - 0.01 * HOOK * 0.7);
}

/* A newcomer will be broken as often as the average vGPU in the last hour. */
TEST(test_the_broken_time_of_the_last_hour_is_expected_again)
{
	static const struct {
		struct lately lately[3];
		double broken_s;
	} rows[] = {{{{.id = NULL}}, 12},
		    {{{"a", .n = 1, .pct = {10}}, {.id = NULL}}, 12},
		    {{{"a", .n = 1, .pct = {10}}, {"b", .n = 1, .pct = {10}}, {.id = NULL}}, 6}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make(rows[i].lately);
		bench.gpu.broken_s = 12;
		check_profit(0, rows[i].broken_s, 0.5 - 0.01 * rows[i].broken_s);
	}
}

/* An existing overload is not charged to the newcomer. */
TEST(test_only_added_overload_is_charged)
{
	make((const struct lately[]){{"a", .n = 2, .pct = {40, 80}},
				     {"b", .n = 1, .pct = {30}},
				     {"c", .n = 1, .pct = {5}},
				     {.id = NULL}});
	for (int i = 0; i < 3; i++)
		bench.tracks[i].demand.peak_pct[0] = 50;
	/* Only a newcomer with the demand of vGPU c fits. */
	check_profit(2. / 3, HOOK * 2 / 3, 0.5 / 3 - 0.1);
}

/* --- sampled futures of a GPU after a sale --- */

#define HOUR 3600

static void make_equal(int n)
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

	make_equal(1);
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

	make_equal(1);
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

	make_equal(4);
	early = after(30, (double[]){10, 10, 5, 5}).broken;
	late = after(HOUR, (double[]){10, 10, 5, 5}).broken;
	assert_true(early > 2 * late);
	assert_true(late < 0.02);
}

TEST(test_idle_vgpus_allow_more_sales_the_longer_they_are_idle)
{
	double risk[3];

	for (int i = 0; i < 3; i++) {
		make_equal(8);
		risk[i] = after((int[]){60, 600, 2 * HOUR}[i], (double[8]){0}).broken;
	}
	assert_true(risk[0] > risk[1] && risk[1] > risk[2]);
	assert_true(risk[2] < 0.04);
}

TEST(test_a_full_gpu_breaks_with_a_newcomer)
{
	struct futures futures;

	make_equal(2);
	futures = after(600, (double[]){49, 49});
	assert_true(futures.over > 0.95);
	assert_true(futures.broken > 0.9);
}

/* Two vGPUs use 45 % in every second slot: at the same time, or alternately. */
TEST(test_vgpus_that_are_busy_together_are_riskier)
{
	double over[2];

	for (int together = 0; together < 2; together++) {
		make_equal(2);
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
		make_equal(3);
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
		make_equal(2);
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
	make_equal(2);
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
		make_equal(4);
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

		make_equal(4);
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

		make_equal(5);
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

	make_equal(1);
	(void)after(1203, (double[]){20});
	seen = bench.tracks[0].past;
	past_s = bench.gpu.past_s;
	make_equal(1);
	bench.gpu.past_s = past_s - 3;
	memset(pct, 20, sizeof(pct));
	futures_fill(&bench.gpu, &bench.vgpus[0], pct, 300);
	(void)after(3, (double[]){20});
	assert_int_equal(bench.tracks[0].past.slots, seen.slots);
	assert_int_equal(bench.tracks[0].past.peak_pct, 20);
	assert_true(bench.tracks[0].past.seen_s == seen.seen_s);
	assert_memory_equal(bench.tracks[0].past.pct, seen.pct, 301);
}
