/* SPDX-License-Identifier: MIT */
/*
 * Policy qos: its sentences, the vGPUs that it names for migration, the periods without a decision,
 * and the learned estimate of migrations: how it changes, and how it is stored and loaded.
 */
#include "base/cleanup.h"
#include "policy/qos/demand.h"
#include "policy/qos/moving.h"
#include "tests/unit/policy/test-policy.h"

#define NAMED_AGAIN 30 /* periods */
#define PERIODS	    200

/* Runs a period in which each vGPU needs @want_pct of the GPU for 60 FPS. */
static void run_period(const double *want_pct)
{
	for (int i = 0; i < bench.gpu.n_vgpus; i++) {
		struct policy_vgpu *vgpu = &bench.vgpus[i];
		double served_pct = fmin(want_pct[i], vgpu->cap_pct);

		bench_read(vgpu, served_pct / vgpu->cap_pct,
			   want_pct[i] > 0 ? 60 * served_pct / want_pct[i] : 60);
	}
	bench_step();
}

static int apply(void)
{
	for (int i = 0; i < bench.gpu.n_vgpus; i++)
		bench.vgpus[i].cap_pct = bench.vgpus[i].want_cap_pct;
	return bench.out.n_moves;
}

static void make(const struct given *given)
{
	bench_init(given, 1);
	bench.policy = policy_find("qos");
	bench.gpu.period_s = 1;
	bench.gpu.flavors[0] = (struct policy_terms){.initial_cap_pct = 50, .weight = 1};
}

static const struct policy_decision *find(enum policy_kind kind)
{
	for (int i = 0; i < bench.out.n_decisions; i++)
		if (bench.out.decisions[i].kind == kind)
			return &bench.out.decisions[i];
	return NULL;
}

/* --- sentences --- */

static void check_said(enum policy_kind kind, const char *why, const char *numbers)
{
	const struct policy_decision *decision = find(kind);

	assert_non_null(decision);
	bench_check_said(decision, why, numbers);
}

#define A_AND_B                                                                         \
	(const struct given[])                                                          \
	{                                                                               \
		{"a", 50, .cap = 50, .target = 60}, {"b", 50, .cap = 50, .target = 60}, \
		{                                                                       \
			.id = NULL                                                      \
		}                                                                       \
	}

TEST(test_the_sentence_of_an_offer)
{
	int t = 0;

	make(A_AND_B);
	bench.gpu.selling = true;
	bench.gpu.migrates = true;
	bench.gpu.moving.answered = 1;
	do {
		run_period((double[]){20, 20});
		apply();
	} while (!find(POLICY_OFFER) && ++t < PERIODS);
	check_said(
		POLICY_OFFER,
		"One more contract of 50 % earns 0.5 per hour and fits with a probability of "
		"100.0 %; broken time and migrations are expected to cost 0: the expected profit "
		"is 0.5; 0.00024 % of the time of all vGPUs may be broken (limit 1.5 %). "
		"48 % can be funded now",
		"flavor_cap_pct=50 fundable_pct=48 min_newcomer_pct=10 total_load_pct=40 "
		"price_per_hour=0.5 misfit_pct=0 overload_risk_pct=0.1953 "
		"broken_risk_pct=0.0002423 "
		"sale_risk_pct=1.5 broken_last_hour_s=0 broken_s=0 "
		"penalty_per_hour=0 profit_per_hour=0.5");
	assert_int_equal(find(POLICY_OFFER)->n_moves, 0);
}

TEST(test_the_sentence_of_a_severe_overload)
{
	make((const struct given[]){{"a", 80, .cap = 50, .target = 60},
				    {"b", 50, .cap = 50, .target = 60},
				    {.id = NULL}});
	run_period((double[]){80, 40});
	assert_null(find(POLICY_SEVERE));
	run_period((double[]){80, 40});
	check_said(POLICY_SEVERE,
		   "2 vGPUs together want 117 % of the GPU, which no change of caps can provide; "
		   "migrating b relieves the GPU at the least cost: it wants 40.0 %",
		   "all_now_pct=117 demand_pct=40 relief_pct=39 cap_pct=50 contract_pct=50 "
		   "total_load_pct=90");
	assert_true(bench.gpu.conditions & POLICY_SEVERE_OVERLOAD);
}

