/* SPDX-License-Identifier: MIT */
/*
 * Allocation by expected demand: tables of caps, invariants for random demands, the first cap of a
 * newcomer with the caps that the other vGPUs give (rule 9), and the sentences of the results.
 */
#include <errno.h>

#include "policy/qos/allocation.h"
#include "policy/qos/qos.c"
#include "tests/unit/policy/test-policy.h"

/* --- vGPUs with a known demand --- */

/* With this target, a vGPU tolerates 98 % of its demand, as without frames. */
#define WANT_FPS 100

/* A vGPU whose demand is @now. In the next period it is @next with probability @chance, and @now
 * otherwise. The demand is measured by frames, so that it is known with any cap. */
struct want {
	const char *id; /* NULL ends the list */
	int contract, cap;
	double now, next, chance;
	int min_cap;
	bool held, burst;
	bool bare; /* no frames: the demand is known only with a cap above it */
	enum policy_demand_source source; /* how @now was measured or estimated */
	double load; /* with an estimated demand: the load in percent; 0: the whole cap */
};

/* Learns from one period with the demand @pct. Returns the level (interval of demands) of @pct. */
static int want_see(const struct policy_gpu *gpu, struct policy_vgpu *vgpu, double pct)
{
	vgpu->sample.load = pct / 100;
	vgpu->sample.util = 0.5;
	vgpu->sample.fps = vgpu->terms.target_fps;
	demand_learn(gpu, vgpu);
	return vgpu->track->demand.level;
}

/* Fills the track with the history of @want and a margin of 0. */
static void want_learn(const struct policy_gpu *gpu, struct policy_vgpu *vgpu,
		       const struct want *want)
{
	struct policy_demand *demand = &vgpu->track->demand;
	int next = want->chance > 0 ? want_see(gpu, vgpu, want->next) : 0;
	int now = want_see(gpu, vgpu, want->now);

	memset(demand->follows, 0, sizeof(demand->follows));
	demand->follows[now][next] = (float)(1e9 * want->chance);
	demand->follows[now][now] += (float)(1e9 * (1 - want->chance));
	demand->known = true;
	demand->margin_pct = 0;
	demand->source = want->source;
	if (want->source != POLICY_DEMAND_SEEN)
		vgpu->sample.load = (want->load > 0 ? want->load : vgpu->cap_pct) / 100;
}

static void want_init(const struct want *wants, int step_pct)
{
	struct given given[BENCH_MAX + 1] = {{0}};

	for (int i = 0; i < BENCH_MAX && wants[i].id; i++)
		given[i] = (struct given){wants[i].id,
					  wants[i].contract,
					  .cap = wants[i].cap,
					  .min_cap = wants[i].min_cap,
					  .held = wants[i].held,
					  .burst = wants[i].burst,
					  .target = wants[i].bare ? 0 : WANT_FPS};
	bench_init(given, step_pct);
	bench.policy = policy_find("qos");
	for (int i = 0; i < bench.gpu.n_vgpus; i++) {
		bench.vgpus[i].sample.fps_valid = !wants[i].bare;
		want_learn(&bench.gpu, &bench.vgpus[i], &wants[i]);
	}
}

