/* SPDX-License-Identifier: MIT */
/* Rules 1, 2, 3 and 11: the signal, conditions and broken time of one vGPU over some periods. */
#include "tests/unit/policy/test-policy.h"

struct row {
	const char *rule;
	struct given vgpu;   /* its id is "v" */
	double util[8];	     /* one value for each period; NAN: invalid reading */
	double fps[8];	     /* one value for each period; NAN: invalid reading */
	int gap_at;	     /* number of the late period, from 1; 0: no late period */
	const char *signals; /* expected in each period: '!' the overload signal is set, '.' it is
				not */
	unsigned int conditions; /* expected conditions in the last period */
	const char *out; /* expected in the last period: 'r' receiver, 'b' broken, 's' short */
	void (*change)(struct policy_params *params);
};

static void in_paper_mode(struct policy_params *params)
{
	params->paper_mode = true;
}

static void debounced(struct policy_params *params)
{
	params->qos_periods = 2;
}

static void use_counts_always(struct policy_params *params)
{
	params->use_ignores_met_target = false;
}

/* PLAIN: a vGPU without a target. GAME: a vGPU with a target of 60 FPS. Both can receive. */
#define PLAIN .contract = 50, .cap = 20
#define GAME  .contract = 50, .cap = 20, .target = 60

static const struct row use_rows[] = {
	{"rule 1: the third period above sets the signal, further ones keep it", .vgpu = {PLAIN},
	 .util = {0.96, 0.97, 0.98, 0.96, 0.5, 0.96}, .signals = "..!!..", .out = "b"},
	{"rule 1: exactly U_o is not above", .vgpu = {PLAIN}, .util = {0.95, 0.95, 0.95, 0.95},
	 .signals = "....", .out = ""},
	{"rule 1: exactly U_o breaks a run", .vgpu = {PLAIN},
	 .util = {0.96, 0.96, 0.95, 0.96, 0.96, 0.96}, .signals = ".....!", .out = "rb"},
	{"rule 1: two of three breaches, then a gap: counted anew", .vgpu = {PLAIN},
	 .util = {0.96, 0.96, 0.96, 0.96, 0.96, 0.96}, .gap_at = 3, .signals = ".....!",
	 .out = "rb"},
	{"a gap removes a signal", .vgpu = {PLAIN}, .util = {1, 1, 1, 1, 1}, .gap_at = 4,
	 .signals = "..!..", .out = "b"},
	{"an invalid busy reading breaks a run", .vgpu = {PLAIN},
	 .util = {0.96, 0.96, NAN, 0.96, 0.96}, .signals = ".....", .out = "b"},
	{"an invalid busy reading is no signal, no broken time", .vgpu = {PLAIN},
	 .util = {1, 1, 1, NAN}, .signals = "..!.", .out = ""},
	{"rule 1: a met target suppresses the signal by use", .vgpu = {GAME}, .util = {1, 1, 1, 1},
	 .fps = {60, 60, 60, 60}, .signals = "....", .out = ""},
	{"rule 1: an FPS within the tolerance meets the target", .vgpu = {GAME}, .util = {1, 1, 1},
	 .fps = {58.5, 58.5, 58.5}, .signals = "...", .out = ""},
	{"rule 1: with a stale FPS use counts", .vgpu = {GAME}, .util = {1, 1, 1},
	 .fps = {NAN, NAN, NAN}, .signals = "..!", .conditions = POLICY_FPS_MISSING, .out = "rb"},
	{"rule 1: a met target does not excuse if that is switched off", .vgpu = {GAME},
	 .util = {1, 1, 1}, .fps = {60, 60, 60}, .signals = "..!", .out = "r",
	 .change = use_counts_always},
	{"paper mode: a met target does not excuse", .vgpu = {GAME}, .util = {1, 1, 1},
	 .fps = {60, 60, 60}, .signals = "..!", .out = "r", .change = in_paper_mode},
	{"target 0: frames have no influence", .vgpu = {PLAIN}, .util = {0.5, 0.5}, .fps = {3, 0},
	 .signals = "..", .out = ""},
};