TEST(test_the_sentence_of_moved_caps)
{
	make((const struct given[]){{"a", 60, .cap = 30, .target = 60},
				    {"b", 70, .cap = 70, .target = 60},
				    {.id = NULL}});
	for (int i = 0; i < 2; i++) {
		bench.tracks[i].demand.known = true;
		bench.tracks[i].demand.age_s = 1;
	}
	run_period((double[]){57, 10});
	check_said(POLICY_SHARE,
		   "a wants 57.0 % of the GPU now and may want up to 59 % in the next period; all "
		   "vGPUs together may want 128 %, which exceeds the GPU: each gets at least the "
		   "smaller of its demand and its share by contract: b 70 -> 41 %, a 30 -> 59 %",
		   "demand_pct=57 need_pct=59 margin_pct=0.495 u_pct=100 cap_pct=30 all_now_pct=66 "
		   "all_need_pct=128 lent_back_pct=29");
}

/* --- vGPUs to migrate --- */

struct choice {
	const char *rule;
	struct {
		int contract;
		double want;
		bool newcomer;
		int held; /* cap of a held vGPU */
	} vgpus[5];	  /* ids "a", "b", ... */
	const char *id;
};

static const struct choice choices[] = {
	{"among vGPUs whose removal is enough, the smallest contract",
	 .vgpus = {{60, .want = 60}, {30, .want = 30}, {40, .want = 40}}, "b"},
	{"a small contract whose removal is not enough is not chosen",
	 .vgpus = {{80, .want = 80}, {10, .want = 10}, {30, .want = 30}}, "c"},
	{"among equal contracts, the largest demand",
	 .vgpus = {{50, .want = 40}, {50, .want = 45}, {50, .want = 42}}, "b"},
	{"among equal demands, the lowest id",
	 .vgpus = {{40, .want = 40}, {40, .want = 40}, {40, .want = 40}}, "a"},
	{"if no removal is enough, the largest demand",
	 .vgpus = {{50, .want = 40}, {60, .want = 45}, {50, .want = 40}, {60, .want = 42}}, "b"},
	{"removing a held vGPU frees its cap",
	 .vgpus = {{60, .want = 60}, {40, .want = 0, .held = 40}, {40, .want = 35}}, "b"},
	{"a newcomer is chosen before older vGPUs",
	 .vgpus = {{60, .want = 60}, {30, .want = 30}, {40, .want = 40, .newcomer = true}}, "c"},
	{"a newcomer is chosen only if its removal is enough",
	 .vgpus = {{80, .want = 80}, {10, .want = 10, .newcomer = true}, {30, .want = 30}}, "c"},
	{"a removal that frees exactly the overload is enough",
	 .vgpus = {{10, .held = 1}, {30, .held = 20}, {80, .held = 60}, {50, .held = 39}}, "b"},
	{"a removal that frees 1 % less is not enough",
	 .vgpus = {{80, .held = 60}, {50, .held = 40}, {30, .held = 20}, {10, .held = 1}}, "b"},
};

static void make_overcommitted(const struct choice *row, double *want_pct)
{
	static const char *const ids[] = {"a", "b", "c", "d", "e"};
	struct given given[6] = {{0}};

	for (int i = 0; i < 5 && row->vgpus[i].contract; i++) {
		int held = row->vgpus[i].held;

		given[i] = (struct given){ids[i], row->vgpus[i].contract, .cap = held ? held : 20,
					  .target = 60, .held = held > 0};
		want_pct[i] = row->vgpus[i].want;
	}
	make(given);
	for (int i = 0; i < bench.gpu.n_vgpus; i++)
		bench.vgpus[i].newcomer = row->vgpus[i].newcomer;
}