/* Returns the planned caps as text: "a 30, b 70". */
static const char *caps_of(const struct plan *plan)
{
	static char text[200];
	int used = 0;

	text[0] = '\0';
	for (int i = 0; i < bench.gpu.n_vgpus; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%s %d",
				 i > 0 ? ", " : "", bench.vgpus[i].id,
				 bench.vgpus[i].cap_pct + plan->delta_pct[i]);
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
	{"caps that are one step short, but serve 98 %, do not change",
	 {{"a", 60, 59, .now = 60}, {"b", 50, 41, .now = 41}}, ALLOCATION_KEPT, "a 59, b 41",
	 .now_pct = 100, .need_pct = 101},
	{"caps that are two steps short do change",
	 {{"a", 70, 68, .now = 69.4}, {"b", 50, 31, .now = 29}}, ALLOCATION_MET, "a 70, b 30",
	 .now_pct = 98, .need_pct = 99},
	{"too much demand: the contracts divide the GPU",
	 {{"a", 60, 50, .now = 60}, {"b", 50, 50, .now = 50}}, ALLOCATION_SHORT, "a 55, b 45",
	 .now_pct = 108, .need_pct = 108},
	{"the unused part of a share serves whole demands, the smallest missing part first",
	 {{"a", 50, 34, .now = 50}, {"b", 50, 33, .now = 36}, {"c", 50, 33, .now = 20}},
	 ALLOCATION_SHORT, "a 44, b 36, c 20", .now_pct = 105, .need_pct = 105},
	{"among equal demands the lowest id is served",
	 {{"b", 60, 40, .now = 45}, {"a", 60, 40, .now = 45}, {"c", 60, 20, .now = 20}},
	 ALLOCATION_SHORT, "b 35, a 45, c 20", .now_pct = 110, .need_pct = 110},
	{"a demand that is served stays served",
	 {{"b", 60, 45, .now = 45}, {"a", 60, 35, .now = 45}, {"c", 60, 20, .now = 20}},
	 ALLOCATION_SHORT, "b 45, a 35, c 20", .now_pct = 110, .need_pct = 110},
	{"... but not in place of two others",
	 {{"a", 50, 25, .now = 31}, {"b", 50, 38, .now = 37}, {"c", 50, 25, .now = 31},
	  {"d", 50, 12, .now = 12}},
	 ALLOCATION_SHORT, "a 31, b 26, c 31, d 12", .now_pct = 111, .need_pct = 111},
	{"caps that are as good as the planned ones do not change",
	 {{"a", 50, 42, .now = 50}, {"b", 50, 37, .now = 36}, {"c", 50, 21, .now = 20}},
	 ALLOCATION_SHORT, "a 42, b 37, c 21", .now_pct = 105, .need_pct = 105},
	{"... unless a demand is not served",
	 {{"a", 50, 45, .now = 50}, {"b", 50, 35, .now = 36}, {"c", 50, 20, .now = 20}},
	 ALLOCATION_SHORT, "a 44, b 36, c 20", .now_pct = 105, .need_pct = 105},
	{"... or a part of the GPU belongs to no cap",
	 {{"a", 50, 42, .now = 50}, {"b", 50, 36, .now = 36}, {"c", 50, 20, .now = 20}},
	 ALLOCATION_SHORT, "a 44, b 36, c 20", .now_pct = 105, .need_pct = 105},
	{"a floor above the share counts",
	 {{"a", 80, 50, .now = 80}, {"b", 20, 50, .now = 20, .min_cap = 20},
	  {"c", 20, 50, .now = 20}},
	 ALLOCATION_SHORT, "a 64, b 20, c 16", .now_pct = 119, .need_pct = 119},
	{"without frames, a demand is served only if it stays measurable",
	 {{"a", 50, 34, .now = 50}, {"b", 50, 33, .now = 36, .bare = true},
	  {"c", 50, 33, .now = 20, .bare = true}},
	 ALLOCATION_SHORT, "a 41, b 38, c 21", .now_pct = 105, .need_pct = 108},
	{"all present demands are served: the rest goes where it lowers the risk of a miss most",
	 {{"a", 60, 50, .now = 30, .next = 54, .chance = 0.5},
	  {"b", 60, 50, .now = 30, .next = 54, .chance = 0.4}},
	 ALLOCATION_SHORT, "a 53, b 47", .now_pct = 60, .need_pct = 106},
	{"two unknown demands get their shares, and divide the rest by contract",
	 {{"a", 50, 12, .now = 37, .source = POLICY_DEMAND_PROBED},
	  {"b", 50, 16, .now = 49, .source = POLICY_DEMAND_PROBED}, {"c", 50, 20, .now = 18}},
	 ALLOCATION_SHORT, "a 37, b 45, c 18", .now_pct = 116, .need_pct = 116},
	{"an estimate by habit is served before a probe",
	 {{"a", 50, 12, .now = 40, .source = POLICY_DEMAND_BY_HABIT},
	  {"b", 50, 12, .now = 45, .source = POLICY_DEMAND_PROBED}, {"c", 50, 20, .now = 15}},
	 ALLOCATION_SHORT, "a 40, b 45, c 15", .now_pct = 113, .need_pct = 113},
	{"above the shares, an estimated demand takes nothing from a measured one",
	 {{"a", 50, 20, .now = 48, .source = POLICY_DEMAND_BY_HABIT}, {"b", 50, 40, .now = 40},
	  {"c", 50, 20, .now = 15}},
	 ALLOCATION_SHORT, "a 45, b 40, c 15", .now_pct = 104, .need_pct = 104},
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
	{"a cap is rounded up, so that it serves the whole demand",
	 {{"a", 60, 29, .now = 30.0005}, {"b", 48, 48, .now = 10}}, ALLOCATION_MET, "a 33, b 48",
	 .now_pct = 40, .need_pct = 41},
	{"a probability above 1 % is served",
	 {{"a", 60, 30, .now = 30, .next = 50, .chance = 0.012}, {"b", 48, 48, .now = 10}},
	 ALLOCATION_MET, "a 52, b 48", .now_pct = 40, .need_pct = 60},
	{"a sufficient cap does not grow while others are raised",
	 {{"a", 60, 30, .now = 30}, {"b", 70, 20, .now = 40}}, ALLOCATION_MET, "a 30, b 42",
	 .now_pct = 70, .need_pct = 70},
	{"percent spared for a newcomer belong to no cap",
	 {{"a", 60, 40, .now = 30}, {"b", 60, 60, .now = 20}}, ALLOCATION_MET, "a 35, b 25",
	 .spared = 40, .now_pct = 90, .need_pct = 90},
	{"the spared percent may not fit",
	 {{"a", 60, 40, .now = 30}, {"b", 60, 60, .now = 20}}, ALLOCATION_SHORT, "a 20, b 20",
	 .spared = 60, .now_pct = 110, .need_pct = 110},
};
/* The expected demands exceed the GPU, so the result is ALLOCATION_SHORT. */
static const struct {
	const char *rule;
	struct want wants[5];
	const char *caps;
} scarce_rows[] = {
	{"an unknown demand is served before a known risk",
	 {{"a", 50, 12, .now = 37, .source = POLICY_DEMAND_PROBED},
	  {"b", 60, 30, .now = 30, .next = 40, .chance = 0.5}, {"c", 53, 33, .now = 33}},
	 "a 37, b 30, c 33"},
	{"an unknown demand is served before a larger demand on the same level",
	 {{"a", 15, 12, .now = 15, .source = POLICY_DEMAND_PROBED},
	  {"b", 60, 30, .now = 30, .next = 34, .chance = 0.5}, {"c", 53, 53, .now = 53}},
	 "a 15, b 32, c 53"},
	{"a vGPU with an unknown demand gets no more than its share from measured demands",
	 {{"a", 50, 41, .now = 50, .load = 40.2, .source = POLICY_DEMAND_PROBED},
	  {"b", 60, 59, .now = 60}},
	 "a 45, b 55"},
	{"of two estimates by habit, the smaller raise is made first",
	 {{"a", 50, 12, .now = 45, .source = POLICY_DEMAND_BY_HABIT},
	  {"b", 50, 12, .now = 40, .source = POLICY_DEMAND_BY_HABIT}, {"c", 50, 16, .now = 16}},
	 "a 44, b 40, c 16"},
	{"in any order of the ids",
	 {{"b", 50, 12, .now = 45, .source = POLICY_DEMAND_BY_HABIT},
	  {"a", 50, 12, .now = 40, .source = POLICY_DEMAND_BY_HABIT}, {"c", 50, 16, .now = 16}},
	 "b 44, a 40, c 16"},
	{"of two equal estimates by habit, that of the lowest id is served",
	 {{"b", 50, 12, .now = 45, .source = POLICY_DEMAND_BY_HABIT},
	  {"a", 50, 12, .now = 45, .source = POLICY_DEMAND_BY_HABIT}, {"c", 50, 16, .now = 16}},
	 "b 39, a 45, c 16"},
	{"the risk of an idle vGPU is its probability; the rest is divided by contract",
	 {{"a", 60, 30, .now = 30, .next = 54, .chance = 0.5},
	  {"b", 60, 2, .now = 1, .next = 22, .chance = 0.4}, {"c", 36, 36, .now = 36}},
	 "a 58, b 6, c 36"},
	{"a present demand is served before a next one",
	 {{"a", 60, 20, .now = 60, .next = 20, .chance = 0.5},
	  {"b", 60, 30, .now = 30, .next = 54, .chance = 0.5}, {"c", 42, 42, .now = 42}},
	 "a 41, b 30, c 29"},
	{"a raise for a risk may use all that is left",
	 {{"a", 60, 50, .now = 10}, {"b", 60, 30, .now = 30, .next = 54, .chance = 0.5},
	  {"c", 31, 31, .now = 31}, {"d", 60, 5, .now = 4, .next = 40, .chance = 0.1}},
	 "a 11, b 53, c 31, d 5"},
	{"equal risks: the lowest id",
	 {{"b", 60, 30, .now = 30, .next = 54, .chance = 0.5},
	  {"a", 60, 30, .now = 30, .next = 54, .chance = 0.5}},
	 "b 40, a 60"},
	{"equal risks: the one that is served stays served",
	 {{"b", 60, 55, .now = 30, .next = 54, .chance = 0.5},
	  {"a", 60, 30, .now = 30, .next = 54, .chance = 0.5}},
	 "b 60, a 40"},
	{"equal caps with unknown demands grow together, also above the estimates",
	 {{"a", 50, 12, .now = 14, .source = POLICY_DEMAND_PROBED},
	  {"b", 50, 12, .now = 14, .source = POLICY_DEMAND_PROBED}, {"c", 55, 55, .now = 55}},
	 "a 23, b 22, c 55"},
	{"the rest is too small for the risk of c: it stays with the present caps",
	 {{"a", 60, 40, .now = 10}, {"b", 60, 40, .now = 10},
	  {"c", 90, 20, .now = 60, .next = 85, .chance = 0.5}},
	 "a 20, b 20, c 60"},
};
/* clang-format on */

