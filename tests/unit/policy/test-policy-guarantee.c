/* SPDX-License-Identifier: MIT */
/*
 * Readings of vGPUs whose caps are guaranteed shares: which of them are overloaded and broken, and
 * which demands are visible.
 */
#include "tests/unit/policy/test-policy.h"

#include "base/cleanup.h"
#include "policy/qos/demand.h"
#include "policy/signal.h"

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
} rows[] = {
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
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("  %s\n", rows[i].rule);
		read_all(rows[i].vgpus, 1);
		for (int j = 0; j < bench.gpu.n_vgpus; j++) {
			const struct policy_vgpu *v = &bench.vgpus[j];
			char found[8] = "";

			snprintf(found, sizeof(found), "%s%s%s%s%s%s", v->overloaded ? "!" : "",
				 v->receiver ? "r" : "", v->broken ? "b" : "",
				 v->short_of_target ? "s" : "",
				 v->conditions & POLICY_CONTRACT_LIMIT ? "l" : "",
				 v->conditions & POLICY_QOS_NOT_GPU_BOUND ? "n" : "");
			if (strcmp(found, rows[i].expected[j]) != 0)
				fail_msg("%s: %s instead of %s", v->id, found, rows[i].expected[j]);
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
