/* SPDX-License-Identifier: MIT */
/*
 * Rules 1, 2, 3 and 11: the signal, conditions and broken time of one vGPU over some periods. The
 * same for vGPUs whose caps are guaranteed shares. Rates that are compared with a target, and the
 * largest load and the 99th percentile of the last periods (policy/window.h).
 */
#include "base/cleanup.h"
#include "policy/qos/demand.h"
#include "policy/signal.h"
#include "policy/window.h"
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

/* --- caps that are guaranteed shares --- */

#define PERIODS 3

/* Reads PERIODS equal periods. */
static void read_all(const struct given *given, int step_pct)
{
	bench_init(given, step_pct);
	bench.gpu.sharing = POLICY_SHARING_GUARANTEE;
	for (int i = 0; i < PERIODS; i++)
		signal_read(&bench.params, &bench.gpu);
}

/* '!' overloaded, 'r' also a receiver, 'b' broken, 's' short of target, 'l' at the limit of the
 * contract, 'n' not GPU-bound */
static const struct {
	const char *rule;
	struct given vgpus[4];
	const char *expected[4];
} guarantee_rows[] = {
	{"time is left: use of other time is no overload",
	 {{"a", 50, 10, .util = 4}, {"b", 50, 50, .util = 0.2}, {"c", 50, 40, .util = 0.5}},
	 {"", "", ""}},
	{"no time is left: vGPUs with the largest u want more",
	 {{"a", 50, 20, .util = 1.5}, {"b", 50, 20, .util = 1.5}, {"c", 60, 60, .util = 0.667}},
	 {"!rb", "!rb", ""}},
	{"no time is left: a vGPU with a smaller u got what it wants",
	 {{"a", 100, 30, .util = 2}, {"b", 50, 10, .util = 1.5}, {"c", 60, 60, .util = 0.42}},
	 {"!rb", "", ""}},
	{"no time is left and no vGPU uses more than its cap: u counts as with hard caps",
	 {{"a", 50, 48, .util = 1}, {"b", 60, 52, .util = 0.96}},
	 {"!rb", "!rb"}},
	{"a vGPU that fills its contract is not broken, and a larger cap does not help",
	 {{"a", 50, 20, .util = 2.5}, {"b", 50, 40, .util = 1}, {"c", 50, 40, .util = 0.25}},
	 {"!l", "!rb", ""}},
	{"the same while time is left",
	 {{"a", 50, 20, .util = 2.5}, {"b", 50, 40, .util = 0.25}},
	 {"!l", ""}},
	{"a little less than the contract is not broken while time is left",
	 {{"a", 50, 20, .util = 2.42}, {"b", 50, 40, .util = 0.25}},
	 {"!l", ""}},
	{"with burst the ceiling is the GPU",
	 {{"a", 50, 20, .util = 2.5, .burst = true}, {"b", 50, 40, .util = 0.25}},
	 {"", ""}},
	{"short of target with less than 30 % of the time left",
	 {{"a", 50, 20, .util = 1.2, .target = 60, .fps = 45}, {"b", 60, 60, .util = 0.8}},
	 {"!rbs", ""}},
	{"short of target with more time left: the guest is the limit",
	 {{"a", 50, 20, .util = 1.2, .target = 60, .fps = 45}, {"b", 60, 60, .util = 0.7}},
	 {"sn", ""}},
	{"short of target below 70 % of the cap: the guest is the limit",
	 {{"a", 50, 20, .util = 0.6, .target = 60, .fps = 45}, {"b", 90, 60, .util = 1.45}},
	 {"sn", "!rb"}},
	{"short of target at the contract",
	 {{"a", 40, 20, .util = 2, .target = 60, .fps = 45}, {"b", 60, 60, .util = 0.2}},
	 {"!bsl", ""}},
	{"an unknown reading excuses no short vGPU",
	 {{"a", 50, 20, .util = 1.2, .target = 60, .fps = 45}, {"b", 60, 60, .util = NAN}},
	 {"!rbs", ""}},
};

TEST(readings_under_guarantees)
{
	for (size_t i = 0; i < ARRAY_SIZE(guarantee_rows); i++) {
		print_message("  %s\n", guarantee_rows[i].rule);
		read_all(guarantee_rows[i].vgpus, 1);
		for (int j = 0; j < bench.gpu.n_vgpus; j++) {
			const struct policy_vgpu *v = &bench.vgpus[j];
			char found[8] = "";

			snprintf(found, sizeof(found), "%s%s%s%s%s%s", v->overloaded ? "!" : "",
				 v->receiver ? "r" : "", v->broken ? "b" : "",
				 v->short_of_target ? "s" : "",
				 v->conditions & POLICY_CONTRACT_LIMIT ? "l" : "",
				 v->conditions & POLICY_QOS_NOT_GPU_BOUND ? "n" : "");
			if (strcmp(found, guarantee_rows[i].expected[j]) != 0)
				fail_msg("%s: %s instead of %s", v->id, found,
					 guarantee_rows[i].expected[j]);
		}
	}
}