TEST(test_scarce_caps)
{
	for (size_t i = 0; i < sizeof(scarce_rows) / sizeof(scarce_rows[0]); i++) {
		struct allocation_summary view;
		struct plan plan;

		print_message("  %s\n", scarce_rows[i].rule);
		want_init(scarce_rows[i].wants, 1);
		assert_int_equal(allocation_plan(&bench.params, &bench.gpu, 0, &plan, &view),
				 ALLOCATION_SHORT);
		assert_string_equal(caps_of(&plan), scarce_rows[i].caps);
	}
}

/* The vGPU whose cap grows most explains a decision. The needs are stored for the next period. */
TEST(test_the_summary_names_the_largest_raise)
{
	static const struct {
		struct want wants[4];
		const char *largest; /* NULL: no cap grows */
		int need_pct;	     /* of that vGPU */
	} raises[] = {
		{{{"a", 60, 30, .now = 40}, {"b", 60, 20, .now = 40}, {"c", 20, 20, .now = 2}},
		 "b",
		 40},
		{{{"a", 60, 20, .now = 40}, {"b", 60, 30, .now = 40}, {"c", 20, 20, .now = 2}},
		 "a",
		 40},
		{{{"b", 60, 20, .now = 40}, {"a", 60, 20, .now = 40}, {"c", 20, 20, .now = 2}},
		 "a",
		 40},
		{{{"a", 31, 30, .now = 31}, {"b", 20, 20, .now = 10}}, "a", 31},
		{{{"a", 60, 40, .now = 40}, {"b", 60, 40, .now = 10}}, NULL, 0},
		/* a cap above its contract is cut */
		{{{"a", 30, 40, .now = 10}, {"b", 60, 40, .now = 10}}, NULL, 0},
	};

	for (size_t i = 0; i < sizeof(raises) / sizeof(raises[0]); i++) {
		struct allocation_summary view;
		double noted_pct = 0;
		struct plan plan;

		want_init(raises[i].wants, 1);
		(void)allocation_plan(&bench.params, &bench.gpu, 0, &plan, &view);
		if (raises[i].largest) {
			assert_int_equal(view.largest, bench_index(raises[i].largest));
			assert_int_equal(view.largest_pct, raises[i].need_pct);
		} else {
			assert_int_equal(view.largest, -1);
		}
		for (int j = 0; j < bench.gpu.n_vgpus; j++)
			noted_pct += (double)bench.tracks[j].demand.need_pct;
		assert_int_equal((int)noted_pct, view.need_pct);
	}
}