static const struct row qos_rows[] = {
	{"rule 2: short and GPU-bound sets the signal at once", .vgpu = {GAME}, .util = {0.9},
	 .fps = {50}, .signals = "!", .out = "rbs"},
	{"rule 2: GPU-bound from exactly the threshold", .vgpu = {GAME}, .util = {0.70},
	 .fps = {50}, .signals = "!", .out = "rbs"},
	{"rule 2: below the threshold no cap helps", .vgpu = {GAME}, .util = {0.699}, .fps = {50},
	 .signals = ".", .conditions = POLICY_QOS_NOT_GPU_BOUND, .out = "s"},
	{"rule 2: an idle vGPU with a target and no frames", .vgpu = {GAME}, .util = {0, 0, 0},
	 .fps = {0, 0, 0}, .signals = "...", .conditions = POLICY_QOS_NOT_GPU_BOUND, .out = "s"},
	{"paper mode: an idle vGPU without frames counts", .vgpu = {GAME}, .util = {0}, .fps = {0},
	 .signals = "!", .out = "rs", .change = in_paper_mode},
	{"rule 2: 1.5 frames below 60 is within the tolerance", .vgpu = {GAME}, .util = {0.9},
	 .fps = {58.5}, .signals = ".", .out = ""},
	{"rule 2: more than 1.5 frames below 60 is short", .vgpu = {GAME}, .util = {0.9},
	 .fps = {58.4}, .signals = "!", .out = "rbs"},
	{"rule 2: 2 % below 200 is within the tolerance",
	 .vgpu = {.contract = 50, .cap = 20, .target = 200}, .util = {0.9}, .fps = {196},
	 .signals = ".", .out = ""},
	{"rule 2: more than 2 % below 200 is short",
	 .vgpu = {.contract = 50, .cap = 20, .target = 200}, .util = {0.9}, .fps = {195.9},
	 .signals = "!", .out = "rbs"},
	{"rule 2: qos_periods debounces", .vgpu = {GAME}, .util = {0.9, 0.9, 0.9, 0.9},
	 .fps = {50, 60, 50, 50}, .signals = "...!", .out = "rbs", .change = debounced},
	{"rule 2: a gap breaks the debouncing", .vgpu = {GAME}, .util = {0.9, 0.9, 0.9},
	 .fps = {50, 50, 50}, .gap_at = 2, .signals = "...", .out = "bs", .change = debounced},
	{"a gap raises no signal by QoS, but the time is broken", .vgpu = {GAME}, .util = {0.9},
	 .fps = {50}, .gap_at = 1, .signals = ".", .out = "bs"},
	{"an invalid busy reading does not explain a low FPS", .vgpu = {GAME}, .util = {NAN},
	 .fps = {50}, .signals = ".", .out = "s"},
	{"an invalid busy reading ends the signal", .vgpu = {GAME}, .util = {0.9, NAN},
	 .fps = {50, 50}, .signals = "!.", .out = "s"},
	{"FPS stale: the signal ends", .vgpu = {GAME}, .util = {0.9, 0.9}, .fps = {50, NAN},
	 .signals = "!.", .conditions = POLICY_FPS_MISSING, .out = ""},
	{"FPS stale: no e, a condition", .vgpu = {GAME}, .util = {0.9}, .fps = {NAN},
	 .signals = ".", .conditions = POLICY_FPS_MISSING, .out = ""},
	{"FPS stale without a target: no condition", .vgpu = {PLAIN}, .util = {0.9}, .fps = {NAN},
	 .signals = ".", .out = ""},
	{"broken time has the same threshold in paper mode", .vgpu = {GAME}, .util = {0.5},
	 .fps = {50}, .signals = "!", .out = "rs", .change = in_paper_mode},
};