/* Reverses the order of the vGPUs, and of @want_pct. */
static void reverse(double *want_pct)
{
	for (int i = 0, j = bench.gpu.n_vgpus - 1; i < j; i++, j--) {
		struct policy_vgpu vgpu = bench.vgpus[i];
		double pct = want_pct[i];

		bench.vgpus[i] = bench.vgpus[j];
		bench.vgpus[j] = vgpu;
		want_pct[i] = want_pct[j];
		want_pct[j] = pct;
	}
}

TEST(test_the_vgpu_to_migrate_in_any_order)
{
	for (size_t i = 0; i < 2 * sizeof(choices) / sizeof(choices[0]); i++) {
		const struct choice *row = &choices[i / 2];
		const struct policy_decision *severe;
		double want_pct[5];

		make_overcommitted(row, want_pct);
		if (i % 2)
			reverse(want_pct);
		run_period(want_pct);
		run_period(want_pct);
		severe = find(POLICY_SEVERE);
		if (!severe || strcmp(bench.vgpus[severe->vgpu].id, row->id) != 0)
			fail_msg("%s: %s", row->rule, bench_text());
	}
}

/* An overload fails the probation of a newcomer only if the newcomer causes it. */
TEST(test_an_overload_that_ends_with_the_newcomer_is_caused_by_it)
{
	static const struct {
		int newcomer_pct, others_pct[2]; /* held caps; 0: no newcomer */
		bool without_newcomer;
	} rows[] = {
		{20, {50, 40}, false},
		{20, {50, 50}, false},
		{20, {50, 51}, true},
		{0, {60, 60}, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int newcomer_pct = rows[i].newcomer_pct;
		struct choice gpu = {
			.vgpus = {{60, .held = newcomer_pct > 0 ? newcomer_pct : 1,
				   .newcomer = newcomer_pct > 0},
				  {60, .held = rows[i].others_pct[0]},
				  {60, .held = rows[i].others_pct[1]}},
		};
		double want_pct[5];

		make_overcommitted(&gpu, want_pct);
		run_period(want_pct);
		if (bench.gpu.severe_without_newcomer != rows[i].without_newcomer)
			fail_msg("row %zu", i);
	}
}

/* Appends @period to @text if a vGPU was named for migration. Example of @text: "2 32 62". */
static void note(int period, char *text, size_t size)
{
	size_t used = strlen(text);

	if (find(POLICY_SEVERE))
		snprintf(text + used, size - used, "%s%d", used ? " " : "", period);
}

TEST(test_a_vgpu_that_stays_is_named_again)
{
	double want_pct[5];
	char named[64] = "";

	make_overcommitted(&choices[0], want_pct);
	for (int t = 1; t <= 2 + 2 * NAMED_AGAIN; t++) {
		run_period(want_pct);
		apply();
		note(t, named, sizeof(named));
	}
	assert_string_equal(named, "2 32 62");
}

/* Fifty percent more is wanted than there is. */
TEST(test_an_overload_is_counted_in_seconds)
{
	static const struct {
		double period_s;
		const char *named; /* periods */
	} rows[] = {{0.2, "6 156 306"}, {1, "2 32 62"}, {2, "1 16 31"}, {5, "1 7 13"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double want_pct[5];
		char named[64] = "";

		make_overcommitted(&choices[0], want_pct);
		bench.gpu.period_s = rows[i].period_s;
		for (int t = 1; t * rows[i].period_s <= 65; t++) {
			run_period(want_pct);
			apply();
			note(t, named, sizeof(named));
		}
		assert_string_equal(named, rows[i].named);
	}
}

/* The overload is 28 % of the GPU, and the largest demand 60 %: it costs 0.0047 per second. */
TEST(test_a_vgpu_is_named_when_the_overload_has_cost_half_a_migration)
{
	static const struct {
		double price;
		const char *named; /* periods */
	} rows[] = {{0, "2 32 62"}, {0.1, "11 41 71"}, {0.4, "45"}};

	/* On a GPU without on_migrate, the named vGPU is shown to the operator. */
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		double want_pct[5];
		char named[64] = "";

		make_overcommitted(&choices[0], want_pct);
		bench.gpu.migrates = i % 2;
		bench.params.price_per_move = rows[i / 2].price;
		for (int t = 1; t <= 75; t++) {
			run_period(want_pct);
			apply();
			note(t, named, sizeof(named));
		}
		assert_string_equal(named, rows[i / 2].named);
	}
}

TEST(test_after_a_removal_the_next_vgpu_is_named_at_once)
{
	double want_pct[5];
	char named[64] = "";

	make_overcommitted(&choices[4], want_pct); /* vGPU "b" is named first */
	for (int t = 1; t <= 10 + NAMED_AGAIN; t++) {
		if (t == 10)
			bench.gpu.n_vgpus--; /* vGPU "d" is removed instead */
		run_period(want_pct);
		apply();
		note(t, named, sizeof(named));
	}
	assert_string_equal(named, "2 10 40");
}

/* In each period, the GPU is overcommitted ("+") or idle ("."). overload_periods is 3. */
TEST(test_a_pause_starts_another_overload)
{
	static const struct {
		const char *periods;
		const char *named;
		int doubtful; /* periods in which overload is in doubt: the pauses and the next */
	} rows[] = {
		{"++++++++++++++++++++", "2", 0}, {"++++.+++++++++++++++", "2", 2},
		{"++++...+++++++++++++", "2", 4}, {"++++....++++++++++++", "2 10", 3},
		{"++++..++..++..++++++", "2", 9}, /* only consecutive idle periods are a pause */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double want_pct[5], none[5] = {0};
		char named[64] = "";
		int doubtful = 0;

		make_overcommitted(&choices[0], want_pct);
		for (int t = 1; rows[i].periods[t - 1]; t++) {
			run_period(rows[i].periods[t - 1] == '+' ? want_pct : none);
			doubtful += bench.gpu.severe_in_doubt;
			apply();
			note(t, named, sizeof(named));
		}
		assert_string_equal(named, rows[i].named);
		assert_int_equal(doubtful, rows[i].doubtful);
	}
}

/* The demand of a held vGPU is its cap. */
TEST(test_a_demand_of_the_whole_gpu_is_no_overload)
{
	for (int over_pct = 0; over_pct <= 1; over_pct++) {
		struct choice gpu = {"", {{60, .held = 60}, {60, .held = 40 + over_pct}}, NULL};
		double want_pct[5];

		make_overcommitted(&gpu, want_pct);
		for (int t = 0; t < 3; t++)
			run_period(want_pct);
		assert_int_equal(!!(bench.gpu.conditions & POLICY_SEVERE_OVERLOAD), over_pct);
		assert_int_equal(bench.gpu.calm_run, over_pct ? 0 : 3);
	}
}

/* --- broken time --- */

TEST(test_broken_seconds_count_for_an_hour)
{
	static const struct {
		double before_s, period_s;
		int broken; /* vGPUs that get less than they want */
		double after_s;
	} rows[] = {
		{0, 1, 0, 0},	    {0, 1, 1, 1},
		{0, 1, 2, 2},	    {10, 2, 2, 14 - 20.0 / 3600},
		{3600, 1, 0, 3599}, {3600, 1, 1, 3600},
		{3600, 2, 0, 3598},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make(A_AND_B);
		bench.gpu.period_s = rows[i].period_s;
		bench.gpu.broken_s = rows[i].before_s;
		run_period((double[]){rows[i].broken > 0 ? 80 : 20, rows[i].broken > 1 ? 80 : 20});
		assert_float_equal(bench.gpu.broken_s, rows[i].after_s, 1e-9);
	}
}

TEST(test_single_periods_are_ignored)
{
	double want_pct[5], none[5] = {0};

	make_overcommitted(&choices[0], want_pct);
	for (int t = 0; t < 20; t++) {
		run_period(t % 2 ? want_pct : none);
		apply();
		assert_null(find(POLICY_SEVERE));
		assert_false(bench.gpu.conditions & POLICY_SEVERE_OVERLOAD);
	}
}

/* --- no decisions --- */

TEST(test_nothing_is_decided_without_readings)
{
	for (int gap = 0; gap < 2; gap++) {
		struct policy_demand before;

		make(A_AND_B);
		bench.gpu.selling = true;
		for (int t = 0; t < 2; t++)
			run_period((double[]){80, 80});
		before = bench.tracks[0].demand;
		bench.gpu.calm_run = 100;
		bench.gpu.gap = gap;
		bench_read(&bench.vgpus[0], 1, 10);
		bench_read(&bench.vgpus[1], gap ? 1 : NAN, 10);
		bench_step();
		assert_int_equal(bench.out.n_decisions, 0);
		bench_check_wants();
		assert_int_equal(bench.gpu.calm_run, 0);
		assert_true(bench.gpu.severe_in_doubt);
		assert_memory_equal(&before, &bench.tracks[0].demand, sizeof(before));
	}
}

TEST(test_offers_wait_for_calm_and_a_profit)
{
	static const struct {
		bool selling, offered;
		bool free; /* neither a price nor a penalty */
		double want_pct;
		int calm_run;
	} rows[] = {
		{.want_pct = 20, .calm_run = PERIODS},
		{.selling = true, .offered = true, .want_pct = 20},
		{.selling = true, .want_pct = 70},
		{.selling = true, .free = true, .want_pct = 20, .calm_run = PERIODS},
	};
	int offers = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make((const struct given[]){{"a", 70, .cap = 50, .target = 60},
					    {"b", 70, .cap = 50, .target = 60},
					    {.id = NULL}});
		bench.gpu.selling = rows[i].selling;
		bench.gpu.offered = rows[i].offered;
		bench.gpu.migrates = true;
		bench.gpu.moving.answered = 1;
		if (rows[i].free)
			bench.params.price_per_cap_hour = bench.params.penalty_per_broken_s = 0;
		for (int t = 0; t < PERIODS; t++) {
			run_period((double[]){rows[i].want_pct, rows[i].want_pct});
			apply();
			assert_null(find(POLICY_OFFER));
		}
		assert_int_equal(bench.gpu.calm_run, rows[i].calm_run);
	}
	make(A_AND_B);
	bench.gpu.selling = true;
	bench.gpu.migrates = true;
	bench.gpu.moving.answered = 1;
	for (int t = 0; t < 30; t++) { /* An unclaimed offer is repeated. */
		run_period((double[]){20, 20});
		apply();
		offers += find(POLICY_OFFER) != NULL;
	}
	assert_int_equal(offers, 10);
}

