/* SPDX-License-Identifier: MIT */
/* The sentence and the numbers of every kind of decision. */
#include "tests/unit/policy/test-policy.h"

#include "policy/explain.h"

#define OVER .util = 0.972, .over_run = 2

static const struct policy_terms newcomer = {.initial_cap_pct = 30, .weight = 1};

static void step(void)
{
	bench_step();
}

static void step_greedy(void)
{
	bench.params.steal_fraction = 0.9;
	bench_step();
}

static void step_calm(void)
{
	bench.gpu.selling = true;
	bench.gpu.flavors[0] = newcomer;
	bench.gpu.calm_run = 2;
	bench_step();
}

static void fund(void)
{
	assert_true(policy_fund(&bench.params, &bench.gpu, &newcomer, &bench.out) > 0);
}

static void give_back(void)
{
	policy_return(&bench.params, &bench.gpu, &bench.out);
}

static void fit(void)
{
	(void)policy_fit(&bench.params, &bench.gpu, &bench.out);
}

static void hold_first_at_40(void)
{
	int largest_pct;

	assert_int_equal(policy_hold(&bench.params, &bench.gpu, 0, 40, &bench.out, &largest_pct),
			 0);
}

static void set_first_to_30_to_40(void)
{
	static const struct policy_terms terms = {.initial_cap_pct = 40, .min_cap_pct = 30};
	int largest_pct;

	assert_int_equal(policy_set(&bench.params, &bench.gpu, 0, &terms, &bench.out, &largest_pct),
			 0);
}

static void step_as_none(void)
{
	bench.policy = policy_find("none");
	bench_step();
}

static void step_as_static(void)
{
	bench.policy = policy_find("static");
	bench_step();
}

static void step_as_credit(void)
{
	bench.policy = policy_find("credit");
	bench_step();
}

static void step_as_fair(void)
{
	bench.policy = policy_find("fair");
	bench_step();
}

static void sell_as_none(void)
{
	bench.gpu.selling = true;
	bench.gpu.flavors[0] = newcomer;
	step_as_none();
}

static void sell_as_static(void)
{
	bench.gpu.selling = true;
	bench.gpu.flavors[0] = newcomer;
	step_as_static();
}

static void fund_as_none(void)
{
	assert_true(policy_find("none")->fund(&bench.params, &bench.gpu, &newcomer, &bench.out) >
		    0);
}

static void fund_as_credit(void)
{
	assert_true(policy_find("credit")->fund(&bench.params, &bench.gpu, &newcomer, &bench.out) >
		    0);
}

static void fund_as_fair(void)
{
	assert_true(policy_find("fair")->fund(&bench.params, &bench.gpu, &newcomer, &bench.out) >
		    0);
}

static void fund_as_static(void)
{
	assert_true(policy_find("static")->fund(&bench.params, &bench.gpu, &newcomer, &bench.out) >
		    0);
}

struct row {
	void (*decide)(void);
	struct given vgpus[9];
	const char *why;
	const char *numbers; /* "name=value " for each number, with one decimal */
};