static const struct row help_rows[] = {
	{"rule 3: at its ceiling it cannot receive", .vgpu = {.contract = 20, .cap = 20},
	 .util = {1, 1, 1}, .signals = "..!", .conditions = POLICY_CONTRACT_LIMIT, .out = ""},
	{"rule 3: above its ceiling it cannot receive", .vgpu = {.contract = 20, .cap = 30},
	 .util = {1, 1, 1}, .signals = "..!", .conditions = POLICY_CONTRACT_LIMIT, .out = ""},
	{"rule 3: burst passes the contract", .vgpu = {.contract = 20, .cap = 20, .burst = true},
	 .util = {1, 1, 1}, .signals = "..!", .out = "r"},
	{"rule 3: held", .vgpu = {.contract = 50, .cap = 20, .held = true}, .util = {1, 1, 1},
	 .signals = "..!", .conditions = POLICY_HELD_OVERLOADED, .out = "b"},
	{"rule 3: held at its ceiling is held", .vgpu = {.contract = 20, .cap = 20, .held = true},
	 .util = {1, 1, 1}, .signals = "..!", .conditions = POLICY_HELD_OVERLOADED, .out = ""},
	{"rule 3: short at its ceiling", .vgpu = {.contract = 20, .cap = 20, .target = 60},
	 .util = {1}, .fps = {30}, .signals = "!", .conditions = POLICY_CONTRACT_LIMIT,
	 .out = "bs"},
	{"rule 11: at its floor one period is enough", .vgpu = {.contract = 50, .cap = 1},
	 .util = {0.96}, .signals = "!", .out = "rb"},
	{"rule 11: a contract's floor", .vgpu = {.contract = 50, .cap = 10, .min_cap = 10},
	 .util = {0.96}, .signals = "!", .out = "rb"},
	{"rule 11: exactly U_o is no signal", .vgpu = {.contract = 50, .cap = 1}, .util = {0.95},
	 .signals = ".", .out = ""},
	{"rule 11: above its floor the normal delay applies", .vgpu = {.contract = 50, .cap = 2},
	 .util = {1}, .signals = ".", .out = "b"},
	{"rule 11: not in a gap", .vgpu = {.contract = 50, .cap = 1}, .util = {1}, .gap_at = 1,
	 .signals = ".", .out = "b"},
	{"rule 11: a met target suppresses the signal",
	 .vgpu = {.contract = 50, .cap = 1, .target = 60}, .util = {1}, .fps = {60}, .signals = ".",
	 .out = ""},
	{"rule 11: a held vGPU gets no signal", .vgpu = {.contract = 50, .cap = 1, .held = true},
	 .util = {1}, .signals = ".", .out = "b"},
	{"rule 11: without room the normal delay applies", .vgpu = {.contract = 1, .cap = 1},
	 .util = {1, 1, 1}, .signals = "..!", .conditions = POLICY_CONTRACT_LIMIT, .out = ""},
	{"paper mode: no waking", .vgpu = {.contract = 50, .cap = 1}, .util = {1, 1, 1},
	 .signals = "..!", .out = "rb", .change = in_paper_mode},
	{"broken without a target: above U_o, below the contract", .vgpu = {PLAIN}, .util = {0.951},
	 .signals = ".", .out = "b"},
	{"not broken at its contract", .vgpu = {.contract = 20, .cap = 20}, .util = {1},
	 .signals = ".", .out = ""},
};

/* Tests the vGPU of the row beside a held vGPU that has the rest of the GPU: no cap can change. */
static void check_row(const struct row *row)
{
	struct given given[3] = {
		row->vgpu, {"other", .contract = 100, .cap = 100 - row->vgpu.cap, .held = true}};
	char out[4] = "";

	given[0].id = "v";
	print_message("  %s\n", row->rule);
	bench_init(given, 1);
	if (row->change)
		row->change(&bench.params);
	for (int i = 0; row->signals[i]; i++) {
		bench.gpu.gap = row->gap_at == i + 1;
		bench_read(&bench.vgpus[0], row->util[i], row->fps[i]);
		bench_step();
		if (bench.vgpus[0].overloaded != (row->signals[i] == '!'))
			fail_msg("period %d: expected '%c'", i + 1, row->signals[i]);
		assert_string_equal(bench_text(), "");
		bench_check_wants();
	}
	snprintf(out, sizeof(out), "%s%s%s", bench.vgpus[0].receiver ? "r" : "",
		 bench.vgpus[0].broken ? "b" : "", bench.vgpus[0].short_of_target ? "s" : "");
	assert_string_equal(out, row->out);
	assert_int_equal(bench.vgpus[0].conditions, row->conditions);
}

#define CHECK_ROWS(rows)                                              \
	for (size_t i = 0; i < sizeof(rows) / sizeof((rows)[0]); i++) \
	check_row(&(rows)[i])

TEST(test_overload_by_use)
{
	CHECK_ROWS(use_rows);
}

TEST(test_overload_by_qos)
{
	CHECK_ROWS(qos_rows);
}

TEST(test_receivers_and_waking)
{
	CHECK_ROWS(help_rows);
}

