/* SPDX-License-Identifier: MIT */
/*
 * Rules 4 to 7 and 11: the decision for one period of a GPU. Rules 8, 9, 10 and 12: funding a
 * newcomer, redistribution, fitting into the GPU, fixing a cap, and a changed contract.
 */
#include <errno.h>

#include "tests/unit/policy/test-policy.h"

struct row {
	const char *rule;
	int step; /* 0: 1 % */
	bool gap;
	struct given vgpus[5];
	const char *decision;	 /* decisions as text from bench_text() */
	unsigned int conditions; /* of the GPU */
	void (*change)(struct policy_params *params);
};

static void in_paper_mode(struct policy_params *params)
{
	params->paper_mode = true;
}

static void by_qos_alone(struct policy_params *params)
{
	params->weight_util = 0;
}

static void steal_all(struct policy_params *params)
{
	params->steal_fraction = 1;
}

static void debounced(struct policy_params *params)
{
	params->qos_periods = 2;
}

/* A vGPU in its third period above overload_pct. */
#define OVER .util = 1, .over_run = 2

static const struct row steal_rows[] = {
	{"rule 6: one fifth of the lightest donor's unused cap",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0.4},
		   {"b", 50, .cap = 20, OVER},
		   {"c", 50, .cap = 30, .util = 0.5}},
	 .decision = "steal b from a: a 50->44, b 20->26"},
	{"rule 6: a donor without an unused step gives nothing",
	 .vgpus = {{"a", 10, .cap = 10, .util = 0.95}, {"b", 95, .cap = 90, OVER}}, .decision = "",
	 .change = in_paper_mode},
	{"rule 6: the second breach steals nothing",
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.4},
		   {"b", 50, .cap = 20, .util = 1, .over_run = 1}},
	 .decision = ""},
	{"rule 2: short and GPU-bound steals at once",
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.4},
		   {"b", 50, .cap = 20, .util = 0.8, .target = 60, .fps = 40}},
	 .decision = "steal b from a: a 80->71, b 20->29"},
	{"rule 6: rounded down to whole steps",
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.1}, {"b", 50, .cap = 20, OVER}},
	 .decision = "steal b from a: a 80->66, b 20->34"},
	{"rule 6: whole steps of 5", .step = 5,
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.1}, {"b", 50, .cap = 20, OVER}},
	 .decision = "steal b from a: a 80->70, b 20->30"},
	{"rule 6: at least one step if one is unused", .step = 5,
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.85}, {"b", 50, .cap = 20, OVER}},
	 .decision = "steal b from a: a 80->75, b 20->25"},
	{"rule 6: less than an unused step is not given", .step = 5,
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.94}, {"b", 50, .cap = 20, OVER}}, .decision = ""},
	{"rule 6: a donor stays below U_o, even for one step",
	 .vgpus = {{"a", 80, .cap = 10, .util = 0.9}, {"b", 95, .cap = 90, OVER}}, .decision = ""},
	{"paper mode: it may",
	 .vgpus = {{"a", 80, .cap = 10, .util = 0.9}, {"b", 95, .cap = 90, OVER}},
	 .decision = "steal b from a: a 10->9, b 90->91", .change = in_paper_mode},
	{"rule 6: exactly U_o after the move is allowed",
	 .vgpus = {{"a", 80, .cap = 40, .util = 0.475}, {"b", 90, .cap = 60, OVER}},
	 .decision = "steal b from a: a 40->20, b 60->80", .change = steal_all},
	{"rule 6: and not a step more",
	 .vgpus = {{"a", 80, .cap = 40, .util = 0.476}, {"b", 90, .cap = 60, OVER}},
	 .decision = "steal b from a: a 40->21, b 60->79", .change = steal_all},
	{"rule 6: not below the donor's floor",
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.1, .min_cap = 75}, {"b", 50, .cap = 20, OVER}},
	 .decision = "steal b from a: a 80->75, b 20->25"},
	{"rule 6: a vGPU at its floor is no donor",
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.1, .min_cap = 80}, {"b", 50, .cap = 20, OVER}},
	 .decision = ""},
	{"rule 6: ... and the next lightest gives",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0.1, .min_cap = 50},
		   {"b", 50, .cap = 20, OVER},
		   {"c", 50, .cap = 30, .util = 0.5}},
	 .decision = "steal b from c: c 30->27, b 20->23"},
	{"rule 6: not above the receiver's ceiling",
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.1}, {"b", 23, .cap = 20, OVER}},
	 .decision = "steal b from a: a 80->77, b 20->23"},
	{"rule 6: burst passes the contract",
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.1}, {"b", 23, .cap = 20, OVER, .burst = true}},
	 .decision = "steal b from a: a 80->66, b 20->34"},
	{"rule 6: the donor has the least u, not the most unused cap",
	 .vgpus = {{"a", 70, .cap = 70, .util = 0.5},
		   {"b", 50, .cap = 20, OVER},
		   {"c", 50, .cap = 10, .util = 0.1}},
	 .decision = "steal b from c: c 10->9, b 20->21"},
	{"rule 6: e weighs: a short donor with a debounced signal is heavier",
	 .vgpus = {{"a", 40, .cap = 40, .util = 0.72, .target = 60, .fps = 30},
		   {"b", 50, .cap = 20, OVER},
		   {"c", 40, .cap = 40, .util = 0.8}},
	 .decision = "steal b from c: c 40->39, b 20->21", .change = debounced},
	{"rule 6: weights may be set",
	 .vgpus = {{"a", 40, .cap = 40, .util = 0.72},
		   {"b", 50, .cap = 20, OVER},
		   {"c", 40, .cap = 40, .util = 0.2}},
	 .decision = "steal b from a: a 40->38, b 20->22", .change = by_qos_alone},
	{"rule 6: ties go to the lowest id in natural order",
	 .vgpus = {{"v10", 40, .cap = 40, .util = 0.5},
		   {"b", 50, .cap = 20, OVER},
		   {"v9", 40, .cap = 40, .util = 0.5}},
	 .decision = "steal b from v9: v9 40->36, b 20->24"},
	{"rule 6: a held vGPU does not give",
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.1, .held = true}, {"b", 50, .cap = 20, OVER}},
	 .decision = ""},
	{"rule 6: a vGPU with an invalid reading is no donor",
	 .vgpus = {{"a", 80, .cap = 80, .util = NAN}, {"b", 50, .cap = 20, OVER}}, .decision = ""},
	{"rule 6: a vGPU overloaded at its ceiling is no donor",
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.75, .target = 60, .fps = 30},
		   {"b", 50, .cap = 20, OVER}},
	 .decision = ""},
	{"all vGPUs are held",
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.1, .held = true},
		   {"b", 50, .cap = 20, OVER, .held = true}},
	 .decision = ""},
	{"one vGPU alone is not its own donor",
	 .vgpus = {{"a", 100, .cap = 100, OVER, .burst = true}}, .decision = ""},
	{"a late tick steals nothing", .gap = true,
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.1},
		   {"b", 50, .cap = 20, .util = 1, .over_run = 9}},
	 .decision = ""},
	{"no vGPU", .vgpus = {{0}}, .decision = ""},
};