static const struct row rows[] = {
	{step,
	 /* a floor that allows the whole share is no limit */
	 .vgpus = {{"vgpu1", 50, .cap = 50, .util = 0.4, .min_cap = 44},
		   {"vgpu2", 30, .cap = 30, .util = 0.5},
		   {"vgpu3", 40, .cap = 20, OVER}},
	 .why = "vgpu3 uses 97.2 % of its 20 % cap and has been above the threshold of 95 % for 3 "
		"periods; 1/5 of the 30.0 % unused by vgpu1 moves: vgpu1 50 -> 44 %, vgpu3 20 -> "
		"26 %",
	 .numbers = "u_pct=97.2 cap_pct=20 overload_pct=95 above_periods=3 donor_u_pct=40 "
		    "donor_cap_pct=50 unused_pct=30 steal_fraction=0.2 stolen_pct=6"},
	{step,
	 .vgpus = {{"vgpu1", 80, .cap = 80, .util = 0.4},
		   {"vgpu3", 40, .cap = 20, .util = 0.9, .target = 60, .fps = 41.2}},
	 .why = "vgpu3 reaches 41.2 of its target of 60 FPS while it uses 90.0 % of its 20 % cap "
		"(it is GPU-bound at 70 % or more); 1/5 of the 48.0 % unused by vgpu1 moves: vgpu1 "
		"80 -> 71 %, vgpu3 20 -> 29 %",
	 .numbers = "u_pct=90 cap_pct=20 overload_pct=95 fps=41.2 target_fps=60 e=0.3133 "
		    "qos_gpu_bound_pct=70 donor_u_pct=40 donor_cap_pct=80 unused_pct=48 "
		    "steal_fraction=0.2 stolen_pct=9"},
	{step,
	 .vgpus = {{"vgpu1", 80, .cap = 80, .util = 0.4},
		   {"vgpu3", 40, .cap = 20, .util = 0.9, .target = 12500, .fps = 41.2, .work = 1}},
	 .why = "vgpu3 reaches 41.2 of its target of 12500 units/s while it uses 90.0 % of its 20 "
		"% cap (it is GPU-bound at 70 % or more); 1/5 of the 48.0 % unused by vgpu1 moves: "
		"vgpu1 80 -> 71 %, vgpu3 20 -> 29 %",
	 .numbers = "u_pct=90 cap_pct=20 overload_pct=95 rate=41.2 target_rate=1.25e+04 e=0.9967 "
		    "qos_gpu_bound_pct=70 donor_u_pct=40 donor_cap_pct=80 unused_pct=48 "
		    "steal_fraction=0.2 stolen_pct=9"},
	{step,
	 .vgpus = {{"vgpu1", 80, .cap = 80, .util = 0.4, .min_cap = 78},
		   {"vgpu3", 40, .cap = 20, OVER}},
	 .why = "vgpu3 uses 97.2 % of its 20 % cap and has been above the threshold of 95 % for 3 "
		"periods; 1/5 of the 48.0 % unused by vgpu1 moves, limited by the donor's floor: "
		"vgpu1 80 -> 78 %, vgpu3 20 -> 22 %",
	 .numbers = "u_pct=97.2 cap_pct=20 overload_pct=95 above_periods=3 donor_u_pct=40 "
		    "donor_cap_pct=80 unused_pct=48 steal_fraction=0.2 stolen_pct=2"},
	{step, .vgpus = {{"vgpu1", 80, .cap = 80, .util = 0.4}, {"vgpu3", 21, .cap = 20, OVER}},
	 .why = "vgpu3 uses 97.2 % of its 20 % cap and has been above the threshold of 95 % for 3 "
		"periods; 1/5 of the 48.0 % unused by vgpu1 moves, limited by the receiver's "
		"ceiling: vgpu1 80 -> 79 %, vgpu3 20 -> 21 %",
	 .numbers = "u_pct=97.2 cap_pct=20 overload_pct=95 above_periods=3 donor_u_pct=40 "
		    "donor_cap_pct=80 unused_pct=48 steal_fraction=0.2 stolen_pct=1"},
	{step_greedy,
	 .vgpus = {{"vgpu1", 80, .cap = 80, .util = 0.8}, {"vgpu3", 40, .cap = 20, OVER}},
	 .why = "vgpu3 uses 97.2 % of its 20 % cap and has been above the threshold of 95 % for 3 "
		"periods; 0.9 of the 16.0 % unused by vgpu1 moves, limited so that the donor stays "
		"below the threshold: vgpu1 80 -> 68 %, vgpu3 20 -> 32 %",
	 .numbers = "u_pct=97.2 cap_pct=20 overload_pct=95 above_periods=3 donor_u_pct=80 "
		    "donor_cap_pct=80 unused_pct=16 steal_fraction=0.9 stolen_pct=12"},
	{step, .vgpus = {{"vgpu1", 20, .cap = 20, .util = 0.85}, {"vgpu3", 90, .cap = 80, OVER}},
	 .why = "vgpu3 uses 97.2 % of its 80 % cap and has been above the threshold of 95 % for 3 "
		"periods; 1/5 of the 3.0 % unused by vgpu1 moves, rounded up to one step: vgpu1 20 "
		"-> 19 %, vgpu3 80 -> 81 %",
	 .numbers = "u_pct=97.2 cap_pct=80 overload_pct=95 above_periods=3 donor_u_pct=85 "
		    "donor_cap_pct=20 unused_pct=3 steal_fraction=0.2 stolen_pct=1"},
	{step, .vgpus = {{"vgpu1", 99, .cap = 99, .util = 0.4}, {"vgpu3", 40, .cap = 1, .util = 1}},
	 .why = "vgpu3 is overloaded at its floor: it uses 100.0 % of its 1 % cap (threshold 95 "
		"%); 1/5 of the 59.4 % unused by vgpu1 moves: vgpu1 99 -> 88 %, vgpu3 1 -> 12 %",
	 .numbers = "u_pct=100 cap_pct=1 overload_pct=95 donor_u_pct=40 donor_cap_pct=99 "
		    "unused_pct=59.4 steal_fraction=0.2 stolen_pct=11"},
	{step, .vgpus = {{"vgpu1", 70, .cap = 70, .util = 0.4}, {"vgpu3", 40, .cap = 20, OVER}},
	 .why = "vgpu3 uses 97.2 % of its 20 % cap and has been above the threshold of 95 % for 3 "
		"periods; the free pool has 10 % of the GPU and gives 10 %: vgpu3 20 -> 30 %",
	 .numbers = "u_pct=97.2 cap_pct=20 overload_pct=95 above_periods=3 receivers=1 "
		    "free_pct=10 given_pct=10"},
	{step,
	 .vgpus = {{"vgpu1", 60, .cap = 60, .util = 0.4},
		   {"vgpu2", 40, .cap = 20, OVER},
		   {"vgpu3", 20, .cap = 10, OVER}},
	 .why = "2 vGPUs are overloaded; the free pool has 10 % of the GPU and gives 10 % in "
		"proportion to the room below the ceiling of each: vgpu2 20 -> 27 %, vgpu3 10 -> "
		"13 %",
	 .numbers = "receivers=2 free_pct=10 given_pct=10"},
	{step,
	 .vgpus = {{"vgpu1", 60, .cap = 60, .util = 0.4},
		   {"vgpu2", 40, .cap = 30, OVER},
		   {"vgpu3", 20, .cap = 10, OVER}},
	 .why = "2 vGPUs are overloaded at the same time, so no cap is moved between them; "
		"migrating vgpu2 would relieve the GPU most: it uses 29.2 % of the GPU (all "
		"vGPUs: 62.9 %)",
	 .numbers = "overloaded=2 load_pct=29.16 u_pct=97.2 cap_pct=30 total_load_pct=62.88"},
	{step_calm,
	 .vgpus = {{"vgpu1", 60, .cap = 60, .util = 0.4}, {"vgpu2", 40, .cap = 30, .util = 0.2}},
	 .why = "No vGPU needed help for 3 periods and all vGPUs use 30.0 % of the GPU (threshold "
		"60 %): a contract of 30 % can be sold; 30 % can be funded now, of which other "
		"vGPUs give 20 %",
	 .numbers = "calm_periods=3 total_load_pct=30 lowload_pct=60 flavor_cap_pct=30 "
		    "fundable_pct=30 min_newcomer_pct=10 free_pct=10 given_pct=20"},
	{fund,
	 .vgpus = {{"vgpu1", 60, .cap = 60, .peak = 0.4}, {"vgpu2", 40, .cap = 30, .peak = 0.1}},
	 .why = "A newcomer with a contract of 30 % gets 30 %, of which other vGPUs give 20 %: "
		"each at most 0.8 of the cap that it did not use in the last 30 periods: vgpu1 60 "
		"-> 50 %, vgpu2 30 -> 20 %",
	 .numbers = "contract_pct=30 funded_pct=30 free_pct=10 given_pct=20 givers=2 "
		    "fund_fraction=0.8 fund_window_periods=30 min_newcomer_pct=10"},
	{fund, .vgpus = {{"vgpu1", 60, .cap = 60, .peak = 0.4}},
	 .why = "A newcomer with a contract of 30 % gets 30 %, all of it from the free pool",
	 .numbers = "contract_pct=30 funded_pct=30 free_pct=40 given_pct=0 givers=0 "
		    "fund_fraction=0.8 fund_window_periods=30 min_newcomer_pct=10"},
	{give_back, .vgpus = {{"vgpu1", 60, .cap = 40}, {"vgpu2", 40, .cap = 35}},
	 .why = "The free pool has 25 % of the GPU; 25 % go to vGPUs below their contract, in "
		"proportion to the room below each contract: vgpu1 40 -> 60 %, vgpu2 35 -> 40 %",
	 .numbers = "free_pct=25 given_pct=25"},
	{fit,
	 .vgpus = {{"vgpu1", 90, .cap = 90, .held = true}, {"vgpu2", 40, .cap = 40, .min_cap = 20}},
	 .why = "All caps add up to 130 %; 20 % are cut, first unused cap, then all caps in "
		"proportion (floors and holds prevent a further cut of 10 %): vgpu2 40 -> 20 %",
	 .numbers = "sum_cap_pct=130 over_pct=30 cut_pct=20 left_pct=10"},
	{fit,
	 .vgpus = {{"v1", 20, .cap = 20},
		   {"v2", 20, .cap = 20},
		   {"v3", 20, .cap = 20},
		   {"v4", 20, .cap = 20},
		   {"v5", 20, .cap = 20},
		   {"v6", 20, .cap = 20},
		   {"v7", 20, .cap = 20},
		   {"v8", 20, .cap = 20}},
	 .why = "All caps add up to 160 %; 60 % are cut, first unused cap, then all caps in "
		"proportion: v1 20 -> 12 %, v2 20 -> 12 %, v3 20 -> 12 %, v4 20 -> 12 %, v5 20 -> "
		"13 %, v6 20 -> 13 % and 2 more",
	 .numbers = "sum_cap_pct=160 over_pct=60 cut_pct=60 left_pct=0"},
	{hold_first_at_40, .vgpus = {{"vgpu1", 60, .cap = 20}, {"vgpu2", 80, .cap = 70}},
	 .why = "An operator holds vgpu1 at 40 %; other vGPUs give 10 %, first unused cap, then "
		"all caps in proportion: vgpu2 70 -> 60 %, vgpu1 20 -> 40 %",
	 .numbers = "cap_pct=20 held_pct=40 given_pct=10"},
	{hold_first_at_40, .vgpus = {{"vgpu1", 60, .cap = 60}, {"vgpu2", 80, .cap = 40}},
	 .why = "An operator holds vgpu1 at 40 %: vgpu1 60 -> 40 %",
	 .numbers = "cap_pct=60 held_pct=40 given_pct=0"},
	{set_first_to_30_to_40, .vgpus = {{"vgpu1", 60, .cap = 60}, {"vgpu2", 80, .cap = 40}},
	 .why = "The new contract of vgpu1 allows caps from 30 to 40 %; its cap was 60 %: vgpu1 "
		"60 -> 40 %",
	 .numbers = "cap_pct=60 least_pct=30 most_pct=40 given_pct=0"},
	{set_first_to_30_to_40, .vgpus = {{"vgpu1", 20, .cap = 20}, {"vgpu2", 80, .cap = 80}},
	 .why = "The new contract of vgpu1 allows caps from 30 to 40 %; its cap was 20 %; other "
		"vGPUs give 10 %, first unused cap, then all caps in proportion: vgpu2 80 -> 70 "
		"%, vgpu1 20 -> 30 %",
	 .numbers = "cap_pct=20 least_pct=30 most_pct=40 given_pct=10"},
	{step_as_none,
	 .vgpus = {{"vgpu1", 50, .cap = 50, .util = 1},
		   {"vgpu2", 50, .cap = 20, .util = 0},
		   {"vgpu3", 50, .cap = 10, .util = 0, .held = true}},
	 .why = "2 vGPUs share 90 % of the GPU equally; no cap exceeds its contract: vgpu1 50 -> "
		"45 %, vgpu2 20 -> 45 %",
	 .numbers = "vgpus=2 shared_pct=90"},
	{step_as_static,
	 .vgpus = {{"vgpu1", 50, .cap = 50, .util = 1}, {"vgpu2", 30, .cap = 30, .util = 0}},
	 .why = "At an overbooking ratio of 2 each vGPU gets 1/2 of its contract: vgpu1 50 -> 25 "
		"%, vgpu2 30 -> 15 %",
	 .numbers = "vgpus=2 shared_pct=100 static_ratio=2"},
	{sell_as_none,
	 .vgpus = {{"vgpu1", 50, .cap = 50, .util = 1}, {"vgpu2", 50, .cap = 50, .util = 0}},
	 .why = "The GPU has 2 of at most 3 vGPUs: a contract of 30 % can be sold; the new vGPU "
		"would get 30 % now (an equal share), of which other vGPUs give 30 %",
	 .numbers = "vgpus=2 none_vgpus=3 total_load_pct=50 flavor_cap_pct=30 fundable_pct=30 "
		    "min_newcomer_pct=10 free_pct=0 given_pct=30"},
	{sell_as_static,
	 .vgpus = {{"vgpu1", 50, .cap = 25, .util = 1}, {"vgpu2", 50, .cap = 25, .util = 0}},
	 .why = "All contracts add up to 100 %, and the overbooking ratio of 2 allows 200 %: a "
		"contract of 30 % can be sold; the new vGPU would get 15 %",
	 .numbers = "sold_pct=100 static_ratio=2 total_load_pct=25 flavor_cap_pct=30 "
		    "fundable_pct=15 min_newcomer_pct=10 free_pct=50 given_pct=0"},
	{fund_as_none,
	 .vgpus = {{"vgpu1", 60, .cap = 50, .util = 1},
		   {"vgpu2", 60, .cap = 40, .util = 1},
		   {"vgpu3", 60, .cap = 10, .util = 1}},
	 .why = "A newcomer with a contract of 30 % gets 25 %, an equal share of the GPU; 25 % "
		"come from vGPUs above their share: vgpu1 50 -> 34 %, vgpu2 40 -> 31 %",
	 .numbers = "contract_pct=30 funded_pct=25 free_pct=0 given_pct=25 givers=2 "
		    "min_newcomer_pct=10"},
	{fund_as_static, .vgpus = {{"vgpu1", 60, .cap = 30, .util = 1}},
	 .why = "A newcomer with a contract of 30 % gets 15 %, as the overbooking ratio allows",
	 .numbers = "contract_pct=30 funded_pct=15 free_pct=70 given_pct=0 givers=0 "
		    "min_newcomer_pct=10"},
	{step_as_credit,
	 .vgpus = {{"vgpu1", 80, .cap = 50, .util = 0.4}, {"vgpu2", 80, .cap = 50, .util = 1}},
	 .why = "1 of 2 vGPUs use their whole cap; the vGPUs share 100 % of the GPU by their "
		"estimated demands, which add up to 85 %: vgpu1 50 -> 26 %, vgpu2 50 -> 74 %",
	 .numbers = "vgpus=2 shared_pct=100 wanting=1 demand_pct=85 spare_pct=0 deadband_pct=2"},
	{step_as_credit,
	 .vgpus = {{"vgpu1", 90, .cap = 12, .util = 0.8, .claim = 40},
		   {"vgpu2", 100, .cap = 60, .util = 1}},
	 .why = "1 of 2 vGPUs use their whole cap; the vGPUs share 100 % of the GPU by their "
		"estimated demands, which add up to 115 %; 10 % go from vGPUs that need less than "
		"their share to vGPUs that need more: vgpu1 12 -> 25 %, vgpu2 60 -> 75 %",
	 .numbers = "vgpus=2 shared_pct=100 wanting=1 demand_pct=115 spare_pct=10 deadband_pct=2"},
	{step_as_fair,
	 .vgpus = {{"vgpu1", 50, .cap = 30, .util = 0.3333},
		   {"vgpu2", 80, .cap = 35, .util = 1},
		   {"vgpu3", 80, .cap = 35, .util = 1}},
	 .why = "2 of 3 vGPUs use their whole cap; the total demand is 99 %, and 100 % of the GPU "
		"can be shared: every demand is met, and the other 1 % are lent by weight: vgpu1 "
		"30 -> 12 %, vgpu2 35 -> 44 %, vgpu3 35 -> 44 %",
	 .numbers = "vgpus=3 shared_pct=100 wanting=2 demand_pct=99 spare_pct=1 deadband_pct=2"},
	{step_as_fair,
	 .vgpus = {{"vgpu1", 80, .cap = 70, .util = 1}, {"vgpu2", 80, .cap = 30, .util = 1}},
	 .why = "2 of 2 vGPUs use their whole cap; the total demand is 130 %, and 100 % of the GPU "
		"can be shared, so the GPU is divided by weight, and no vGPU gets more than its "
		"demand: vgpu1 70 -> 50 %, vgpu2 30 -> 50 %",
	 .numbers = "vgpus=2 shared_pct=100 wanting=2 demand_pct=130 spare_pct=0 deadband_pct=2"},
	{fund_as_credit, .vgpus = {{"vgpu1", 60, .cap = 90, .util = 1, .peak = 0.9, .claim = 60}},
	 .why = "A newcomer with a contract of 30 % gets 30 %, its share by demand; 20 % come from "
		"vGPUs above their share: vgpu1 90 -> 70 %",
	 .numbers = "contract_pct=30 funded_pct=30 free_pct=10 given_pct=20 givers=1 "
		    "min_newcomer_pct=10"},
	{fund_as_fair, .vgpus = {{"vgpu1", 80, .cap = 80, .util = 1, .peak = 0.8}},
	 .why = "A newcomer with a contract of 30 % gets 30 %, its share by weight; 10 % come "
		"from vGPUs above their share: vgpu1 80 -> 70 %",
	 .numbers = "contract_pct=30 funded_pct=30 free_pct=20 given_pct=10 givers=1 "
		    "min_newcomer_pct=10"},
};