TEST(test_a_missing_signal_may_be_in_doubt)
{
	static const struct {
		const char *rule;
		struct given vgpu;
		bool gap, in_doubt;
		void (*change)(struct policy_params *params);
	} rows[] = {
		{"quiet", {"v", PLAIN, .util = 0.9}, .in_doubt = false},
		{"the first breach", {"v", PLAIN, .util = 1}, .in_doubt = true},
		{"the second", {"v", PLAIN, .util = 1, .over_run = 1}, .in_doubt = true},
		{"the third is a signal", .vgpu = {"v", PLAIN, .util = 1, .over_run = 2},
		 .in_doubt = false},
		{"breaches that ended", .vgpu = {"v", PLAIN, .util = 0.9, .over_run = 2},
		 .in_doubt = false},
		{"a gap, whatever it shows", .vgpu = {"v", PLAIN, .util = 0}, .gap = true,
		 .in_doubt = true},
		{"an invalid reading", {"v", PLAIN, .util = NAN}, .in_doubt = true},
		{"a met target excuses", {"v", GAME, .util = 1, .fps = 60}, .in_doubt = false},
		{"an unknown FPS does not excuse", .vgpu = {"v", GAME, .util = 1, .fps = NAN},
		 .in_doubt = true},
		{"a met target does not excuse in paper mode",
		 .vgpu = {"v", GAME, .util = 1, .fps = 60}, .in_doubt = true,
		 .change = in_paper_mode},
		{"short for the first of two periods", .vgpu = {"v", GAME, .util = 0.9, .fps = 50},
		 .in_doubt = true, .change = debounced},
		{"short of target, but not GPU-bound", .vgpu = {"v", GAME, .util = 0.5, .fps = 50},
		 .in_doubt = false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct given given[2] = {rows[i].vgpu};

		print_message("  %s\n", rows[i].rule);
		bench_init(given, 1);
		bench.gpu.gap = rows[i].gap;
		if (rows[i].change)
			rows[i].change(&bench.params);
		bench_step();
		assert_int_equal(bench.vgpus[0].in_doubt, rows[i].in_doubt);
	}
}

TEST(test_e_is_the_missing_share_of_the_target)
{
	static const struct {
		struct given vgpu;
		double e;
	} rows[] = {
		{{"v", 50, .cap = 20, .util = 0.9, .target = 60, .fps = 45}, 0.25},
		{{"v", 50, .cap = 20, .util = 0.9, .target = 120, .fps = 90}, 0.25},
		{{"v", 50, .cap = 20, .util = 0.9, .target = 60, .fps = 59}, 0},
		{{"v", 50, .cap = 20, .util = 0.5, .target = 60, .fps = 45}, 0},
		{{"v", 50, .cap = 20, .util = 0.9, .target = 60, .fps = NAN}, 0},
		{{"v", 50, .cap = 20, .util = NAN, .target = 60, .fps = 45}, 0},
		{{"v", 50, .cap = 20, .util = 0.9, .fps = 45}, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct given given[2] = {rows[i].vgpu};

		bench_init(given, 1);
		bench_step();
		assert_true(bench.vgpus[0].e == rows[i].e);
	}
}

TEST(test_without_a_target_98_percent_of_the_contract_is_enough)
{
	static const struct {
		int contract, cap, step;
		bool broken;
	} rows[] = {
		{100, 97, 1, true},
		{100, 98, 1, false},
		{50, 48, 1, true},
		{50, 49, 1, false},
		/* a cap that is less than a step below its contract is enough */
		{55, 50, 5, true},
		{54, 50, 5, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct given given[2] = {
			{"v", rows[i].contract, .cap = rows[i].cap, .util = 1, .held = true}};

		bench_init(given, rows[i].step);
		bench_step();
		if (bench.vgpus[0].broken != rows[i].broken)
			fail_msg("cap %d of %d", rows[i].cap, rows[i].contract);
	}
}

TEST(test_totals_of_the_gpu)
{
	static const struct {
		struct given vgpus[3];
		unsigned int conditions;
		int free_pct;
		double load;
	} rows[] = {
		{.vgpus = {{"a", 80, .cap = 80, .util = 0.5}, {"b", 80, .cap = 60, .util = NAN}},
		 POLICY_SUM_OVER_100,
		 0,
		 0.4},
		{.vgpus = {{"a", 80, .cap = 51, .util = 0}, {"b", 80, .cap = 50, .util = 0}},
		 POLICY_SUM_OVER_100,
		 0,
		 0},
		{{{"a", 100, .cap = 100, .util = 1}}, 0, 0, 1},
		{{{"a", 80, .cap = 50, .util = 0}, {"b", 80, .cap = 49, .util = 0}}, 0, 1, 0},
		{.vgpus = {{"a", 80, .cap = 40, .util = 0.5}, {"b", 80, .cap = 20, .util = 0.25}},
		 0,
		 40,
		 0.25},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bench_init(rows[i].vgpus, 1);
		bench_step();
		assert_int_equal(bench.gpu.conditions, rows[i].conditions);
		assert_int_equal(bench.gpu.free_pct, rows[i].free_pct);
		assert_true(bench.gpu.total_load == rows[i].load);
	}
}

/* Only policy qos finds out whether a severe overload is caused by the newcomer. */
TEST(test_after_a_change_of_policy_a_newcomer_may_cause_an_overload)
{
	struct given given[2] = {{"v", PLAIN}};

	bench_init(given, 1);
	bench.gpu.severe_without_newcomer = true;
	bench_step();
	assert_false(bench.gpu.severe_without_newcomer);
}