TEST(test_caps_by_expected_demand)
{
	static const char *const names[] = {"kept", "met", "tight", "short"};
	int wrong = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct allocation_summary view;
		struct plan plan;
		enum allocation result;

		want_init(row->wants, row->step ? row->step : 1);
		result = allocation_plan(&bench.params, &bench.gpu, row->spared, &plan, &view);
		if (result == row->result && strcmp(caps_of(&plan), row->caps) == 0 &&
		    fabs(view.now_pct - row->now_pct) < 1e-9 && view.need_pct == row->need_pct)
			continue;
		wrong++;
		print_message("%s: %s, %s, now %g need %d\n", row->rule, names[result],
			      caps_of(&plan), view.now_pct, view.need_pct);
	}
	assert_int_equal(wrong, 0);
}

/* --- random demands --- */

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

static void check_within(const struct plan *plan, enum allocation result, int room_pct)
{
	int sum_pct = 0, least_pct = 0;

	for (int i = 0; i < bench.gpu.n_vgpus; i++) {
		const struct policy_vgpu *vgpu = &bench.vgpus[i];
		int floor = policy_floor_pct(&bench.params, &bench.gpu, &vgpu->terms);
		int cap_pct = vgpu->cap_pct + plan->delta_pct[i];

		sum_pct += cap_pct;
		least_pct += vgpu->held ? vgpu->cap_pct : floor;
		if (vgpu->held)
			assert_int_equal(plan->delta_pct[i], 0);
		else if (result != ALLOCATION_KEPT)
			assert_in_range(cap_pct, floor,
					policy_ceiling_pct(&bench.gpu, &vgpu->terms));
	}
	if (least_pct <= room_pct)
		assert_true(sum_pct <= room_pct);
	else
		assert_int_equal(sum_pct, least_pct); /* floors and holds alone exceed the GPU */
}

