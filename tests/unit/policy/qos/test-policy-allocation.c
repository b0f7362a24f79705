/* SPDX-License-Identifier: MIT */
/* Allocation by expected demand: tables of caps, and invariants for random demands. */
#include <stdlib.h>

#include "tests/unit/policy/test-policy.h"

#include "policy/qos/demand.h"
#include "policy/qos/allocation.h"

/* A vGPU whose demand is @now. In the next period it is @next with probability @chance, and @now
 * otherwise. */
struct want {
	const char *id; /* NULL ends the list */
	int contract, cap;
	double now, next, chance;
	int min_cap;
	bool held, burst;
	enum policy_demand_source source; /* how @now was measured or estimated */
};

/* Learns from one period with the demand @pct. Returns the level (interval of demands) of @pct. */
static int see(const struct policy_gpu *gpu, struct policy_vgpu *vgpu, double pct)
{
	vgpu->load = pct / 100;
	vgpu->util = 0.5;
	demand_learn(gpu, vgpu);
	return vgpu->track->demand.level;
}

/* Fills the track with the history of @want and a margin of 0. */
static void want(const struct policy_gpu *gpu, struct policy_vgpu *vgpu, const struct want *want)
{
	struct policy_demand *demand = &vgpu->track->demand;
	int next = want->chance > 0 ? see(gpu, vgpu, want->next) : 0;
	int now = see(gpu, vgpu, want->now);

	memset(demand->follows, 0, sizeof(demand->follows));
	demand->follows[now][next] = (float)(1e9 * want->chance);
	demand->follows[now][now] = (float)(1e9 * (1 - want->chance));
	demand->known = true;
	demand->margin_pct = 0;
	demand->source = want->source;
	if (want->source != POLICY_DEMAND_SEEN)
		vgpu->load = vgpu->cap_pct / 100.0;
}

static void make(struct bench *bench, const struct want *wants, int step_pct)
{
	struct given given[BENCH_MAX + 1] = {{0}};

	for (int i = 0; i < BENCH_MAX && wants[i].id; i++)
		given[i] = (struct given){wants[i].id,		 wants[i].contract,
					  .cap = wants[i].cap,	 .min_cap = wants[i].min_cap,
					  .held = wants[i].held, .burst = wants[i].burst};
	bench_init(bench, given, step_pct);
	for (int i = 0; i < bench->gpu.n_vgpus; i++) {
		bench->vgpus[i].fps_valid = false;
		want(&bench->gpu, &bench->vgpus[i], &wants[i]);
	}
}

/* Returns the planned caps as text: "a 30, b 70". */
static const char *caps_of(const struct bench *bench, const struct plan *plan)
{
	static char text[200];
	int used = 0;

	text[0] = '\0';
	for (int i = 0; i < bench->gpu.n_vgpus; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%s %d",
				 i > 0 ? ", " : "", bench->vgpus[i].id,
				 bench->vgpus[i].cap_pct + plan->delta_pct[i]);
	return text;
}

