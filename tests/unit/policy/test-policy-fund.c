/* SPDX-License-Identifier: MIT */
/* Rules 8, 9, 10 and 12: funding a newcomer, redistribution, fitting into the GPU, fixing a cap,
 * and a changed contract. */
#include <errno.h>

#include "tests/unit/policy/test-policy.h"

struct row {
	const char *rule;
	int step; /* 0: 1 % */
	struct given vgpus[5];
	struct policy_terms newcomer; /* for fund: the contract of the newcomer */
	const char *held;	      /* for hold: the vGPU */
	int held_pct;		      /* for hold: its fixed cap */
	const char *set;	      /* for set: the vGPU that gets the contract @newcomer */
	int result;
	int largest_pct; /* if a hold does not fit: the largest cap that fits */
	const char *decision;
};

static void start_row(const struct row *row)
{
	print_message("  %s\n", row->rule);
	bench_init(row->vgpus, row->step ? row->step : 1);
	memset(&bench.out, 0xff, sizeof(bench.out)); /* every call must set all of it */
	for (int i = 0; i < bench.gpu.n_vgpus; i++)
		bench.vgpus[i].want_cap_pct = bench.vgpus[i].cap_pct;
}

static void end_row(const struct row *row, int result)
{
	assert_int_equal(result, row->result);
	assert_string_equal(bench_text(), row->decision);
	bench_check_wants();
}

static const struct row fund_rows[] = {
	{"rule 9: the free pool comes first", .vgpus = {{"a", 50, .cap = 50, .util = 0.1}},
	 .newcomer = {.initial_cap_pct = 50}, .result = 50, .decision = "fund"},
	{"rule 9: the first tenant of an empty GPU", .newcomer = {.initial_cap_pct = 100},
	 .result = 100, .decision = "fund"},
	{"rule 9: then the others in proportion to their unused cap",
	 .vgpus = {{"a", 60, .cap = 60, .peak = 0.2}, {"b", 40, .cap = 40, .peak = 0.2}},
	 .newcomer = {.initial_cap_pct = 30}, .result = 30, .decision = "fund: a 60->40, b 40->30"},
	{"rule 9: at most 0.8 of it",
	 .vgpus = {{"a", 60, .cap = 60, .peak = 0.2}, {"b", 40, .cap = 40, .peak = 0.2}},
	 .newcomer = {.initial_cap_pct = 60}, .result = 48, .decision = "fund: a 60->28, b 40->24"},
	{"rule 9: by the largest use, not the present one",
	 .vgpus = {{"a", 100, .cap = 100, .util = 0, .peak = 0.85}},
	 .newcomer = {.initial_cap_pct = 50}, .result = 12, .decision = "fund from a: a 100->88"},
	{"rule 9: in whole steps of 5", .step = 5,
	 .vgpus = {{"a", 60, .cap = 60, .peak = 0.2}, {"b", 40, .cap = 40, .peak = 0.2}},
	 .newcomer = {.initial_cap_pct = 33}, .result = 30, .decision = "fund: a 60->40, b 40->30"},
	{"rule 9: each giver's part rounded down to steps", .step = 5,
	 .vgpus = {{"a", 60, .cap = 60, .peak = 0.2}, {"b", 40, .cap = 40, .peak = 0.2}},
	 .newcomer = {.initial_cap_pct = 100}, .result = 45,
	 .decision = "fund: a 60->30, b 40->25"},
	{"rule 9: never below a floor",
	 .vgpus = {{"a", 60, .cap = 60, .min_cap = 50}, {"b", 40, .cap = 40, .min_cap = 36}},
	 .newcomer = {.initial_cap_pct = 30}, .result = 14, .decision = "fund: a 60->50, b 40->36"},
	{"rule 9: a held vGPU gives nothing",
	 .vgpus = {{"a", 60, .cap = 60, .held = true}, {"b", 40, .cap = 40}},
	 .newcomer = {.initial_cap_pct = 30}, .result = 30, .decision = "fund from b: b 40->10"},
	{"rule 9: a vGPU with an invalid reading gives nothing",
	 .vgpus = {{"a", 60, .cap = 60, .util = NAN}, {"b", 40, .cap = 40}},
	 .newcomer = {.initial_cap_pct = 30}, .result = 30, .decision = "fund from b: b 40->10"},
	{"rule 9: an overloaded vGPU gives nothing",
	 .vgpus = {{"a", 60, .cap = 60, .util = 0.7, .target = 60, .fps = 30, .short_run = 1,
		    .peak = 0.42},
		   {"b", 40, .cap = 40}},
	 .newcomer = {.initial_cap_pct = 30}, .result = 30, .decision = "fund from b: b 40->10"},
	{"rule 9: exactly min_newcomer_pct will do", .vgpus = {{"a", 90, .cap = 90, .held = true}},
	 .newcomer = {.initial_cap_pct = 30}, .result = 10, .decision = "fund"},
	{"rule 9: less will not", .vgpus = {{"a", 91, .cap = 91, .held = true}},
	 .newcomer = {.initial_cap_pct = 30}, .result = -ENOSPC, .decision = ""},
	{"rule 9: 0.8 of 12 % unused is less than 10 %",
	 .vgpus = {{"a", 100, .cap = 100, .peak = 0.88}}, .newcomer = {.initial_cap_pct = 30},
	 .result = -ENOSPC, .decision = ""},
	{"rule 9: not below the newcomer's own floor",
	 .vgpus = {{"a", 80, .cap = 80, .held = true}},
	 .newcomer = {.initial_cap_pct = 30, .min_cap_pct = 25}, .result = -ENOSPC, .decision = ""},
	{"rule 9: burst does not raise the contract",
	 .newcomer = {.initial_cap_pct = 30, .burst = true}, .result = 30, .decision = "fund"},
	{"rule 8: caps are fitted to 100 before the newcomer gets any",
	 .vgpus = {{"a", 100, .cap = 60}, {"b", 100, .cap = 60}},
	 .newcomer = {.initial_cap_pct = 30}, .result = 30, .decision = "fund: a 60->35, b 60->35"},
};