/* Four idle vGPUs: after they are known, no cap moves. */
TEST(test_idle_vgpus_cause_no_moves)
{
	int moves = 0;

	make((const struct given[]){{"a", 50, .cap = 5, .target = 60},
				    {"b", 50, .cap = 60},
				    {"c", 50, .cap = 20},
				    {"d", 50, .cap = 15, .target = 30},
				    {.id = NULL}});
	for (int t = 0; t < PERIODS; t++) {
		run_period((double[]){0, 0, 0, 0});
		moves += apply();
		if (t >= 20) /* from here on, no vGPU is cold */
			assert_int_equal(bench.out.n_decisions, 0);
	}
	print_message("  %d moves\n", moves);
	assert_in_range(moves, 0, 10);
}

/* --- the learned estimate of migrations of named vGPUs --- */

static void make_moving(void)
{
	bench_init(
		(const struct given[]){
			{"a", 50, .cap = 30}, {"b", 50, .cap = 30}, {"c", 50, .cap = 30}, {0}},
		1);
	bench.gpu.migrates = true;
}

static void learn(int seconds)
{
	for (int t = 0; t < seconds; t++)
		moving_learn(&bench.gpu);
}

/* The last vGPU of the array leaves after @seconds. */
static void leave(int seconds)
{
	learn(seconds - 1);
	bench.gpu.n_vgpus--;
	learn(1);
}