TEST(a_demand_above_the_cap_is_visible_while_time_is_left)
{
	static const struct {
		struct given vgpus[3];
		double now_pct; /* of the first vGPU */
		enum policy_demand_source source;
	} cases[] = {
		{{{"a", 50, 10, .util = 4}, {"b", 50, 50, .util = 0.2}}, 40, POLICY_DEMAND_SEEN},
		{{{"a", 50, 10, .util = 5}, {"b", 50, 50, .util = 0.2}}, 50, POLICY_DEMAND_SEEN},
		/* got less than it could have */
		{{{"a", 100, 20, .util = 1}, {"b", 100, 40, .util = 2}}, 20, POLICY_DEMAND_SEEN},
		/* three times the load, as with hard caps */
		{{{"a", 100, 10, .util = 2}, {"b", 100, 40, .util = 2}},
		 3 * 20 / 0.98,
		 POLICY_DEMAND_PROBED},
		/* fills its contract */
		{{{"a", 20, 10, .util = 2}, {"b", 100, 40, .util = 2}}, 20, POLICY_DEMAND_SEEN},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		read_all(cases[i].vgpus, 1);
		demand_learn(&bench.gpu, &bench.vgpus[0]);
		assert_float_equal(demand_now_pct(&bench.vgpus[0]), cases[i].now_pct, 1e-3);
		assert_int_equal(bench.tracks[0].demand.source, cases[i].source);
		/* With time left, a demand needs no cap to be measured. */
		if (!bench.gpu.saturated)
			assert_true(demand_observable_cap_pct(&bench.gpu, &bench.vgpus[0]) == 0);
	}
}

TEST(the_order_of_vgpus_changes_no_reading)
{
	static const struct given one[] = {{"a", 90, 11, .util = 1.7},
					   {"b", 90, 23, .util = 1.7},
					   {"c", 90, 31, .util = 1.3},
					   {.id = NULL}},
				  other[] = {{"c", 90, 31, .util = 1.3},
					     {"b", 90, 23, .util = 1.7},
					     {"a", 90, 11, .util = 1.7},
					     {.id = NULL}};
	struct policy_gpu first;

	read_all(one, 1);
	first = bench.gpu;
	read_all(other, 1);
	assert_true(first.saturated && first.held_util > 1.69);
	assert_true(first.held_util == bench.gpu.held_util);
	assert_true(first.total_load == bench.gpu.total_load);
}

/* --- rates and windows --- */

#define RATE_PERIODS 400

/* Returns the units that end in period @at of a program that does @per_period, first @phase. */
static double units_in(int at, double per_period, double phase)
{
	return floor((at + 1) * per_period + phase) - floor(at * per_period + phase);
}

static void init(double target, double period_s, bool work)
{
	const struct given given[2] = {{"v", 50, .cap = 20, .target = target, .work = work}};

	bench_init(given, 1);
	bench.gpu.period_s = period_s;
}

/* Reads @units in this period. Returns true if the vGPU is short. */
static bool reads(double units, double util)
{
	bench_read(&bench.vgpus[0], util, units / bench.gpu.period_s);
	bench_step();
	return bench.vgpus[0].short_of_target;
}

static const double rates[] = {0.05, 0.1, 0.3, 0.5, 0.7, 1, 1.3, 2.5, 4, 7.7, 9.9, 10, 33, 74};

TEST(a_promise_that_is_kept_is_never_short)
{
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		for (double phase = 0; phase < 1; phase += 0.13) {
			init(rates[i], 1, true);
			for (int at = 0; at < RATE_PERIODS; at++)
				if (reads(units_in(at, rates[i], phase), 1))
					fail_msg("%g units/s is short in period %d", rates[i], at);
		}
	}
}

TEST(two_thirds_of_a_promise_are_short_when_the_window_is_full)
{
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		int full = (int)fmin(ceil(10 / rates[i]), POLICY_RATES_MAX);
		double given = rates[i] * 2 / 3;

		/* Fewer than ten units are promised in the longest window. */
		if (rates[i] * POLICY_RATES_MAX < 10)
			continue;
		init(rates[i], 1, true);
		for (int at = 0; at < RATE_PERIODS; at++) {
			bool is_short = reads(units_in(at, given, 0), 1);

			if (at >= full - 1 && !is_short)
				fail_msg("%g of %g units/s is enough in period %d", given, rates[i],
					 at);
		}
	}
}

struct rate_row {
	const char *rule;
	double target, period_s;
	const char *units; /* finished in each period; '?': no valid reading */
	const char *shorts;
	bool frames;
};