static const struct row pool_rows[] = {
	{"rule 5: the pool is given before anybody is robbed",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0.1}, {"b", 50, .cap = 20, OVER}},
	 .decision = "pool b: b 20->50"},
	{"rule 5: as much as is free",
	 .vgpus = {{"a", 76, .cap = 76, .util = 0.1}, {"b", 50, .cap = 20, OVER}},
	 .decision = "pool b: b 20->24"},
	{"rule 5: less than a step is not given", .step = 7,
	 .vgpus = {{"a", 77, .cap = 77, .util = 0.1}, {"b", 50, .cap = 21, OVER}},
	 .decision = "steal b from a: a 77->70, b 21->28"},
	{"rule 5: to all receivers in proportion to the shortfall of each, without a warning",
	 .vgpus = {{"a", 60, .cap = 60, .util = 0.1},
		   {"b", 40, .cap = 20, OVER},
		   {"c", 20, .cap = 10, OVER}},
	 .decision = "pool: b 20->27, c 10->13"},
	{"rule 5: odd steps to the largest remainder, ties to the lowest id",
	 .vgpus = {{"a", 79, .cap = 79, .util = 0.1},
		   {"c", 40, .cap = 10, OVER},
		   {"b", 40, .cap = 10, OVER}},
	 .decision = "pool: b 10->11"},
	{"rule 5: in whole steps of 5", .step = 5,
	 .vgpus = {{"a", 55, .cap = 55, .util = 0.1},
		   {"b", 40, .cap = 20, OVER},
		   {"c", 20, .cap = 10, OVER}},
	 .decision = "pool: b 20->30, c 10->15"},
	{"rule 5: one receiver beside a vGPU that cannot receive",
	 .vgpus = {{"a", 50, .cap = 50, OVER}, {"b", 50, .cap = 20, OVER}},
	 .decision = "pool b: b 20->50"},
	{"rule 5: nothing to vGPUs that cannot receive",
	 .vgpus = {{"a", 50, .cap = 50, OVER}, {"b", 40, .cap = 20, OVER, .held = true}},
	 .decision = ""},
	{"paper mode: the pool gives nothing",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0.1}, {"b", 50, .cap = 20, OVER}},
	 .decision = "steal b from a: a 50->41, b 20->29", .change = in_paper_mode},
};