static bool is_unanswered(void)
{
	return moving_save(&bench.gpu.moving).unanswered;
}

TEST(test_without_a_hook_or_an_answer_there_is_no_trust)
{
	make_moving();
	assert_true(moving_trust(&bench.gpu) == 0);
	assert_false(moving_is_known(&bench.gpu));
	bench.gpu.moving.answered = 1;
	assert_true(moving_trust(&bench.gpu) > 0.9);
	bench.gpu.migrates = false;
	assert_true(moving_trust(&bench.gpu) == 0);
	assert_false(moving_is_known(&bench.gpu));
}

TEST(test_an_answer_gives_trust_and_the_delay)
{
	make_moving();
	assert_true(moving_delay_s(&bench.gpu) == 10);
	moving_name(&bench.gpu, 2);
	leave(120);
	assert_float_equal(moving_trust(&bench.gpu), 1 / 1.03, 1e-9);
	assert_true(moving_is_known(&bench.gpu));
	assert_float_equal(moving_delay_s(&bench.gpu), 120, 1e-9);
	/* The newest delay has a weight of 0.3. */
	moving_name(&bench.gpu, 1);
	leave(20);
	assert_float_equal(moving_delay_s(&bench.gpu), 90, 1e-9);
	assert_float_equal(moving_trust(&bench.gpu), 2 / 2.03, 1e-9);
}

