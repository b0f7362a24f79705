/* SPDX-License-Identifier: MIT */
/* Predictors as admission rules: the peaks they predict, and when they make offers. */
#include "tests/unit/policy/test-policy.h"

#include "policy/window.h"

/* The use of a vGPU in past periods. */
struct past {
	double often; /* use in all other periods */
	double even;  /* use in every second period; 0: not set */
	double once;  /* use 40 periods ago; 0: not set */
	double twice; /* use 41 periods ago; 0: not set */
};

struct row {
	const char *policy;
	const char *rule;
	int periods; /* number of periods seen */
	struct past a, b;
	double peak_pct;
	int cold;
	void (*change)(struct policy_params *params);
};

static void short_window(struct policy_params *params)
{
	params->predict_periods = 10;
}

static void three_sigma(struct policy_params *params)
{
	params->predict_sigmas = 3;
}

static void slow_to_warm(struct policy_params *params)
{
	params->predict_warm_periods = 101;
}

static const struct row rows[] = {
	{"p99", "of 100 periods the largest is beyond the rank, the next is it", 100,
	 .a = {.often = 0.10, .once = 0.30, .twice = 0.20},
	 .b = {.often = 0.05, .once = 0.15, .twice = 0.10}, .peak_pct = 30},
	{"p99", "of 50 the largest is it", 50, .a = {.often = 0.10, .once = 0.30},
	 .b = {.often = 0.05, .once = 0.15}, .peak_pct = 45},
	{"p99", "of 300 the fourth is it", 300, .a = {.often = 0.10, .once = 0.30, .twice = 0.20},
	 .b = {.often = 0.05}, .peak_pct = 15},
	{"p99", "only the last periods count", 100,
	 .a = {.often = 0.10, .once = 0.30, .twice = 0.20}, .b = {.often = 0.05}, .peak_pct = 15,
	 .change = short_window},
	{"max", "the largest of each, whenever that was", 100,
	 .a = {.often = 0.10, .once = 0.30, .twice = 0.20}, .b = {.often = 0.05, .once = 0.15},
	 .peak_pct = 45},
	{"max", "only the last periods count", 100, .a = {.often = 0.10, .once = 0.30},
	 .b = {.often = 0.05}, .peak_pct = 15, .change = short_window},
	{"nsigma", "the mean of the sum and five deviations", 100,
	 .a = {.often = 0.10, .even = 0.14}, .b = {.often = 0.05}, .peak_pct = 17 + 5 * 2},
	{"nsigma", "or three", 100, .a = {.often = 0.10, .even = 0.14}, .b = {.often = 0.05},
	 .peak_pct = 17 + 3 * 2, .change = three_sigma},
	{"nsigma", "together they may be steadier than each", 100,
	 .a = {.often = 0.10, .even = 0.14}, .b = {.often = 0.14, .even = 0.10}, .peak_pct = 24},
	{"nsigma", "or more restless", 100, .a = {.often = 0.10, .even = 0.14},
	 .b = {.often = 0.10, .even = 0.14}, .peak_pct = 24 + 5 * 4},
	{"p99", "29 periods are too few: at their contracts", 29, .a = {.often = 0.10},
	 .b = {.often = 0.05}, .peak_pct = 50, .cold = 2},
	{"p99", "30 are enough", 30, .a = {.often = 0.10}, .b = {.often = 0.05}, .peak_pct = 15},
	{"max", "after as many as the parameter says", 100, .a = {.often = 0.10},
	 .b = {.often = 0.05}, .peak_pct = 50, .cold = 2, .change = slow_to_warm},
	{"nsigma", "cold ones count at their contract", 29, .a = {.often = 0.10},
	 .b = {.often = 0.05}, .peak_pct = 50, .cold = 2},
};

static double load_at(const struct past *past, int ago)
{
	if (ago == 40 && past->once > 0)
		return past->once;
	if (ago == 41 && past->twice > 0)
		return past->twice;
	return ago % 2 == 0 && past->even > 0 ? past->even : past->often;
}

/* Makes two vGPUs that together have half of the GPU. The last period of @row is the current
 * reading, and the windows contain the other periods. */
static void make_bench(const struct row *row, int flavor_pct)
{
	static const struct given vgpus[] = {
		{"a", 30, .cap = 30, .util = 0}, {"b", 20, .cap = 20, .util = 0}, {.id = NULL}};
	const struct past *pasts[] = {&row->a, &row->b};

	bench_init(vgpus, 1);
	bench.policy = policy_find(row->policy);
	for (int i = 0; i < 2; i++) {
		bench.tracks[i] = (struct policy_track){0};
		for (int ago = row->periods; ago > 1; ago--)
			window_add(&bench.tracks[i], load_at(pasts[i], ago));
		bench_read(&bench.vgpus[i], 100 * load_at(pasts[i], 1) / bench.vgpus[i].cap_pct, 0);
	}
	bench.gpu.selling = true;
	bench.gpu.flavors[0] = (struct policy_terms){.initial_cap_pct = flavor_pct, .weight = 1};
	bench.gpu.calm_run = 2;
	if (row->change)
		row->change(&bench.params);
}