static const struct row severe_rows[] = {
	{"rule 7: two receivers make a warning, and no cap moves",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0.1},
		   {"b", 50, .cap = 20, OVER},
		   {"c", 50, .cap = 30, OVER}},
	 .decision = "severe c", .conditions = POLICY_SEVERE_OVERLOAD},
	{"rule 7: names the vGPU with the largest load, even if it is not a receiver",
	 .vgpus = {{"a", 60, .cap = 60, .util = 0.8},
		   {"b", 50, .cap = 20, OVER},
		   {"c", 50, .cap = 20, OVER}},
	 .decision = "severe a", .conditions = POLICY_SEVERE_OVERLOAD},
	{"rule 7: ties go to the lowest id",
	 .vgpus = {{"v10", 60, .cap = 50, OVER}, {"v9", 60, .cap = 50, OVER}},
	 .decision = "severe v9", .conditions = POLICY_SEVERE_OVERLOAD},
	{"rule 7: an invalid reading is not named",
	 .vgpus = {{"a", 90, .cap = 90, .util = NAN},
		   {"b", 50, .cap = 5, OVER},
		   {"c", 50, .cap = 5, OVER}},
	 .decision = "severe b", .conditions = POLICY_SEVERE_OVERLOAD},
	{"rule 3: two overloaded, one cannot receive: no warning, the other gets help",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0.4},
		   {"b", 50, .cap = 20, OVER},
		   {"c", 30, .cap = 30, OVER}},
	 .decision = "steal b from a: a 50->44, b 20->26"},
	{"rule 3: two overloaded, one held",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0.4},
		   {"b", 50, .cap = 20, OVER},
		   {"c", 60, .cap = 30, OVER, .held = true}},
	 .decision = "steal b from a: a 50->44, b 20->26"},
	{"paper mode: a vGPU that cannot receive counts too",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0.4},
		   {"b", 50, .cap = 20, OVER},
		   {"c", 30, .cap = 30, OVER}},
	 .decision = "severe c", .conditions = POLICY_SEVERE_OVERLOAD, .change = in_paper_mode},
	{"paper mode: one vGPU that cannot receive moves nothing",
	 .vgpus = {{"a", 70, .cap = 70, .util = 0.4}, {"c", 30, .cap = 30, OVER}}, .decision = "",
	 .change = in_paper_mode},
	{"rule 8: more than 100 is said, and no pool",
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.95}, {"b", 50, .cap = 30, OVER}}, .decision = "",
	 .conditions = POLICY_SUM_OVER_100},
};

static const struct row wake_rows[] = {
	{"rule 11: at its floor it is served in the first period, from the lightest",
	 .vgpus = {{"a", 99, .cap = 99, .util = 0.5}, {"b", 50, .cap = 1, .util = 1}},
	 .decision = "wake b from a: a 99->90, b 1->10"},
	{"rule 11: or from the pool",
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.5}, {"b", 50, .cap = 1, .util = 1}},
	 .decision = "wake b: b 1->20"},
	{"rule 11: awake for three periods it is an overload",
	 .vgpus = {{"a", 99, .cap = 99, .util = 0.5}, {"b", 50, .cap = 1, OVER}},
	 .decision = "steal b from a: a 99->90, b 1->10"},
	{"rule 11: it counts as a receiver",
	 .vgpus = {{"a", 79, .cap = 79, .util = 0.5},
		   {"b", 50, .cap = 1, .util = 1},
		   {"c", 50, .cap = 20, OVER}},
	 .decision = "severe a", .conditions = POLICY_SEVERE_OVERLOAD},
	{"rule 11: sharing the pool with another it is a pool decision",
	 .vgpus = {{"a", 70, .cap = 70, .util = 0.5},
		   {"b", 21, .cap = 1, .util = 1},
		   {"c", 30, .cap = 20, OVER}},
	 .decision = "pool: b 1->7, c 20->23"},
	{"paper mode: it waits",
	 .vgpus = {{"a", 99, .cap = 99, .util = 0.5}, {"b", 50, .cap = 1, .util = 1}},
	 .decision = "", .change = in_paper_mode},
};