TEST(test_funding_a_newcomer)
{
	for (size_t i = 0; i < sizeof(fund_rows) / sizeof(fund_rows[0]); i++) {
		const struct row *row = &fund_rows[i];

		start_row(row);
		end_row(row, policy_fund(&bench.params, &bench.gpu, &row->newcomer, &bench.out));
	}
}

/* Funds a newcomer with a small min_newcomer_pct. */
static int fund(void)
{
	static const struct policy_terms newcomer = {.initial_cap_pct = 100};

	return policy_fund(&bench.params, &bench.gpu, &newcomer, &bench.out);
}

TEST(test_given_caps_are_counted_in_percent)
{
	static const struct given given[] = {{"a", 60, .cap = 60, .peak = 0.3}, {0}};

	bench_init(given, 5);
	assert_int_equal(fund(), 60);
	assert_true(bench_number("given_pct") == 20);
}

TEST(test_a_new_vgpu_without_history_gives_nothing)
{
	static const struct given given[] = {{"a", 100, .cap = 100}, {0}};

	bench_init(given, 1);
	bench.tracks[0] = (struct policy_track){0};
	assert_int_equal(fund(), -ENOSPC);
}

TEST(test_the_window_drops_old_periods)
{
	static const struct given given[] = {{"a", 100, .cap = 100}, {0}};
	static const int windows[] = {1, 30, POLICY_WINDOW_MAX};

	for (size_t w = 0; w < 3; w++) {
		bench_init(given, 1);
		bench.params.fund_window_periods = windows[w];
		for (int lap = 0; lap < 3; lap++) {
			bench_read(&bench.vgpus[0], 0.5, NAN);
			bench_step();
			bench_read(&bench.vgpus[0], 0, NAN);
			for (int idle = 0; idle < windows[w]; idle++) {
				assert_int_equal(fund(), 40);
				bench_step();
			}
			assert_int_equal(fund(), 80);
		}
	}
}