TEST(test_any_demands_fit_in_any_order)
{
	static const char *const ids[] = {"a", "b", "c", "d", "e", "f"};
	int seen[4] = {0};

	for (int run = 0; run < 5000; run++) {
		int n = random_int(1, 6), spared = random_int(0, 2) ? 0 : random_int(1, 40);
		struct want wants[7] = {{.id = NULL}}, turned[7] = {{.id = NULL}};
		struct allocation_summary view, turned_view;
		struct plan plan, turned_plan;
		enum allocation result;

		for (int i = 0; i < n; i++)
			wants[i] = random_want(ids[i], random_int(1, 100 / n));
		for (int i = 0; i < n; i++)
			turned[i] = wants[n - 1 - i];
		want_init(turned, 1);
		result = allocation_plan(&bench.params, &bench.gpu, spared, &turned_plan,
					 &turned_view);
		want_init(wants, 1);
		assert_int_equal(allocation_plan(&bench.params, &bench.gpu, spared, &plan, &view),
				 result);
		for (int i = 0; i < n; i++)
			assert_int_equal(plan.delta_pct[i], turned_plan.delta_pct[n - 1 - i]);
		check_within(&plan, result, 100 - spared);
		seen[result]++;
	}
	print_message("  kept %d, met %d, tight %d, short %d\n", seen[ALLOCATION_KEPT],
		      seen[ALLOCATION_MET], seen[ALLOCATION_TIGHT], seen[ALLOCATION_SHORT]);
	for (int i = 0; i < 4; i++)
		assert_true(seen[i] > 0);
}