static void check_row(const struct row *row)
{
	print_message("  %s\n", row->rule);
	bench_init(row->vgpus, row->step ? row->step : 1);
	bench.gpu.gap = row->gap;
	if (row->change)
		row->change(&bench.params);
	bench_step();
	assert_string_equal(bench_text(), row->decision);
	assert_int_equal(bench.gpu.conditions, row->conditions);
	bench_check_wants();
}

#define CHECK_ROWS(rows)                                              \
	for (size_t i = 0; i < sizeof(rows) / sizeof((rows)[0]); i++) \
	check_row(&(rows)[i])

TEST(test_stealing)
{
	CHECK_ROWS(steal_rows);
}

TEST(test_free_pool)
{
	CHECK_ROWS(pool_rows);
}

TEST(test_severe_overload)
{
	CHECK_ROWS(severe_rows);
}

TEST(test_waking)
{
	CHECK_ROWS(wake_rows);
}

/*
 * The vGPUs b and c can receive, and vGPU a cannot give. Each string has one character for each
 * period.
 * Readings: '#' above overload_pct, '-' below overload_pct, 'x' invalid, 'g' a late tick.
 * Expected: 'S' severe overload with a decision, 's' severe overload without a decision, '?' in
 * doubt, '.' no overload.
 */
struct severe_row {
	const char *rule;
	const char *b, *c;
	const char *expected;
	int overload_periods; /* 0: the default, 3 */
	void (*change)(struct policy_params *params);
};

static const struct severe_row severe_run_rows[] = {
	{"rule 7: one decision, regardless of the duration", "#######", "#######",
	 .expected = "??Sssss"},
	{"breaches before the signal are neither an overload nor quiet", "-##-#", "-##-#",
	 .expected = ".??.?"},
	{"one overloaded vGPU is no severe overload", "####", "----", .expected = "...."},
	{"one quiet period does not end a severe overload", "###-####", "########",
	 .expected = "??S???ss"},
	{"overload_periods quiet periods do not end a severe overload", "###---###", "#########",
	 .expected = "??S?????s"},
	{"one further quiet period ends a severe overload", "###----####", "###########",
	 .expected = "??S???.??Ss"},
	{"only consecutive quiet periods end a severe overload", "###--###--###", "#############",
	 .expected = "??S????s????s"},
	{"after a gap, the same severe overload continues", "###g####", "###g####",
	 .expected = "??S???ss"},
	{"after many gaps, the same severe overload continues", "###g#gg##g###", "###g#gg##g###",
	 .expected = "??S?????????s"},
	{"after an invalid reading of one vGPU, the overload continues", "###x###", "#######",
	 .expected = "??S???s"},
	{"after many invalid readings, the overload continues", "###xxxxxxxx###", "##############",
	 .expected = "??S??????????s"},
	{"a period without readings is not quiet", "###-xgx-g-###", "###-xgx-g-###",
	 .expected = "??S?????????s"},
	{"periods without readings do not reset the count of quiet periods", "###-xgx-g--###",
	 "###-xgx-g--###", .expected = "??S???????.??S"},
	{"the same with a signal after ten breaches", "##########g##########",
	 "##########g##########", .expected = "?????????S??????????s", .overload_periods = 10},
	{"paper mode: the same", "###g####", "###g####", .expected = "??S???ss",
	 .change = in_paper_mode},
};

static void read_mark(struct policy_vgpu *vgpu, char mark)
{
	bench_read(vgpu, mark == 'x' ? (double)NAN : mark == '-' ? 0.5 : 1, NAN);
}

static char severe_period(void)
{
	bool seen;

	bench_step();
	seen = bench.gpu.conditions & POLICY_SEVERE_OVERLOAD;
	assert_false(seen && bench.gpu.severe_in_doubt);
	for (int i = 0; i < bench.out.n_decisions; i++)
		if (bench.out.decisions[i].kind == POLICY_SEVERE)
			return 'S';
	return seen ? 's' : bench.gpu.severe_in_doubt ? '?' : '.';
}