static const struct rate_row table[] = {
	{"kernels of 2 s", 0.5, 1, .units = "010101010101", .shorts = "............"},
	{"one kernel late by a period", 0.5, 1, .units = "010100101010", .shorts = "............"},
	{"no kernel at all: short when more than 1.5 units are missing", 0.5, 1, .units = "00000",
	 .shorts = "...!!"},
	{"half of the promise", 0.5, 1, .units = "000100010001000100",
	 .shorts = ".....!!!!!!!!!!!!!"},
	{"a shortage counts as long as the window lasts", 1, 1, .units = "1100111111111",
	 .shorts = "...!!!!!!!!!."},
	{"a missing reading starts a new window", 0.5, 1, .units = "000?000", .shorts = "......."},
	{"ten units in a period: each period alone", 10, 1, .units = "9879", .shorts = ".!!."},
	{"shorter periods: more of them", 9, 0.1, .units = "1111111110000",
	 .shorts = "...........!!"},
	{"3 units/s: less than 1.5 units/s is tolerated", 3, 1, .units = "22222",
	 .shorts = ".!!!!"},
	{"frames have a tolerance of 1.5 in one period", 1.5, 1, .units = "000", .shorts = "...",
	 .frames = true},
	{"frames: each period alone", 4, 1, .units = "2402", .shorts = "!.!!", .frames = true},
};

TEST(short_in_these_periods)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct rate_row *row = &table[i];
		char shorts[32] = "";

		print_message("  %s\n", row->rule);
		init(row->target, row->period_s, !row->frames);
		for (int at = 0; row->units[at]; at++) {
			double units = row->units[at] == '?' ? NAN : row->units[at] - '0';

			shorts[at] = reads(units, 1) ? '!' : '.';
		}
		assert_string_equal(shorts, row->shorts);
	}
}

/* A kernel of 2 s may count as busy time only when it ends. */
TEST(use_and_demand_are_means_of_the_same_periods)
{
	init(0.5, 1, true);
	for (int at = 0; at < 24; at++)
		(void)reads(at % 4 == 3, at % 2 ? 1.5 : 0.3);
	assert_true(bench.vgpus[0].overloaded && bench.vgpus[0].broken);
	assert_true(fabs(bench.vgpus[0].rate - 0.25) < 1e-6);
	assert_true(fabs(bench.vgpus[0].e - 0.5) < 1e-6);
	assert_true(fabs(rate_util(&bench.vgpus[0]) - 0.9) < 1e-6);
	assert_true(fabs(rate_load(&bench.vgpus[0]) - 0.18) < 1e-6);
	/* the next period: GPU-bound with a use of 30 % */
	assert_true(reads(0, 0.3) && bench.vgpus[0].overloaded);
}

TEST(an_invalid_busy_time_counts_in_no_mean)
{
	init(0.5, 1, true);
	for (int at = 0; at < 24; at++)
		(void)reads(at % 2, at % 2 ? NAN : 0.8);
	assert_true(fabs(rate_util(&bench.vgpus[0]) - 0.8) < 1e-6);
	assert_true(fabs(bench.vgpus[0].rate - 0.5) < 1e-6);
}

/* --- the largest load and the 99th percentile of the last periods --- */

/* Adds the loads 0.001, 0.002, ... 0.001 * @n. */
static void add_rising(struct policy_track *track, int n)
{
	for (int i = 1; i <= n; i++)
		window_add(track, 0.001 * i);
}

static void check(double load, double thousandths)
{
	assert_float_equal(load, 0.001 * thousandths, 1e-6);
}

TEST(test_without_a_period_the_load_is_1)
{
	static const struct policy_track none;

	assert_true(window_max(&none, 30) == 1);
	assert_true(window_p99(&none, 30) == 1);
}

TEST(test_the_last_periods_count)
{
	static const struct {
		int added, periods;
		double max, p99;
	} rows[] = {
		{1, 1, 1, 1},		{1, 30, 1, 1},	      {50, 30, 50, 50},
		{99, 300, 99, 99},	{100, 300, 100, 99},  {199, 300, 199, 198},
		{200, 300, 200, 198},	{300, 300, 300, 297}, {400, 100, 400, 399},
		{1000, 300, 1000, 997},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy_track track = {0};

		add_rising(&track, rows[i].added);
		check(window_max(&track, rows[i].periods), rows[i].max);
		check(window_p99(&track, rows[i].periods), rows[i].p99);
		check(window_at(&track, 1), rows[i].added);
	}
}

/* A falling load has its largest values at the end of the window. */
TEST(test_the_oldest_period_of_the_window_counts)
{
	for (int n = 1; n <= POLICY_WINDOW_MAX; n++) {
		struct policy_track track = {0};

		window_add(&track, 1);
		for (int i = n; i >= 1; i--)
			window_add(&track, 0.001 * i);
		check(window_max(&track, n), n);
		check(window_p99(&track, n), n - n / 100);
		check(window_at(&track, n), n);
	}
}

TEST(test_idle_periods_have_a_load_of_0)
{
	struct policy_track track = {0};

	for (int i = 0; i < 100; i++)
		window_add(&track, 0);
	assert_true(window_max(&track, 300) == 0);
	assert_true(window_p99(&track, 300) == 0);
}