/* With guarantees, b has what it wants although its cap is smaller. */
TEST(test_spare_time_may_serve_a_demand)
{
	static const struct {
		const char *rule;
		enum policy_sharing sharing;
		bool is_short;
		const char *caps;
	} served[] = {
		{"a hard cap limits b", POLICY_SHARING_HARD, false, "a 44, b 36, c 20"},
		{"b has its target", POLICY_SHARING_GUARANTEE, false, "a 45, b 35, c 20"},
		{"b misses its target", POLICY_SHARING_GUARANTEE, true, "a 44, b 36, c 20"},
	};
	static const struct want wants[] = {
		{"a", 50, 45, .now = 50}, {"b", 50, 35, .now = 36}, {"c", 50, 20, .now = 20}, {0}};

	for (size_t i = 0; i < sizeof(served) / sizeof(served[0]); i++) {
		struct allocation_summary view;
		struct plan plan;

		print_message("  %s\n", served[i].rule);
		want_init(wants, 1);
		bench.gpu.sharing = served[i].sharing;
		bench.vgpus[1].short_of_target = served[i].is_short;
		(void)allocation_plan(&bench.params, &bench.gpu, 0, &plan, &view);
		assert_string_equal(caps_of(&plan), served[i].caps);
	}
}

/* Without holds and floors, the share of a vGPU is its part of all contracts. */
TEST(test_no_vgpu_gets_less_than_its_entitlement)
{
	static const char *const ids[] = {"a", "b", "c", "d", "e", "f"};
	int scarce = 0;

	for (int run = 0; run < 5000; run++) {
		int n = random_int(2, 6), contracts_pct = 0;
		struct want wants[7] = {{.id = NULL}};
		struct allocation_summary view;
		struct plan plan;

		for (int i = 0; i < n; i++) {
			wants[i] = random_want(ids[i], random_int(1, 100 / n));
			wants[i].min_cap = 0;
			wants[i].held = false;
			contracts_pct += wants[i].contract;
		}
		want_init(wants, 1);
		scarce += allocation_plan(&bench.params, &bench.gpu, 0, &plan, &view) ==
			  ALLOCATION_SHORT;
		for (int i = 0; i < n; i++) {
			int cap_pct = wants[i].cap + plan.delta_pct[i];
			double entitled_pct = fmin(0.98 * wants[i].now,
						   100.0 * wants[i].contract / contracts_pct);

			assert_true(cap_pct > entitled_pct - 1);
		}
	}
	print_message("  %d of 5000 GPUs are too small\n", scarce);
	assert_true(scarce > 0);
}

/* --- newcomers --- */

/* Each vGPU wants @now in this and in the next period. */
struct newcomer {
	const char *rule;
	struct want vgpus[4];
	int contract, min_cap;
	int cap; /* or -ENOSPC */
	const char *decision, *numbers;
	int step; /* 0: steps of 1 % */
	bool migrates;
};