TEST(test_a_severe_overload_ends_only_after_valid_readings)
{
	static const struct given given[5] = {
		{"a", 60, .cap = 60, .held = true}, {"b", 50, .cap = 20}, {"c", 50, .cap = 20}};

	for (size_t i = 0; i < sizeof(severe_run_rows) / sizeof(severe_run_rows[0]); i++) {
		const struct severe_row *row = &severe_run_rows[i];

		print_message("  %s\n", row->rule);
		bench_init(given, 1);
		if (row->overload_periods)
			bench.params.overload_periods = row->overload_periods;
		if (row->change)
			row->change(&bench.params);
		for (int j = 0; row->b[j]; j++) {
			char got;

			bench.gpu.gap = row->b[j] == 'g';
			read_mark(&bench.vgpus[1], row->b[j]);
			read_mark(&bench.vgpus[2], row->c[j]);
			got = severe_period();
			if (got != row->expected[j])
				fail_msg("period %d: got '%c'", j + 1, got);
		}
	}
}

TEST(test_severe_overload_is_one_decision_and_many_conditions)
{
	static const struct given given[5] = {{"a", 60, .cap = 60, .util = 0.5},
					      {"b", 50, .cap = 20, OVER},
					      {"c", 50, .cap = 20, OVER}};
	static const struct {
		double b_util;
		bool gap;
		const char *decision;
		bool severe;
	} periods[] = {
		{1, false, "severe a", true},
		{1, false, "", true},
		{1, false, "", true},
		{0.5, false, "steal c from a: a 60->54, c 20->26", false},
		{1, false, "steal c from a: a 60->54, c 20->26", false},
		{1, false, "steal c from a: a 60->54, c 20->26", false},
		{1, false, "", true}, /* still the same overload */
		{1, true, "", false},
	};

	bench_init(given, 1);
	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		bench_read(&bench.vgpus[1], periods[i].b_util, NAN);
		bench.gpu.gap = periods[i].gap;
		bench_step();
		assert_string_equal(bench_text(), periods[i].decision);
		assert_int_equal(!!(bench.gpu.conditions & POLICY_SEVERE_OVERLOAD),
				 periods[i].severe);
	}
}

/*
 * vGPU a has a cap of 50 % and vGPU b a cap of 40 %. The caps never change, as if every write
 * failed. Expected in each period: 'O' an offer, 'x' another decision, '.' no decision.
 */
struct calm_row {
	const char *rule;
	double b_util[9]; /* NAN: invalid reading */
	const char *expected;
	double a_util;	     /* 0: idle */
	double peak;	     /* util of both vGPUs in an earlier period */
	int b_contract;	     /* contract of b; 0: 40 %, equal to the cap */
	int gap_at;	     /* number of the late period, from 1; 0: no late period */
	const char *offered; /* '+': an offer is live in that period; NULL: never */
	int min_newcomer;
	bool not_selling;
	void (*change)(struct policy_params *params);
};

static const struct calm_row calm_rows[] = {
	{"rule 4: an offer after three calm periods, which are then counted again",
	 .b_util = {.3, .3, .3, .3, .3, .3, .3}, .expected = "..O..O."},
	{"rule 9: no offer while one is live, and calm periods restart after it",
	 .b_util = {.3, .3, .3, .3, .3, .3, .3, .3, .3}, .offered = "...+++...",
	 .expected = "..O.....O"},
	{"rule 9: as calm as it may be meanwhile", .b_util = {.3, .3, .3, .3, .3, .3, .3, .3},
	 .offered = "+++++.+.", .expected = "........"},
	{"rule 4: a total load of exactly U_l is not below it", .b_util = {1, 1, 1, 1},
	 .a_util = 0.4, .expected = "...."},
	{"rule 4: less is", {0.99, 0.99, 0.99, 0.99}, .a_util = 0.4, .expected = "..O."},
	{"rule 4: a receiver ends the calm, a mere breach does not",
	 .b_util = {.3, .3, .96, .96, .96, .3, .3, .3}, .b_contract = 60, .expected = "..O.x..O"},
	{"a gap ends the calm and never counts as calm", .b_util = {.3, .3, .3, .3, .3},
	 .gap_at = 2, .expected = "....O"},
	{"an invalid reading ends the calm and never counts as calm",
	 .b_util = {.3, .3, NAN, .3, .3, .3}, .expected = ".....O"},
	{"rule 4: not on sale: no offer", .b_util = {.3, .3, .3, .3}, .not_selling = true,
	 .expected = "...."},
	{"rule 9: funded with exactly the minimum", .b_util = {.3, .3, .3, .3}, .peak = 0.9,
	 .min_newcomer = 17, .expected = "..O."},
	{"rule 9: below it no offer", .b_util = {.3, .3, .3, .3}, .peak = 0.9, .min_newcomer = 18,
	 .expected = "...."},
	{"rule 3: a vGPU that cannot receive does not prevent an offer",
	 .b_util = {.96, .96, .96, .96}, .expected = "..O."},
	{"paper mode: it does", {.96, .96, .96, .96}, .expected = "....", .change = in_paper_mode},
};