/* clang-format off */
static const struct row {
	const char *rule;
	struct want wants[5];
	enum allocation result;
	const char *caps;
	int step, spared; /* step 0: 1 */
	double now_pct;   /* of all */
	int need_pct;
} rows[] = {
	{"no shares", {{.id = NULL}}, ALLOCATION_KEPT, "", .step = 1},
	{"a sufficient cap does not change, even with unused cap",
	 {{"a", 50, 40, .now = 30}, {"b", 50, 50, .now = 10}}, ALLOCATION_KEPT, "a 40, b 50",
	 .now_pct = 40, .need_pct = 40},
	{"a cap equal to the demand is sufficient",
	 {{"a", 50, 30, .now = 30}, {"b", 70, 70, .now = 10}}, ALLOCATION_KEPT, "a 30, b 70",
	 .now_pct = 40, .need_pct = 40},
	{"a very small probability is accepted",
	 {{"a", 60, 30, .now = 30, .next = 50, .chance = 0.009}, {"b", 70, 70, .now = 10}},
	 ALLOCATION_KEPT, "a 30, b 70", .now_pct = 40, .need_pct = 40},
	{"a larger expected demand is served with some extra, first from the free pool",
	 {{"a", 60, 30, .now = 30, .next = 50, .chance = 0.02}, {"b", 48, 48, .now = 10}},
	 ALLOCATION_MET, "a 52, b 48", .now_pct = 40, .need_pct = 60},
	{"lent cap is taken back from the vGPU that has it",
	 {{"a", 60, 30, .now = 40}, {"b", 70, 50, .now = 20}, {"c", 20, 20, .now = 15}},
	 ALLOCATION_MET, "a 42, b 38, c 20", .now_pct = 75, .need_pct = 75},
	{"a large cap is taken back in one period",
	 {{"a", 90, 5, .now = 90}, {"b", 95, 95, .now = 4}},
	 ALLOCATION_MET, "a 90, b 10", .now_pct = 93, .need_pct = 94},
	{"two equal donors give alternately",
	 {{"a", 60, 30, .now = 37}, {"b", 60, 35, .now = 20}, {"c", 60, 35, .now = 20}},
	 ALLOCATION_MET, "a 39, b 30, c 31", .now_pct = 77, .need_pct = 77},
	{"a contract is a ceiling",
	 {{"a", 40, 30, .now = 40}, {"b", 60, 60, .now = 20}},
	 ALLOCATION_MET, "a 40, b 60", .now_pct = 60, .need_pct = 60},
	{"a cap above its contract is cut, except with burst",
	 {{"a", 40, 30, .now = 70, .burst = true}, {"b", 60, 60, .now = 20}},
	 ALLOCATION_MET, "a 72, b 28", .now_pct = 89, .need_pct = 90},
	{"the demands fit without margins",
	 {{"a", 60, 50, .now = 60}, {"b", 50, 50, .now = 41}}, ALLOCATION_TIGHT, "a 59, b 41",
	 .now_pct = 100, .need_pct = 100},
	{"caps that suffice without margins do not change",
	 {{"a", 60, 59, .now = 60}, {"b", 50, 41, .now = 41}}, ALLOCATION_KEPT, "a 59, b 41",
	 .now_pct = 100, .need_pct = 100},
	{"too much demand: the smallest is served, and stays measurable",
	 {{"a", 60, 50, .now = 60}, {"b", 50, 50, .now = 50}}, ALLOCATION_SHORT, "a 50, b 50",
	 .now_pct = 108, .need_pct = 108},
	{"as many vGPUs as possible are served: two of three",
	 {{"a", 60, 34, .now = 60}, {"b", 50, 33, .now = 40}, {"c", 50, 33, .now = 30}},
	 ALLOCATION_SHORT, "a 25, b 42, c 33", .now_pct = 129, .need_pct = 129},
	{"among equal demands the lowest id is served",
	 {{"b", 60, 50, .now = 60}, {"a", 60, 50, .now = 60}}, ALLOCATION_SHORT, "b 40, a 60",
	 .now_pct = 118, .need_pct = 118},
	{"all present demands are served: the rest goes where it lowers the risk of a miss most",
	 {{"a", 60, 50, .now = 30, .next = 54, .chance = 0.5},
	  {"b", 60, 50, .now = 30, .next = 54, .chance = 0.4}},
	 ALLOCATION_SHORT, "a 53, b 47", .now_pct = 60, .need_pct = 106},
	{"two unknown demands get equal parts",
	 {{"a", 50, 12, .now = 37, .source = POLICY_DEMAND_PROBED},
	  {"b", 50, 16, .now = 49, .source = POLICY_DEMAND_PROBED}, {"c", 50, 20, .now = 18}},
	 ALLOCATION_SHORT, "a 37, b 43, c 20", .now_pct = 116, .need_pct = 116},
	{"an estimate by habit is served before equal parts",
	 {{"a", 50, 12, .now = 31, .source = POLICY_DEMAND_BY_HABIT},
	  {"b", 50, 12, .now = 37, .source = POLICY_DEMAND_PROBED}, {"c", 50, 50, .now = 40}},
	 ALLOCATION_SHORT, "a 31, b 19, c 50", .now_pct = 138, .need_pct = 138},
	{"an estimated demand takes nothing from a measured one",
	 {{"a", 60, 20, .now = 50, .source = POLICY_DEMAND_BY_HABIT}, {"b", 50, 45, .now = 45},
	  {"c", 50, 35, .now = 35}},
	 ALLOCATION_SHORT, "a 20, b 45, c 35", .now_pct = 139, .need_pct = 139},
	{"if the GPU has room, an estimated demand is served at once",
	 {{"a", 50, 12, .now = 37, .source = POLICY_DEMAND_PROBED}, {"b", 50, 50, .now = 18}},
	 ALLOCATION_MET, "a 50, b 50", .now_pct = 68, .need_pct = 68},
	{"a held cap does not change, and counts as demand",
	 {{"a", 60, 40, .now = 50}, {"b", 60, 40, .now = 10, .held = true},
	  {"c", 60, 20, .now = 5}},
	 ALLOCATION_MET, "a 52, b 40, c 8", .now_pct = 94, .need_pct = 95},
	{"no cap is cut below its floor",
	 {{"a", 80, 40, .now = 80}, {"b", 60, 60, .now = 0, .min_cap = 20}},
	 ALLOCATION_MET, "a 80, b 20", .now_pct = 99, .need_pct = 100},
	{"no cap is cut below its floor if the GPU is too small",
	 {{"a", 90, 40, .now = 90}, {"b", 60, 60, .now = 0, .min_cap = 20}},
	 ALLOCATION_SHORT, "a 80, b 20", .now_pct = 109, .need_pct = 109},
	{"holds and floors exceed the GPU: no vGPU is below its floor",
	 {{"a", 90, 90, .now = 90, .held = true}, {"b", 60, 10, .now = 30, .min_cap = 8}},
	 ALLOCATION_SHORT, "a 90, b 10", .now_pct = 120, .need_pct = 120},
	{"whole steps, rounded up for a need",
	 {{"a", 60, 30, .now = 32}, {"b", 70, 70, .now = 21}}, ALLOCATION_MET, "a 40, b 60",
	 .step = 5, .now_pct = 60, .need_pct = 60},
	{"percent spared for a newcomer belong to no cap",
	 {{"a", 60, 40, .now = 30}, {"b", 60, 60, .now = 20}}, ALLOCATION_MET, "a 35, b 25",
	 .spared = 40, .now_pct = 90, .need_pct = 90},
	{"the spared percent may not fit",
	 {{"a", 60, 40, .now = 30}, {"b", 60, 60, .now = 20}}, ALLOCATION_SHORT, "a 19, b 21",
	 .spared = 60, .now_pct = 110, .need_pct = 110},
};
/* clang-format on */

