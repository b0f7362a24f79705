/* SPDX-License-Identifier: MIT */
/* Policy qos: the first cap of a newcomer, and the caps that the other vGPUs give (rule 9). */
#include <errno.h>

#include "tests/unit/policy/qos/test-policy-want.h"

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