static char calm_period(double b_util)
{
	bench_read(&bench.vgpus[1], b_util, NAN);
	bench_step();
	if (bench.out.n_decisions == 0)
		return '.';
	return bench.out.decisions[0].kind == POLICY_OFFER ? 'O' : 'x';
}

TEST(test_calm_and_offers)
{
	for (size_t i = 0; i < sizeof(calm_rows) / sizeof(calm_rows[0]); i++) {
		const struct calm_row *row = &calm_rows[i];
		struct given given[3] = {
			{"a", 50, .cap = 50, .util = row->a_util, .peak = row->peak * 0.5},
			{"b", row->b_contract ? row->b_contract : 40, .cap = 40,
			 .peak = row->peak * 0.4},
		};

		print_message("  %s\n", row->rule);
		bench_init(given, 1);
		bench.gpu.selling = !row->not_selling;
		bench.gpu.flavors[0] = (struct policy_terms){.initial_cap_pct = 25, .weight = 1};
		if (row->min_newcomer)
			bench.params.min_newcomer_pct = row->min_newcomer;
		if (row->change)
			row->change(&bench.params);
		for (int j = 0; row->expected[j]; j++) {
			char got;

			bench.gpu.gap = row->gap_at == j + 1;
			bench.gpu.offered = row->offered && row->offered[j] == '+';
			got = calm_period(row->b_util[j]);
			if (got != row->expected[j])
				fail_msg("period %d: got '%c'", j + 1, got);
		}
	}
}

TEST(test_an_offer_has_the_fundable_percent_and_no_moves)
{
	static const struct given given[3] = {{"a", 50, .cap = 50, .util = 0.4},
					      {"b", 50, .cap = 40, .util = 0.5}};

	bench_init(given, 1);
	bench.gpu.selling = true;
	bench.gpu.flavors[0] = (struct policy_terms){.initial_cap_pct = 40, .weight = 1};
	bench.gpu.calm_run = 2;
	bench_step();
	assert_string_equal(bench_text(), "offer");
	assert_true(bench_number("fundable_pct") == 40);
	assert_true(bench_number("given_pct") == 30);
	assert_true(bench_number("calm_periods") == 3);
	assert_true(bench_number("lowload_pct") == 60);
	assert_true(fabs(bench_number("total_load_pct") - 40) < 1e-6);
	bench_check_wants();
	assert_int_equal(bench.gpu.calm_run, 0);
	assert_int_equal(policy_fund(&bench.params, &bench.gpu, &bench.gpu.flavors[0], &bench.out),
			 40);
}

/* --- rules 8, 9, 10 and 12 --- */

struct fund_row {
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

static void start_row(const struct fund_row *row)
{
	print_message("  %s\n", row->rule);
	bench_init(row->vgpus, row->step ? row->step : 1);
	memset(&bench.out, 0xff, sizeof(bench.out)); /* every call must set all of it */
	for (int i = 0; i < bench.gpu.n_vgpus; i++)
		bench.vgpus[i].want_cap_pct = bench.vgpus[i].cap_pct;
}

static void end_row(const struct fund_row *row, int result)
{
	assert_int_equal(result, row->result);
	assert_string_equal(bench_text(), row->decision);
	bench_check_wants();
}

static const struct fund_row fund_rows[] = {
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
		const struct fund_row *row = &fund_rows[i];

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

static const struct fund_row return_rows[] = {
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

static const struct fund_row fit_rows[] = {
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

static const struct fund_row hold_rows[] = {
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
		const struct fund_row *row = &hold_rows[i];
		int largest_pct = 0;

		start_row(row);
		end_row(row, policy_hold(&bench.params, &bench.gpu, bench_index(row->held),
					 row->held_pct, &bench.out, &largest_pct));
		assert_int_equal(largest_pct, row->largest_pct);
	}
}

static const struct fund_row set_rows[] = {
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
		const struct fund_row *row = &set_rows[i];
		int largest_pct = 0;

		start_row(row);
		end_row(row, policy_set(&bench.params, &bench.gpu, bench_index(row->set),
					&row->newcomer, &bench.out, &largest_pct));
		assert_int_equal(largest_pct, row->largest_pct);
	}
}