TEST(test_an_invalid_reading_does_not_age_the_window)
{
	static const struct given given[] = {{"a", 100, .cap = 100, .util = 0.5}, {0}};

	bench_init(given, 1);
	bench.params.fund_window_periods = 3;
	bench_step();
	bench_read(&bench.vgpus[0], 0, NAN);
	bench_step();
	bench_read(&bench.vgpus[0], NAN, NAN);
	for (int i = 0; i < 5; i++)
		bench_step();
	bench_read(&bench.vgpus[0], 0, NAN);
	bench_step();
	assert_int_equal(fund(), 40);
}

static const struct row return_rows[] = {
	{"rule 10: to vGPUs below their contract, in proportion to the shortfall of each",
	 .vgpus = {{"a", 60, .cap = 40}, {"b", 40, .cap = 30}, {"c", 15, .cap = 15}},
	 .decision = "return: a 40->50, b 30->35"},
	{"rule 10: the rest is free pool", .vgpus = {{"a", 60, .cap = 40}, {"b", 20, .cap = 20}},
	 .decision = "return: a 40->60"},
	{"rule 10: burst gets back its contract, not more",
	 .vgpus = {{"a", 60, .cap = 40, .burst = true}}, .decision = "return: a 40->60"},
	{"rule 10: whole steps", .step = 5, .vgpus = {{"a", 63, .cap = 40}, {"b", 40, .cap = 35}},
	 .decision = "return: a 40->60, b 35->40"},
	{"rule 10: odd steps to the lowest id",
	 .vgpus = {{"v10", 80, .cap = 49}, {"v9", 81, .cap = 50, .util = NAN}},
	 .decision = "return: v9 50->51"},
	{"rule 12: a held vGPU gets nothing",
	 .vgpus = {{"a", 60, .cap = 40, .held = true}, {"b", 60, .cap = 50}},
	 .decision = "return: b 50->60"},
	{"nothing free", .vgpus = {{"a", 60, .cap = 40}, {"b", 60, .cap = 60}}, .decision = ""},
	{"no vGPU is below its contract", .vgpus = {{"a", 40, .cap = 40}}, .decision = ""},
	{"no vGPU is left", .decision = ""},
};

TEST(test_redistributing_the_cap_of_a_removed_vgpu)
{
	for (size_t i = 0; i < sizeof(return_rows) / sizeof(return_rows[0]); i++) {
		start_row(&return_rows[i]);
		policy_return(&bench.params, &bench.gpu, &bench.out);
		end_row(&return_rows[i], 0);
	}
}

static const struct row fit_rows[] = {
	{"exactly 100 fits", .vgpus = {{"a", 60, .cap = 60}, {"b", 40, .cap = 40}}, .decision = ""},
	{"rule 12: unused cap is cut first, in proportion",
	 .vgpus = {{"a", 60, .cap = 60, .peak = 0.4},
		   {"b", 60, .cap = 60, .peak = 0.5},
		   {"c", 10, .cap = 10, .peak = 0.1}},
	 .decision = "fit: a 60->40, b 60->50"},
	{"rule 12: then all caps are cut in proportion",
	 .vgpus = {{"a", 100, .cap = 100, .peak = 0.9}, {"b", 60, .cap = 60, .peak = 0.6}},
	 .decision = "fit: a 100->60, b 60->40"},
	{"rule 12: a vGPU with unknown use is cut in proportion only",
	 .vgpus = {{"a", 100, .cap = 100, .util = NAN}, {"b", 100, .cap = 100, .peak = 0.5}},
	 .decision = "fit: a 100->67, b 100->33"},
	{"rule 12: held caps come first",
	 .vgpus = {{"a", 80, .cap = 80, .held = true}, {"b", 60, .cap = 60}},
	 .decision = "fit: b 60->20"},
	{"rule 12: never below a floor",
	 .vgpus = {{"a", 80, .cap = 80, .min_cap = 70}, {"b", 60, .cap = 60}},
	 .decision = "fit: a 80->70, b 60->30"},
	{"rule 12: floors reached, the others give more",
	 .vgpus = {{"a", 80, .cap = 80, .peak = 0.8, .min_cap = 70},
		   {"b", 60, .cap = 60, .peak = 0.6}},
	 .decision = "fit: a 80->70, b 60->30"},
	{"rule 12: floors and holds limit the cuts",
	 .vgpus = {{"a", 80, .cap = 80, .held = true}, {"b", 60, .cap = 60, .min_cap = 30}},
	 .result = -ENOSPC, .decision = "fit: b 60->30"},
	{"rule 12: all held",
	 .vgpus = {{"a", 80, .cap = 80, .held = true}, {"b", 60, .cap = 60, .held = true}},
	 .result = -ENOSPC, .decision = ""},
	{"rule 12: whole steps, never less than needed", .step = 7,
	 .vgpus = {{"a", 70, .cap = 70}, {"b", 35, .cap = 35, .peak = 0.35}},
	 .decision = "fit: a 70->63"},
};