TEST(test_peaks)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("  %s: %s\n", rows[i].policy, rows[i].rule);
		make_bench(&rows[i], 10);
		bench_step();
		assert_string_equal(bench_text(), "offer");
		assert_true(fabs(bench_number("peak_pct") - rows[i].peak_pct) < 0.01);
		assert_int_equal((int)bench_number("cold"), rows[i].cold);
	}
}

TEST(test_a_newcomers_whole_contract_must_fit)
{
	static const struct row row = {"max", "", 100, .a = {.often = 0.10, .once = 0.30},
				       .b = {.often = 0.05, .once = 0.15}};

	make_bench(&row, 55);
	bench_step();
	assert_string_equal(bench_text(), "offer");
	make_bench(&row, 56);
	bench_step();
	assert_string_equal(bench_text(), "");
	assert_int_equal(bench.gpu.calm_run, 3);
}

/* A steady use has no deviation, also if the sums of the loads and of their squares are rounded. */
TEST(test_a_steady_peak_and_the_rest_of_the_gpu_fit_together)
{
	static const char *const names[] = {"p99", "nsigma", "max"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (int a_pct = 1; a_pct <= 30; a_pct++) {
			struct row row = {names[i], "", 300, .a = {.often = a_pct / 100.0},
					  .b = {.often = 0.13}};

			make_bench(&row, 100 - 13 - a_pct);
			bench_step();
			if (strcmp(bench_text(), "offer") != 0)
				fail_msg("%s: no offer beside %d %%", names[i], 13 + a_pct);
			make_bench(&row, 100 - 13 - a_pct + 1);
			bench_step();
			assert_string_equal(bench_text(), "");
		}
	}
}

TEST(test_lowload_pct_has_no_influence)
{
	static const struct row row = {"max", "", 100, .a = {.often = 0.29}, .b = {.often = 0.19}};

	make_bench(&row, 52);
	bench.params.lowload_pct = 1;
	bench_step();
	assert_string_equal(bench_text(), "offer");
	make_bench(&row, 53);
	bench.params.lowload_pct = 100;
	bench_step();
	assert_string_equal(bench_text(), "");
}

TEST(test_caps_move_as_under_gover)
{
	static const char *const names[] = {"p99", "nsigma", "max"};
	static const struct given vgpus[] = {{"a", 80, .cap = 80, .util = 0.4},
					     {"b", 50, .cap = 20, .util = 1, .over_run = 2},
					     {.id = NULL}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bench_init(vgpus, 1);
		bench.policy = policy_find(names[i]);
		bench_step();
		assert_string_equal(bench_text(), "steal b from a: a 80->71, b 20->29");
	}
}

TEST(test_the_sentence_and_the_numbers)
{
	static const struct {
		struct row row;
		const char *why, *numbers;
	} said[] = {
		{{"p99", "", 100, .a = {.often = 0.10}, .b = {.often = 0.05}},
		 "No vGPU needed help for 3 periods, and the 99th percentiles of each vGPU's use "
		 "over 300 periods add up to 15.0 %: a contract of 40 % fits; 40 % can be funded "
		 "now, of which other vGPUs give 0 %",
		 "calm_periods=3 total_load_pct=15 peak_pct=15 flavor_cap_pct=40 fundable_pct=40 "
		 "min_newcomer_pct=10 free_pct=50 given_pct=0 cold=0 predict_periods=300 "
		 "predict_sigmas=5"},
		{{"nsigma", "", 100, .a = {.often = 0.10}, .b = {.often = 0.05},
		  .change = three_sigma},
		 "No vGPU needed help for 3 periods, and the mean and 3 standard deviations of the "
		 "total use over 300 periods add up to 15.0 %: a contract of 40 % fits; 40 % can "
		 "be funded now, of which other vGPUs give 0 %",
		 "calm_periods=3 total_load_pct=15 peak_pct=15 flavor_cap_pct=40 fundable_pct=40 "
		 "min_newcomer_pct=10 free_pct=50 given_pct=0 cold=0 predict_periods=300 "
		 "predict_sigmas=3"},
		{{"max", "", 20, .a = {.often = 0.10}, .b = {.often = 0.05}},
		 "No vGPU needed help for 3 periods, and the largest uses of each vGPU over 300 "
		 "periods add up to 50.0 % (2 vGPUs are younger than 30 periods and count with "
		 "their contracts): a contract of 40 % fits; 40 % can be funded now, of which "
		 "other vGPUs give 0 %",
		 "calm_periods=3 total_load_pct=15 peak_pct=50 flavor_cap_pct=40 fundable_pct=40 "
		 "min_newcomer_pct=10 free_pct=50 given_pct=0 cold=2 predict_periods=300 "
		 "predict_sigmas=5"},
	};

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		make_bench(&said[i].row, 40);
		bench_step();
		assert_int_equal(bench.out.n_decisions, 1);
		bench_check_said(&bench.out.decisions[0], said[i].why, said[i].numbers);
	}
}