static const struct newcomer newcomers[] = {
	{"a newcomer gets the part of the GPU that no other vGPU needs",
	 .vgpus = {{"a", 50, .cap = 50, .now = 20}, {"b", 50, .cap = 50, .now = 20}},
	 .contract = 80, .cap = 60, .decision = "fund: a 50->20, b 50->20",
	 .numbers = "contract_pct=80 funded_pct=60 free_pct=0 given_pct=60 givers=2 "
		    "min_newcomer_pct=10"},
	{"a newcomer gets at most its contract",
	 .vgpus = {{"a", 50, .cap = 50, .now = 20}, {"b", 50, .cap = 50, .now = 20}},
	 .contract = 40, .cap = 40, .decision = "fund: a 50->30, b 50->30",
	 .numbers = "contract_pct=40 funded_pct=40 free_pct=0 given_pct=40 givers=2 "
		    "min_newcomer_pct=10"},
	{"the free pool gives first",
	 .vgpus = {{"a", 50, .cap = 20, .now = 20}, {"b", 50, .cap = 50, .now = 20}},
	 .contract = 40, .cap = 40, .decision = "fund from b: b 50->40",
	 .numbers = "contract_pct=40 funded_pct=40 free_pct=30 given_pct=10 givers=1 "
		    "min_newcomer_pct=10"},
	{"a sufficient free pool changes no cap",
	 .vgpus = {{"a", 50, .cap = 25, .now = 20}, {"b", 50, .cap = 25, .now = 20}},
	 .contract = 50, .cap = 50, .decision = "fund",
	 .numbers = "contract_pct=50 funded_pct=50 free_pct=50 given_pct=0 givers=0 "
		    "min_newcomer_pct=10"},
	{"funding raises the cap of no other vGPU",
	 .vgpus = {{"a", 50, .cap = 10, .now = 20}, {"b", 50, .cap = 50, .now = 20}},
	 .contract = 60, .cap = 60, .decision = "fund from b: b 50->20",
	 .numbers = "contract_pct=60 funded_pct=60 free_pct=40 given_pct=30 givers=1 "
		    "min_newcomer_pct=10"},
	{"a newcomer gets whole steps",
	 .vgpus = {{"a", 49, .cap = 49, .now = 20}, {"b", 49, .cap = 49, .now = 20}},
	 .contract = 80, .cap = 56, .decision = "fund: a 49->21, b 49->21", .step = 7,
	 .numbers = "contract_pct=80 funded_pct=56 free_pct=2 given_pct=56 givers=2 "
		    "min_newcomer_pct=10"},
	{"a newcomer gets at least min_newcomer_pct",
	 .vgpus = {{"a", 50, .cap = 50, .now = 45}, {"b", 50, .cap = 50, .now = 45}},
	 .contract = 50, .cap = 10, .decision = "fund: a 50->45, b 50->45",
	 .numbers = "contract_pct=50 funded_pct=10 free_pct=0 given_pct=10 givers=2 "
		    "min_newcomer_pct=10"},
	{"with less than min_newcomer_pct, no newcomer is accepted",
	 .vgpus = {{"a", 50, .cap = 50, .now = 45}, {"b", 52, .cap = 50, .now = 46}},
	 .contract = 50, .cap = -ENOSPC},
	{"a newcomer gets at least its own floor",
	 .vgpus = {{"a", 50, .cap = 50, .now = 40}, {"b", 50, .cap = 50, .now = 30}},
	 .contract = 50, .min_cap = 30, .cap = 30, .decision = "fund: a 50->40, b 50->30",
	 .numbers = "contract_pct=50 funded_pct=30 free_pct=0 given_pct=30 givers=2 "
		    "min_newcomer_pct=10"},
	{"with less than its own floor, no newcomer is accepted",
	 .vgpus = {{"a", 50, .cap = 50, .now = 40}, {"b", 50, .cap = 50, .now = 30}},
	 .contract = 50, .min_cap = 31, .cap = -ENOSPC},
	{"a held vGPU needs its cap",
	 .vgpus = {{"a", 50, .cap = 50, .now = 20, .held = true}, {"b", 50, .cap = 50, .now = 20}},
	 .contract = 50, .cap = 30, .decision = "fund from b: b 50->20",
	 .numbers = "contract_pct=50 funded_pct=30 free_pct=0 given_pct=30 givers=1 "
		    "min_newcomer_pct=10"},
	{"if named vGPUs are migrated, unused cap is sufficient",
	 .vgpus = {{"a", 50, .cap = 50, .now = 45}, {"b", 50, .cap = 50, .now = 48}},
	 .contract = 50, .cap = 50, .decision = "fund: a 50->25, b 50->25", .migrates = true,
	 .numbers = "contract_pct=50 funded_pct=50 free_pct=0 given_pct=50 givers=2 "
		    "min_newcomer_pct=10"},
};

TEST(test_the_first_cap_of_a_newcomer)
{
	for (size_t i = 0; i < sizeof(newcomers) / sizeof(newcomers[0]); i++) {
		const struct newcomer *row = &newcomers[i];
		struct policy_terms terms = {
			.initial_cap_pct = row->contract, .min_cap_pct = row->min_cap, .weight = 1};
		int cap;

		want_init(row->vgpus, row->step ? row->step : 1);
		bench.gpu.migrates = row->migrates;
		bench.gpu.moving.answered = row->migrates;
		cap = bench.policy->fund(&bench.params, &bench.gpu, &terms, &bench.out);
		if (cap != row->cap)
			fail_msg("%s: %d", row->rule, cap);
		if (cap < 0) {
			assert_int_equal(bench.out.n_decisions, 0);
			continue;
		}
		if (strcmp(bench_text(), row->decision) != 0)
			fail_msg("%s: %s", row->rule, bench_text());
		bench_check_numbers(&bench.out.decisions[0], row->numbers);
		bench_check_wants();
	}
}