TEST(test_every_decision_has_its_sentence_and_its_numbers)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bench_init(rows[i].vgpus, 1);
		rows[i].decide();
		assert_int_equal(bench.out.n_decisions, 1);
		bench_check_said(&bench.out.decisions[0], rows[i].why, rows[i].numbers);
	}
}

TEST(test_a_sentence_too_long_ends_in_dots)
{
	char ids[8][64];
	struct given given[9] = {{0}};
	const char *why;

	for (int i = 0; i < 8; i++) {
		memset(ids[i], 'a' + i, 63);
		ids[i][63] = '\0';
		given[i] = (struct given){ids[i], 20, .cap = 20};
	}
	bench_init(given, 1);
	fit();
	why = bench.out.decisions[0].why;
	assert_int_equal(strlen(why), POLICY_WHY_MAX - 1);
	assert_string_equal(why + POLICY_WHY_MAX - 4, "...");
	assert_int_equal(bench.out.n_moves, 8);
}

/* A sentence may use the whole member; one more character is too long. */
TEST(test_a_sentence_of_the_maximum_length_is_complete)
{
	struct policy_decision decision = {0};
	char text[POLICY_WHY_MAX];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	reason_add_text(&decision, "%s", text);
	assert_string_equal(decision.why, text);
	reason_add_text(&decision, "%s", "");
	assert_string_equal(decision.why, text);
	reason_add_text(&decision, "b");
	assert_int_equal(strlen(decision.why), POLICY_WHY_MAX - 1);
	assert_string_equal(decision.why + POLICY_WHY_MAX - 4, "...");
}