TEST(test_fitting_into_the_gpu)
{
	for (size_t i = 0; i < sizeof(fit_rows) / sizeof(fit_rows[0]); i++) {
		start_row(&fit_rows[i]);
		end_row(&fit_rows[i], policy_fit(&bench.params, &bench.gpu, &bench.out));
	}
}

static const struct row hold_rows[] = {
	{"rule 12: a hold at its cap moves nothing",
	 .vgpus = {{"a", 60, .cap = 60}, {"b", 40, .cap = 40}}, .held = "a", .held_pct = 60,
	 .decision = "hold a"},
	{"rule 12: a lower cap frees the rest",
	 .vgpus = {{"a", 60, .cap = 60}, {"b", 40, .cap = 30}}, .held = "a", .held_pct = 20,
	 .decision = "hold a: a 60->20"},
	{"rule 12: a raise from the pool", .vgpus = {{"a", 60, .cap = 40}, {"b", 40, .cap = 40}},
	 .held = "a", .held_pct = 60, .decision = "hold a: a 40->60"},
	{"rule 12: other vGPUs give unused cap",
	 .vgpus = {{"a", 80, .cap = 40},
		   {"b", 40, .cap = 40, .peak = 0.1},
		   {"c", 20, .cap = 20, .peak = 0.2}},
	 .held = "a", .held_pct = 60, .decision = "hold a: b 40->20, a 40->60"},
	{"rule 12: other vGPUs then give in proportion",
	 .vgpus = {{"a", 100, .cap = 40},
		   {"b", 40, .cap = 40, .peak = 0.4},
		   {"c", 20, .cap = 20, .peak = 0.2}},
	 .held = "a", .held_pct = 70, .decision = "hold a: b 40->20, c 20->10, a 40->70"},
	{"rule 12: the largest that fits",
	 .vgpus = {{"a", 100, .cap = 40},
		   {"b", 40, .cap = 40, .min_cap = 10},
		   {"c", 20, .cap = 20, .held = true}},
	 .held = "a", .held_pct = 70, .decision = "hold a: b 40->10, a 40->70"},
	{"rule 12: one more does not fit, and the largest cap is returned",
	 .vgpus = {{"a", 100, .cap = 40},
		   {"b", 40, .cap = 40, .min_cap = 10},
		   {"c", 20, .cap = 20, .held = true}},
	 .held = "a", .held_pct = 71, .result = -ENOSPC, .largest_pct = 70, .decision = ""},
	{"rule 12: the largest cap is in whole steps", .step = 7,
	 .vgpus = {{"a", 98, .cap = 42}, {"b", 42, .cap = 42}}, .held = "a", .held_pct = 98,
	 .result = -ENOSPC, .largest_pct = 91, .decision = ""},
	{"rule 12: a cap that is held already may be changed",
	 .vgpus = {{"a", 60, .cap = 40, .held = true}, {"b", 60, .cap = 60}}, .held = "a",
	 .held_pct = 50, .decision = "hold a: b 60->50, a 40->50"},
	{"rule 12: a lower cap is never refused, though the sum stays too large",
	 .vgpus = {{"a", 90, .cap = 90}, {"b", 80, .cap = 80, .held = true}}, .held = "a",
	 .held_pct = 60, .decision = "hold a: a 90->60"},
	{"rule 12: the present cap is never refused, though the sum stays too large",
	 .vgpus = {{"a", 90, .cap = 90}, {"b", 80, .cap = 80, .held = true}}, .held = "a",
	 .held_pct = 90, .decision = "hold a"},
	{"rule 12: the largest cap that fits is at least the present one",
	 .vgpus = {{"a", 100, .cap = 90}, {"b", 80, .cap = 80, .held = true}}, .held = "a",
	 .held_pct = 95, .result = -ENOSPC, .largest_pct = 90, .decision = ""},
};