static int prepare(void)
{
	random_begin(20221102);
	return 0;
}

FIXTURE_ONCE(prepare, NULL)

/* --- sentences --- */

static const struct {
	struct want wants[3];
	const char *vgpu; /* the vGPU with the largest raise; NULL: no cap is raised */
	const char *why, *numbers;
} sentences[] = {
	{{{"a", 60, .cap = 30, .now = 40}, {"b", 70, .cap = 70, .now = 20}},
	 "a",
	 "a wants 40.0 % of the GPU now and may want up to 40 % in the next period; all vGPUs "
	 "together may want 60 %: b 70 -> 58 %, a 30 -> 42 %",
	 "demand_pct=40 need_pct=40 margin_pct=0 u_pct=50 cap_pct=30 all_now_pct=60 "
	 "all_need_pct=60 lent_back_pct=12"},
	{{{"a", 50, .cap = 30, .now = 50}, {"b", 51, .cap = 51, .now = 51}},
	 "a",
	 "a wants 50.0 % of the GPU now and needs a cap of 49 % in the next period; all vGPUs "
	 "together may want 99 % (without a margin): a 30 -> 49 %",
	 "demand_pct=50 need_pct=49 margin_pct=0 u_pct=50 cap_pct=30 all_now_pct=99 "
	 "all_need_pct=99 lent_back_pct=0"},
	{{{"a", 30, .cap = 40, .now = 10}, {"b", 60, .cap = 40, .now = 10}},
	 NULL,
	 "all vGPUs together may want 20 %: a 40 -> 30 %",
	 "all_now_pct=20 all_need_pct=20 lent_back_pct=10"},
};

TEST(test_the_sentence_of_an_allocation)
{
	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++) {
		struct allocation_summary summary;
		struct policy_decision *decision;
		enum allocation result;
		struct plan plan;

		want_init(sentences[i].wants, 1);
		result = allocation_plan(&bench.params, &bench.gpu, 0, &plan, &summary);
		decision = plan_decide(&plan, &bench.gpu, POLICY_SHARE, &bench.out);
		explain_allocation(&bench.gpu, &bench.out, result, &summary, decision);
		bench_check_said(decision, sentences[i].why, sentences[i].numbers);
		assert_int_equal(decision->vgpu,
				 sentences[i].vgpu ? bench_index(sentences[i].vgpu) : -1);
	}
}

TEST(test_the_sentence_of_a_risky_sale)
{
	static const struct profit profit = {
		.price = 0.5,
		.misfit = 0.25,
		.overload = 0.1,
		.risk = 0.03,
		.broken_s = 12,
		.penalty = 0.12,
		.expected = 0.255,
		.trust = 0.1,
	};
	static const struct fund fund = {.cap_pct = 30};
	struct policy_decision *decision;
	struct plan none;

	bench_init((const struct given[]){{"a", 50, .cap = 50}, {.id = NULL}}, 1);
	bench.gpu.flavors[0].initial_cap_pct = 50;
	bench.gpu.total_load = 0.4;
	bench.gpu.broken_s = 2;
	plan_init(&none, &bench.gpu);
	decision = plan_decide(&none, &bench.gpu, POLICY_OFFER, &bench.out);
	explain_profit(&bench.params, &bench.gpu, &bench.gpu.flavors[0], &fund, &profit, decision);
	bench_check_said(decision,
			 "One more contract of 50 % earns 0.5 per hour and fits with a probability "
			 "of 75.0 %; broken time and migrations are expected to cost 0.12: the "
			 "expected profit is 0.255; 3 % of the time of all vGPUs "
			 "may be broken (limit 1.5 %). 30 % can be funded now",
			 "flavor_cap_pct=50 fundable_pct=30 min_newcomer_pct=10 total_load_pct=40 "
			 "price_per_hour=0.5 misfit_pct=25 overload_risk_pct=10 broken_risk_pct=3 "
			 "sale_risk_pct=1.5 broken_last_hour_s=2 "
			 "broken_s=12 penalty_per_hour=0.12 profit_per_hour=0.255");
}