/* A sentence names six moves. */
TEST(test_further_moves_are_counted)
{
	static const struct given vgpus[] = {{"a", 20, .cap = 10}, {.id = NULL}};

	for (int n = 6; n <= 8; n++) {
		static const char *const ends[] = {"10 -> 15 %", " and 1 more", " and 2 more"};
		struct policy_decision decision = {.n_moves = n};
		const char *end = ends[n - 6];

		bench_init(vgpus, 1);
		for (int i = 0; i < n; i++)
			bench.out.moves[i] =
				(struct policy_move){.vgpu = 0, .from_pct = 10, .to_pct = 15};
		reason_add_moves(&bench.gpu, &bench.out, &decision);
		assert_string_equal(decision.why + strlen(decision.why) - strlen(end), end);
	}
}

TEST(test_fractions)
{
	static const struct {
		double fraction;
		const char *text;
	} fractions[] = {{0.2, "1/5"}, {0.5, "1/2"}, {0.3, "0.3"},
			 {0.9, "0.9"}, {1, "1"},     {0.20000001, "0.2"}};

	for (size_t i = 0; i < sizeof(fractions) / sizeof(fractions[0]); i++) {
		struct policy_decision decision = {0};

		reason_add_fraction(&decision, fractions[i].fraction);
		assert_string_equal(decision.why, fractions[i].text);
	}
}