TEST(test_the_departure_of_another_vgpu_is_no_answer)
{
	make_moving();
	leave(5); /* no naming */
	moving_name(&bench.gpu, 0);
	leave(5);
	assert_true(moving_trust(&bench.gpu) == 0);
}

TEST(test_one_naming_without_an_answer_ends_the_trust)
{
	make_moving();
	bench.gpu.moving = (struct policy_moving){.answered = 9, .delay_s = 100};
	moving_name(&bench.gpu, 2);
	learn(180);
	assert_true(moving_trust(&bench.gpu) > 0.9);
	learn(1);
	assert_true(moving_trust(&bench.gpu) == 0);
	/* Naming the vGPU again does not restart the time. A late departure is no answer in time,
	 * so nothing is known, as at the start. */
	moving_name(&bench.gpu, 2);
	leave(19);
	assert_false(is_unanswered());
	assert_false(moving_is_known(&bench.gpu));
	assert_float_equal(moving_delay_s(&bench.gpu), 130, 1e-9);
}

TEST(test_a_departure_much_later_is_no_answer)
{
	make_moving();
	moving_name(&bench.gpu, 2);
	learn(361);
	leave(1);
	assert_true(is_unanswered());
}

TEST(test_naming_other_vgpus_does_not_restart_the_time)
{
	make_moving();
	for (int t = 0; t < 4; t++) {
		moving_name(&bench.gpu, t % 2);
		learn(30);
	}
	assert_false(is_unanswered());
	learn(61);
	assert_true(is_unanswered());
}

TEST(test_each_named_vgpu_has_a_time_of_its_own)
{
	make_moving();
	moving_name(&bench.gpu, 2);
	learn(30);
	moving_name(&bench.gpu, 1);
	leave(30);
	assert_float_equal(moving_trust(&bench.gpu), 1 / 1.03, 1e-9);
	assert_float_equal(moving_delay_s(&bench.gpu), 60, 1e-9);
}

TEST(test_the_oldest_naming_is_replaced)
{
	static const struct given given[] = {{"a", 10, .cap = 10}, {"b", 10, .cap = 10},
					     {"c", 10, .cap = 10}, {"d", 10, .cap = 10},
					     {"e", 10, .cap = 10}, {"f", 10, .cap = 10},
					     {"g", 10, .cap = 10}, {"h", 10, .cap = 10},
					     {"i", 10, .cap = 10}, {0}};

	bench_init(given, 1);
	bench.gpu.migrates = true;
	for (int i = 8; i >= 0; i--) {
		moving_name(&bench.gpu, i);
		learn(1);
	}
	leave(1); /* the vGPU that was named first */
	assert_true(moving_trust(&bench.gpu) == 0);
	leave(1);
	assert_float_equal(moving_trust(&bench.gpu), 1 / 1.03, 1e-9);
}