static void test_caps_by_expected_demand(void **state)
{
	static const char *const names[] = {"kept", "met", "tight", "short"};
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct allocation_summary view;
		struct bench bench;
		struct plan plan;
		enum allocation result;

		make(&bench, row->wants, row->step ? row->step : 1);
		result = allocation_plan(&bench.params, &bench.gpu, row->spared, &plan, &view);
		if (result == row->result && strcmp(caps_of(&bench, &plan), row->caps) == 0 &&
		    fabs(view.now_pct - row->now_pct) < 1e-9 && view.need_pct == row->need_pct)
			continue;
		wrong++;
		print_message("%s: %s, %s, now %g need %d\n", row->rule, names[result],
			      caps_of(&bench, &plan), view.now_pct, view.need_pct);
	}
	assert_int_equal(wrong, 0);
}

/* --- random demands --- */

static uint64_t random_state;

static int random_int(int low, int high)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return low + (int)((random_state * UINT64_C(2685821657736338717) >> 33) %
			   (uint64_t)(high - low + 1));
}

static struct want random_want(const char *id, int cap_pct)
{
	int contract_pct = random_int(10, 70);

	return (struct want){
		.id = id,
		.contract = contract_pct,
		.cap = cap_pct < contract_pct ? cap_pct : contract_pct,
		.now = random_int(0, 10 * contract_pct) / 10.0,
		.next = random_int(0, 10 * contract_pct) / 10.0,
		.chance = random_int(0, 1) ? random_int(0, 99) / 100.0 : 0,
		.min_cap = random_int(0, 2) ? 0 : random_int(1, 10),
		.held = random_int(0, 5) == 0,
	};
}

