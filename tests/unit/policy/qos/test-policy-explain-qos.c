/* SPDX-License-Identifier: MIT */
/* Policy qos: the sentence and the numbers of every result of an allocation, and of a risky sale.
 */
#include "tests/unit/policy/qos/test-policy-want.h"

#include "policy/qos/qos.c"

static const struct {
	struct want wants[3];
	const char *vgpu; /* the vGPU with the largest raise; NULL: no cap is raised */
	const char *why, *numbers;
} rows[] = {
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
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct allocation_summary summary;
		struct policy_decision *decision;
		enum allocation result;
		struct plan plan;

		want_init(rows[i].wants, 1);
		result = allocation_plan(&bench.params, &bench.gpu, 0, &plan, &summary);
		decision = plan_decide(&plan, &bench.gpu, POLICY_SHARE, &bench.out);
		explain_allocation(&bench.gpu, &bench.out, result, &summary, decision);
		bench_check_said(decision, rows[i].why, rows[i].numbers);
		assert_int_equal(decision->vgpu, rows[i].vgpu ? bench_index(rows[i].vgpu) : -1);
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