TEST(test_a_known_delay_shortens_the_patience)
{
	static const struct {
		int delay_s, patience_s;
	} rows[] = {{5, 60}, {30, 90}, {100, 180}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_moving();
		moving_name(&bench.gpu, 2);
		leave(rows[i].delay_s);
		moving_name(&bench.gpu, 1);
		learn(rows[i].patience_s);
		assert_true(moving_is_known(&bench.gpu));
		learn(1);
		assert_true(moving_trust(&bench.gpu) == 0);
	}
}

TEST(test_a_failed_newcomer_is_named)
{
	make_moving();
	bench.vgpus[2].newcomer = bench.gpu.offered = true;
	learn(30);
	bench.vgpus[2].newcomer = false;
	leave(10);
	assert_float_equal(moving_trust(&bench.gpu), 1 / 1.03, 1e-9);
	/* It was named in the first of these 10 periods. */
	assert_float_equal(moving_delay_s(&bench.gpu), 10, 1e-9);
}

TEST(test_a_newcomer_that_passed_is_not_named)
{
	make_moving();
	bench.vgpus[2].newcomer = bench.gpu.offered = true;
	learn(30);
	bench.vgpus[2].newcomer = bench.gpu.offered = false;
	learn(500);
	assert_false(is_unanswered());
	leave(1);
	assert_true(moving_trust(&bench.gpu) == 0);
}

TEST(test_a_failed_migration_is_no_answer_at_once)
{
	make_moving();
	bench.gpu.moving.answered = 3;
	moving_note_failed(&bench.gpu, "a"); /* was not named */
	assert_false(is_unanswered());
	moving_note_requested(&bench.gpu, "a");
	learn(5);
	assert_false(is_unanswered());
	moving_note_failed(&bench.gpu, "a");
	assert_true(is_unanswered());
	assert_true(moving_trust(&bench.gpu) == 0);
	bench.gpu.migrates = false;
	moving_note_requested(&bench.gpu, "b");
	bench.gpu.migrates = true;
	moving_load(&bench.gpu.moving, &(struct moving_estimate){.answered = 1});
	moving_note_failed(&bench.gpu, "b");
	assert_false(is_unanswered());
}

TEST(test_a_requested_migration_is_answered_by_the_departure)
{
	make_moving();
	moving_note_requested(&bench.gpu, "c");
	leave(4);
	assert_true(moving_is_known(&bench.gpu));
	assert_float_equal(moving_delay_s(&bench.gpu), 4, 1e-9);
}

/* --- the estimate can be stored and loaded --- */

TEST(test_a_saved_estimate_can_be_loaded)
{
	static const struct moving_estimate rows[] = {
		{0},
		{.answered = 3, .delay_s = 12.5},
		{.unanswered = true, .delay_s = 40},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy_moving moving = {0};
		struct moving_estimate saved;

		moving_load(&moving, &rows[i]);
		saved = moving_save(&moving);
		assert_int_equal(saved.unanswered, rows[i].unanswered);
		assert_int_equal(saved.answered, rows[i].answered);
		assert_true(saved.delay_s == rows[i].delay_s);
	}
}

TEST(test_a_loaded_estimate_decides_as_before)
{
	struct policy_gpu gpu = {.migrates = true};

	moving_load(&gpu.moving, &(struct moving_estimate){.answered = 1, .delay_s = 25});
	assert_true(moving_trust(&gpu) > 0.9);
	assert_true(moving_delay_s(&gpu) == 25);
	moving_load(&gpu.moving, &(struct moving_estimate){.unanswered = true});
	assert_true(moving_trust(&gpu) == 0);
}

TEST(test_numbers_out_of_range_are_replaced)
{
	struct policy_moving moving = {0};
	struct moving_estimate saved;

	moving_load(&moving, &(struct moving_estimate){.answered = 1000000, .delay_s = -1});
	saved = moving_save(&moving);
	assert_int_equal(saved.answered, 1000);
	assert_true(saved.delay_s == 0);
	moving_load(&moving, &(struct moving_estimate){.answered = -1});
	assert_int_equal(moving_save(&moving).answered, 0);
}