static void check_within(const struct bench *bench, const struct plan *plan, enum allocation result,
			 int room_pct)
{
	int sum_pct = 0, least_pct = 0;

	for (int i = 0; i < bench->gpu.n_vgpus; i++) {
		const struct policy_vgpu *vgpu = &bench->vgpus[i];
		int floor = policy_floor_pct(&bench->params, &bench->gpu, &vgpu->terms);
		int cap_pct = vgpu->cap_pct + plan->delta_pct[i];

		sum_pct += cap_pct;
		least_pct += vgpu->held ? vgpu->cap_pct : floor;
		if (vgpu->held)
			assert_int_equal(plan->delta_pct[i], 0);
		else if (result != ALLOCATION_KEPT)
			assert_in_range(cap_pct, floor,
					policy_ceiling_pct(&bench->gpu, &vgpu->terms));
	}
	if (least_pct <= room_pct)
		assert_true(sum_pct <= room_pct);
	else
		assert_int_equal(sum_pct, least_pct); /* floors and holds alone exceed the GPU */
}

static void test_any_demands_fit_in_any_order(void **state)
{
	static const char *const ids[] = {"a", "b", "c", "d", "e", "f"};
	int seen[4] = {0};

	(void)state;
	for (int run = 0; run < 5000; run++) {
		int n = random_int(1, 6), spared = random_int(0, 2) ? 0 : random_int(1, 40);
		struct want wants[7] = {{.id = NULL}}, turned[7] = {{.id = NULL}};
		struct allocation_summary view, turned_view;
		struct plan plan, turned_plan;
		struct bench bench, other;
		enum allocation result;

		for (int i = 0; i < n; i++)
			wants[i] = random_want(ids[i], random_int(1, 100 / n));
		for (int i = 0; i < n; i++)
			turned[i] = wants[n - 1 - i];
		make(&bench, wants, 1);
		make(&other, turned, 1);
		result = allocation_plan(&bench.params, &bench.gpu, spared, &plan, &view);
		assert_int_equal(allocation_plan(&other.params, &other.gpu, spared, &turned_plan,
						 &turned_view),
				 result);
		for (int i = 0; i < n; i++)
			assert_int_equal(plan.delta_pct[i], turned_plan.delta_pct[n - 1 - i]);
		check_within(&bench, &plan, result, 100 - spared);
		seen[result]++;
	}
	print_message("  kept %d, met %d, tight %d, short %d\n", seen[ALLOCATION_KEPT],
		      seen[ALLOCATION_MET], seen[ALLOCATION_TIGHT], seen[ALLOCATION_SHORT]);
	for (int i = 0; i < 4; i++)
		assert_true(seen[i] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_caps_by_expected_demand),
		cmocka_unit_test(test_any_demands_fit_in_any_order),
	};
	const char *seed = getenv("GOVER_TEST_SEED");

	random_state = seed ? strtoull(seed, NULL, 10) : 20221102;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