TEST(test_holding_a_cap)
{
	for (size_t i = 0; i < sizeof(hold_rows) / sizeof(hold_rows[0]); i++) {
		const struct row *row = &hold_rows[i];
		int largest_pct = 0;

		start_row(row);
		end_row(row, policy_hold(&bench.params, &bench.gpu, bench_index(row->held),
					 row->held_pct, &bench.out, &largest_pct));
		assert_int_equal(largest_pct, row->largest_pct);
	}
}

static const struct row set_rows[] = {
	{"a cap between floor and ceiling stays", .vgpus = {{"a", 60, .cap = 40}}, .set = "a",
	 .newcomer = {.initial_cap_pct = 40, .min_cap_pct = 40}, .decision = ""},
	{"a smaller contract reduces the cap",
	 .vgpus = {{"a", 60, .cap = 60}, {"b", 40, .cap = 30}}, .set = "a",
	 .newcomer = {.initial_cap_pct = 20}, .decision = "set a: a 60->20"},
	{"a larger floor raises the cap from the pool",
	 .vgpus = {{"a", 60, .cap = 20}, {"b", 40, .cap = 40}}, .set = "a",
	 .newcomer = {.initial_cap_pct = 60, .min_cap_pct = 50}, .decision = "set a: a 20->50"},
	{"other vGPUs give too, first unused cap",
	 .vgpus = {{"a", 60, .cap = 20}, {"b", 40, .cap = 40, .peak = 0.4}, {"c", 40, .cap = 40}},
	 .set = "a", .newcomer = {.initial_cap_pct = 60, .min_cap_pct = 50},
	 .decision = "set a: c 40->10, a 20->50"},
	{"no floor exceeds its contract", .vgpus = {{"a", 60, .cap = 20}}, .set = "a",
	 .newcomer = {.initial_cap_pct = 30, .min_cap_pct = 50}, .decision = "set a: a 20->30"},
	{"burst ends at the contract", .vgpus = {{"a", 60, .cap = 80, .burst = true}}, .set = "a",
	 .newcomer = {.initial_cap_pct = 60}, .decision = "set a: a 80->60"},
	{"burst begins without a move", .vgpus = {{"a", 60, .cap = 60}}, .set = "a",
	 .newcomer = {.initial_cap_pct = 60, .burst = true}, .decision = ""},
	{"in whole steps", .step = 5, .vgpus = {{"a", 60, .cap = 20}, {"b", 80, .cap = 80}},
	 .set = "a", .newcomer = {.initial_cap_pct = 60, .min_cap_pct = 33},
	 .decision = "set a: b 80->65, a 20->35"},
	{"a floor that does not fit is rejected with the largest cap that fits",
	 .vgpus = {{"a", 60, .cap = 20}, {"b", 70, .cap = 70, .held = true}}, .set = "a",
	 .newcomer = {.initial_cap_pct = 60, .min_cap_pct = 40}, .result = -ENOSPC,
	 .largest_pct = 30, .decision = ""},
	{"a cut is never rejected, even if the sum stays above 100",
	 .vgpus = {{"a", 90, .cap = 90}, {"b", 80, .cap = 80, .held = true}}, .set = "a",
	 .newcomer = {.initial_cap_pct = 60}, .decision = "set a: a 90->60"},
};

TEST(test_setting_a_contract)
{
	for (size_t i = 0; i < sizeof(set_rows) / sizeof(set_rows[0]); i++) {
		const struct row *row = &set_rows[i];
		int largest_pct = 0;

		start_row(row);
		end_row(row, policy_set(&bench.params, &bench.gpu, bench_index(row->set),
					&row->newcomer, &bench.out, &largest_pct));
		assert_int_equal(largest_pct, row->largest_pct);
	}
}
