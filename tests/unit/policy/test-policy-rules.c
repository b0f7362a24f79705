/* SPDX-License-Identifier: MIT */
/*
 * Policies that assign a cap to every vGPU: their moves, offers and sentences. Predictors as
 * admission rules: the peaks they predict, and when they make offers.
 */
#include <errno.h>

#include "policy/window.h"
#include "tests/unit/policy/test-policy.h"

struct row {
	const char *policy;
	const char *rule;
	int step; /* 0: 1 % */
	bool gap;
	struct given vgpus[6];
	const char *decision; /* decisions as text from bench_text() */
	void (*change)(struct policy_params *params);
};

static void at_one_and_a_half(struct policy_params *params)
{
	params->static_ratio = 1.5;
}

static const struct row none_rows[] = {
	{"none", "equal shares, whatever is used; the odd step goes to the lowest id",
	 .vgpus = {{"v10", 50, .cap = 50, .util = 1},
		   {"v2", 50, .cap = 25, .util = 0},
		   {"v1", 50, .cap = 25, .util = 0.5}},
	 .decision = "share from v10: v10 50->33, v1 25->34, v2 25->33"},
	{"none", "a GPU with the assigned caps does not change",
	 .vgpus = {{"a", 50, .cap = 34, .util = 1},
		   {"b", 50, .cap = 33, .util = 0},
		   {"c", 50, .cap = 33, .util = 1, .target = 60, .fps = 10}},
	 .decision = ""},
	{"none", "not above a contract: the others have the rest",
	 .vgpus = {{"a", 20, .cap = 20, .util = 1},
		   {"b", 50, .cap = 20, .util = 0},
		   {"c", 50, .cap = 20, .util = 0}},
	 .decision = "share: b 20->40, c 20->40"},
	{"none", "two contracts of 50 get 50 each",
	 .vgpus = {{"a", 50, .cap = 10, .util = 1}, {"b", 50, .cap = 90, .util = 0}},
	 .decision = "share a from b: b 90->50, a 10->50"},
	{"none", "not below a floor",
	 .vgpus = {{"a", 60, .cap = 50, .util = 1, .min_cap = 50},
		   {"b", 50, .cap = 10, .util = 0},
		   {"c", 50, .cap = 10, .util = 0}},
	 .decision = "share: b 10->25, c 10->25"},
	{"none", "held caps are not shared",
	 .vgpus = {{"a", 60, .cap = 7, .util = 1, .held = true},
		   {"b", 60, .cap = 10, .util = 0},
		   {"c", 60, .cap = 10, .util = 0}},
	 .decision = "share: b 10->47, c 10->46"},
	{"none", "in whole steps", .step = 7,
	 .vgpus = {{"a", 63, .cap = 7, .util = 1},
		   {"b", 63, .cap = 7, .util = 0},
		   {"c", 63, .cap = 7, .util = 0}},
	 .decision = "share: a 7->35, b 7->35, c 7->28"},
	{"none", "neither a reading nor a punctual tick is needed", .gap = true,
	 .vgpus = {{"a", 50, .cap = 10, .util = NAN}, {"b", 50, .cap = 50, .util = NAN}},
	 .decision = "share a: a 10->50"},
	{"none", "a vGPU with burst may get the whole GPU",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0, .burst = true}},
	 .decision = "share a: a 50->100"},
	{"none", "if floors and holds leave nothing to divide, no cap changes",
	 .vgpus = {{"a", 80, .cap = 80, .util = 1, .held = true},
		   {"b", 50, .cap = 10, .util = 0, .min_cap = 30},
		   {"c", 50, .cap = 10, .util = 0}},
	 .decision = ""},
	{"none", "no vGPU", .vgpus = {{0}}, .decision = ""},
};

static const struct row static_rows[] = {
	{"static", "half of each contract at 2, however much another needs",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0},
		   {"b", 50, .cap = 20, .util = 1, .target = 60, .fps = 10},
		   {"c", 30, .cap = 30, .util = 0.5}},
	 .decision = "share b: a 50->25, c 30->15, b 20->25"},
	{"static", "the paper's 33 % at 1.5",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0},
		   {"b", 50, .cap = 25, .util = 0},
		   {"c", 50, .cap = 25, .util = 0}},
	 .decision = "share from a: a 50->33, b 25->33, c 25->33", .change = at_one_and_a_half},
	{"static", "a GPU with the assigned caps does not change",
	 .vgpus = {{"a", 50, .cap = 25, .util = 1}, {"b", 50, .cap = 25, .util = 0}},
	 .decision = ""},
	{"static", "a floor may exceed the share, burst does not",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0, .min_cap = 40},
		   {"b", 50, .cap = 50, .util = 0, .burst = true}},
	 .decision = "share: a 50->40, b 50->25"},
	{"static", "in whole steps, at least one", .step = 10,
	 .vgpus = {{"a", 50, .cap = 50, .util = 0}, {"b", 10, .cap = 50, .util = 0}},
	 .decision = "share: a 50->20, b 50->10"},
	{"static", "contracts beyond the ratio: shares in proportion to the contracts",
	 .vgpus = {{"a", 100, .cap = 20, .util = 0},
		   {"b", 100, .cap = 20, .util = 0},
		   {"c", 50, .cap = 40, .util = 0}},
	 .decision = "share from c: c 40->20, a 20->40, b 20->40"},
	{"static", "held caps leave less for the others",
	 .vgpus = {{"a", 80, .cap = 80, .util = 0, .held = true},
		   {"b", 50, .cap = 20, .util = 0},
		   {"c", 50, .cap = 0, .util = 0}},
	 .decision = "share c from b: b 20->10, c 0->10"},
};

static void five_points(struct policy_params *params)
{
	params->deadband_pct = 5;
}

static const struct row fair_rows[] = {
	{"fair", "the rest is lent by weight, up to the contract",
	 .vgpus = {{"a", 90, .cap = 10, .util = 1, .weight = 3}, {"b", 90, .cap = 10, .util = 0.9}},
	 .decision = "share: a 10->86, b 10->14"},
	{"fair", "all vGPUs want more: by weight",
	 .vgpus = {{"a", 80, .cap = 34, .util = 1},
		   {"b", 80, .cap = 33, .util = 1},
		   {"c", 80, .cap = 33, .util = 1, .weight = 2}},
	 .decision = "share c: a 34->25, b 33->25, c 33->50"},
	{"fair", "a light vGPU keeps its use, the others are probed by a quarter",
	 .vgpus = {{"a", 50, .cap = 30, .util = 0.3333},
		   {"b", 80, .cap = 35, .util = 1},
		   {"c", 80, .cap = 35, .util = 1}},
	 .decision = "share from a: a 30->12, b 35->44, c 35->44"},
	{"fair", "a larger use some periods ago counts",
	 .vgpus = {{"a", 50, .cap = 40, .util = 0.25, .peak = 0.285},
		   {"b", 80, .cap = 30, .util = 1},
		   {"c", 80, .cap = 30, .util = 1}},
	 .decision = "share from a: a 40->30, b 30->35, c 30->35"},
	{"fair", "a waking vGPU gets its share at once",
	 .vgpus = {{"a", 50, .cap = 1, .util = 1}, {"b", 100, .cap = 99, .util = 1}},
	 .decision = "share a from b: b 99->50, a 1->50"},
	{"fair", "not below a floor",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0, .min_cap = 40},
		   {"b", 100, .cap = 50, .util = 1}},
	 .decision = "share b from a: a 50->40, b 50->60"},
	{"fair", "not above a contract",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0}, {"b", 55, .cap = 50, .util = 1}},
	 .decision = "share b from a: a 50->45, b 50->55"},
	{"fair", "burst may exceed the contract",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0}, {"b", 55, .cap = 50, .util = 1, .burst = true}},
	 .decision = "share b from a: a 50->19, b 50->81"},
	{"fair", "held caps are not shared",
	 .vgpus = {{"a", 80, .cap = 40, .util = 0, .held = true},
		   {"b", 80, .cap = 20, .util = 1},
		   {"c", 80, .cap = 40, .util = 1}},
	 .decision = "share b from c: c 40->30, b 20->30"},
	{"fair", "in whole steps", .step = 5,
	 .vgpus = {{"a", 80, .cap = 20, .util = 1}, {"b", 80, .cap = 80, .util = 1}},
	 .decision = "share a from b: b 80->50, a 20->50"},
	{"fair", "not by less than the dead band",
	 .vgpus = {{"a", 100, .cap = 49, .util = 1}, {"b", 100, .cap = 51, .util = 1}},
	 .decision = ""},
	{"fair", "by exactly the dead band",
	 .vgpus = {{"a", 100, .cap = 48, .util = 1}, {"b", 100, .cap = 52, .util = 1}},
	 .decision = "share a from b: b 52->50, a 48->50"},
	{"fair", "the dead band is configurable",
	 .vgpus = {{"a", 100, .cap = 46, .util = 1}, {"b", 100, .cap = 54, .util = 1}},
	 .decision = "", .change = five_points},
	{"fair", "no cap is cut without need",
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.1}, {"b", 20, .cap = 20, .util = 1}},
	 .decision = ""},
	{"fair", "frames have no influence",
	 .vgpus = {{"a", 80, .cap = 50, .util = 0.8, .target = 60, .fps = 10},
		   {"b", 80, .cap = 50, .util = 0.8}},
	 .decision = ""},
	{"fair", "nothing moves while a reading is invalid",
	 .vgpus = {{"a", 50, .cap = 1, .util = 1},
		   {"b", 100, .cap = 89, .util = 1},
		   {"c", 10, .cap = 10, .util = NAN}},
	 .decision = ""},
	{"fair", "nothing moves in a late tick", .gap = true,
	 .vgpus = {{"a", 50, .cap = 1, .util = 1}, {"b", 100, .cap = 99, .util = 1}},
	 .decision = ""},
};

static const struct row credit_rows[] = {
	{"credit", "in proportion to demand: claims of 22 and 63",
	 .vgpus = {{"a", 80, .cap = 50, .util = 0.4}, {"b", 80, .cap = 50, .util = 1}},
	 .decision = "share b from a: a 50->26, b 50->74"},
	{"credit", "claims of 3, 38 and 38; the odd step to the lowest id",
	 .vgpus = {{"a", 50, .cap = 40, .util = 0.05},
		   {"b", 50, .cap = 30, .util = 1},
		   {"c", 50, .cap = 30, .util = 1}},
	 .decision = "share from a: a 40->5, b 30->48, c 30->47"},
	{"credit", "unneeded credits go to a vGPU that used all, up to its claim",
	 .vgpus = {{"a", 90, .cap = 12, .util = 0.8, .claim = 40},
		   {"b", 100, .cap = 60, .util = 1}},
	 .decision = "share: a 12->25, b 60->75"},
	{"credit", "a claim that is not served continues to grow",
	 .vgpus = {{"a", 100, .cap = 50, .util = 1, .claim = 60},
		   {"b", 100, .cap = 50, .util = 1, .claim = 80}},
	 /* The new claims are 75 and 100. Caps are in proportion to claim + 1: a gets 76/177. */
	 .decision = "share b from a: a 50->43, b 50->57"},
	{"credit", "up to the contract",
	 .vgpus = {{"a", 50, .cap = 50, .util = 1, .claim = 50},
		   {"b", 50, .cap = 50, .util = 1, .claim = 50}},
	 .decision = ""},
	{"credit", "a claim that is served twice shrinks in proportion",
	 .vgpus = {{"a", 90, .cap = 40, .util = 0.38, .claim = 80},
		   {"b", 90, .cap = 60, .util = 0.9, .claim = 60}},
	 /* The new claims are 36 and 60. Caps are in proportion to claim + 1: a gets 37/98. */
	 .decision = "share b from a: a 40->38, b 60->62"},
	{"credit", "between need and twice the dead band a claim does not change",
	 .vgpus = {{"a", 90, .cap = 20, .util = 0.76, .claim = 30},
		   {"b", 90, .cap = 80, .util = 0.95, .claim = 90}},
	 .decision = ""},
	{"credit", "a vGPU below its need gets it first",
	 .vgpus = {{"a", 90, .cap = 40, .util = 0.9, .claim = 30},
		   {"b", 90, .cap = 60, .util = 0.2, .claim = 90}},
	 /* The new claims are 38 and 22. Caps are in proportion to claim + 1: a gets 39/62. */
	 .decision = "share a from b: b 60->37, a 40->63"},
	{"credit", "weights have no influence",
	 .vgpus = {{"a", 100, .cap = 50, .util = 1, .weight = 9}, {"b", 100, .cap = 50, .util = 1}},
	 .decision = ""},
	{"credit", "held caps are not shared",
	 .vgpus = {{"a", 80, .cap = 40, .util = 0, .held = true},
		   {"b", 80, .cap = 20, .util = 1, .claim = 40},
		   {"c", 80, .cap = 40, .util = 1, .claim = 40}},
	 .decision = "share b from c: c 40->30, b 20->30"},
	{"credit", "nothing moves while a reading is invalid",
	 .vgpus = {{"a", 80, .cap = 45, .util = 0.4},
		   {"b", 80, .cap = 45, .util = 1},
		   {"c", 10, .cap = 10, .util = NAN}},
	 .decision = ""},
	{"credit", "nothing moves in a late tick", .gap = true,
	 .vgpus = {{"a", 80, .cap = 50, .util = 0.4}, {"b", 80, .cap = 50, .util = 1}},
	 .decision = ""},
};

static void check_row(const struct row *row)
{
	print_message("  %s: %s\n", row->policy, row->rule);
	bench_init(row->vgpus, row->step ? row->step : 1);
	bench.policy = policy_find(row->policy);
	bench.gpu.gap = row->gap;
	if (row->change)
		row->change(&bench.params);
	bench_step();
	assert_string_equal(bench_text(), row->decision);
	bench_check_wants();
}

#define CHECK_ROWS(rows)                                              \
	for (size_t i = 0; i < sizeof(rows) / sizeof((rows)[0]); i++) \
	check_row(&(rows)[i])

TEST(test_equal_shares)
{
	CHECK_ROWS(none_rows);
}

TEST(test_static_shares)
{
	CHECK_ROWS(static_rows);
}

TEST(test_fair_shares)
{
	CHECK_ROWS(fair_rows);
}

TEST(test_credits)
{
	CHECK_ROWS(credit_rows);
}

/* --- offers --- */

struct offer_row {
	const char *policy;
	const char *rule;
	struct given vgpus[6];
	double none_vgpus, static_ratio; /* 0: the default value */
	bool gap, offered, off_sale;
	int calm_run;
	int fundable; /* 0: no offer */
};

static const struct offer_row offer_rows[] = {
	{"none", "in doubt from the first breach to the third",
	 .vgpus = {{"a", 50, .cap = 50, .util = 1}, {"b", 50, .cap = 50, .util = 1}},
	 .fundable = 33},
	{"none", "three periods are enough",
	 .vgpus = {{"a", 50, .cap = 34, .util = 0},
		   {"b", 50, .cap = 33, .util = 0},
		   {"c", 50, .cap = 33, .util = 0}}},
	{"none", "after as many as the parameter says",
	 .vgpus = {{"a", 50, .cap = 34, .util = 0},
		   {"b", 50, .cap = 33, .util = 0},
		   {"c", 50, .cap = 33, .util = 0}},
	 .none_vgpus = 4, .fundable = 25},
	{"none", "the first vGPU gets its contract", .vgpus = {{0}}, .fundable = 50},
	{"none", "not in a period in which caps move", .vgpus = {{"a", 50, .cap = 49, .util = 1}}},
	{"none", "not without a reading", .vgpus = {{"a", 50, .cap = 50, .util = NAN}}},
	{"none", "not in a late tick", .vgpus = {{"a", 50, .cap = 50, .util = 0}}, .gap = true},
	{"none", "no offer while another is live", .vgpus = {{"a", 50, .cap = 50, .util = 0}},
	 .offered = true},
	{"none", "not while selling is off", .vgpus = {{"a", 50, .cap = 50, .util = 0}},
	 .off_sale = true},
	{"none", "not below the minimum for a newcomer",
	 .vgpus = {{"a", 95, .cap = 95, .util = 0, .held = true}}},
	{"static", "until the contracts are twice the GPU",
	 .vgpus = {{"a", 50, .cap = 25, .util = 1},
		   {"b", 50, .cap = 25, .util = 1},
		   {"c", 50, .cap = 25, .util = 1}},
	 .fundable = 25},
	{"static", "four of 50 are that",
	 .vgpus = {{"a", 50, .cap = 25, .util = 0},
		   {"b", 50, .cap = 25, .util = 0},
		   {"c", 50, .cap = 25, .util = 0},
		   {"d", 50, .cap = 25, .util = 0}}},
	{"static", "at 1.5 the third contract gets 33",
	 .vgpus = {{"a", 50, .cap = 33, .util = 0}, {"b", 50, .cap = 33, .util = 0}},
	 .static_ratio = 1.5, .fundable = 33},
	{"static", "at 1.5, three contracts of 50 are the maximum",
	 .vgpus = {{"a", 50, .cap = 33, .util = 0},
		   {"b", 50, .cap = 33, .util = 0},
		   {"c", 50, .cap = 33, .util = 0}},
	 .static_ratio = 1.5},
	{"static", "at 8 a newcomer would get 6 %, below the minimum",
	 .vgpus = {{"a", 50, .cap = 6, .util = 0}}, .static_ratio = 8},
	{"static", "not without a reading", .vgpus = {{"a", 50, .cap = 25, .util = NAN}}},
	{"fair", "calm for three periods below lowload_pct",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0.5}, {"b", 50, .cap = 50, .util = 0.6}},
	 .calm_run = 2, .fundable = 41},
	{"fair", "not before three calm periods", .vgpus = {{"a", 50, .cap = 50, .util = 0.5}},
	 .calm_run = 1},
	{"fair", "not above lowload_pct",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0.6}, {"b", 50, .cap = 50, .util = 0.61}},
	 .calm_run = 2},
	{"fair", "not without a reading", .vgpus = {{"a", 50, .cap = 50, .util = NAN}},
	 .calm_run = 2},
	{"fair", "not while a cap could help",
	 .vgpus = {{"a", 60, .cap = 50, .util = 0.8, .target = 60, .fps = 30, .held = false}},
	 .calm_run = 2},
	{"credit", "calm for three periods below lowload_pct",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0.2}, {"b", 50, .cap = 50, .util = 0.2}},
	 .calm_run = 2, .fundable = 50},
	{"credit", "not before three calm periods", .vgpus = {{"a", 50, .cap = 50, .util = 0.5}},
	 .calm_run = 1},
	{"credit", "not without a reading", .vgpus = {{"a", 50, .cap = 50, .util = NAN}},
	 .calm_run = 2},
	{"static", "not if a hold leaves less than its whole share",
	 .vgpus = {{"a", 80, .cap = 80, .util = 0, .held = true}}},
};

static void check_offer(const struct offer_row *row)
{
	print_message("  %s: %s\n", row->policy, row->rule);
	bench_init(row->vgpus, 1);
	bench.policy = policy_find(row->policy);
	bench.gpu.gap = row->gap;
	bench.gpu.offered = row->offered;
	bench.gpu.calm_run = row->calm_run;
	bench.gpu.selling = !row->off_sale;
	bench.gpu.flavors[0] = (struct policy_terms){.initial_cap_pct = 50, .weight = 1};
	if (row->none_vgpus > 0)
		bench.params.none_vgpus = (int)row->none_vgpus;
	if (row->static_ratio > 0)
		bench.params.static_ratio = row->static_ratio;
	bench_step();
	if (row->fundable == 0) {
		assert_null(strstr(bench_text(), "offer"));
		return;
	}
	assert_string_equal(bench_text(), "offer");
	assert_int_equal((int)bench_number("fundable_pct"), row->fundable);
}

TEST(test_offers)
{
	for (size_t i = 0; i < sizeof(offer_rows) / sizeof(offer_rows[0]); i++)
		check_offer(&offer_rows[i]);
}

/* --- funding --- */

static const struct {
	const char *policy;
	const char *rule;
	struct given vgpus[6];
	struct policy_terms newcomer;
	int result;
	const char *decision;
} fund_rows[] = {
	{"none", "its equal share, from vGPUs above theirs",
	 .vgpus = {{"a", 50, .cap = 50, .util = 1}, {"b", 50, .cap = 50, .util = 1}},
	 .newcomer = {.initial_cap_pct = 50}, .result = 33, .decision = "fund: a 50->34, b 50->33"},
	{"none", "a fourth vGPU, on request",
	 .vgpus = {{"a", 50, .cap = 34, .util = 1},
		   {"b", 50, .cap = 33, .util = 1},
		   {"c", 50, .cap = 33, .util = NAN}},
	 .newcomer = {.initial_cap_pct = 50}, .result = 25,
	 .decision = "fund: a 34->25, b 33->25, c 33->25"},
	{"none", "its contract, if that is less", .vgpus = {{"a", 90, .cap = 90, .util = 1}},
	 .newcomer = {.initial_cap_pct = 20}, .result = 20, .decision = "fund from a: a 90->80"},
	{"none", "a newcomer with burst starts with its contract", .vgpus = {{0}},
	 .newcomer = {.initial_cap_pct = 20, .burst = true}, .result = 20, .decision = "fund"},
	{"none", "nothing from a held vGPU, and not below the minimum",
	 .vgpus = {{"a", 95, .cap = 95, .util = 0, .held = true}},
	 .newcomer = {.initial_cap_pct = 50}, .result = -ENOSPC, .decision = ""},
	{"none", "not if its floor does not fit",
	 .vgpus = {{"a", 60, .cap = 60, .util = 0, .min_cap = 60}},
	 .newcomer = {.initial_cap_pct = 50, .min_cap_pct = 41}, .result = -ENOSPC, .decision = ""},
	{"static", "its share of the contract, without a cut of others",
	 .vgpus = {{"a", 50, .cap = 25, .util = 0}, {"b", 60, .cap = 30, .util = 0}},
	 .newcomer = {.initial_cap_pct = 80}, .result = 40, .decision = "fund"},
	{"static", "from vGPUs above their share, after a change of policy",
	 .vgpus = {{"a", 50, .cap = 50, .util = 1}, {"b", 50, .cap = 45, .util = 1}},
	 .newcomer = {.initial_cap_pct = 50}, .result = 25, .decision = "fund: a 50->39, b 45->36"},
	{"fair", "its share of the demand, and what was lent to others",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0.2, .peak = 0.1},
		   {"b", 50, .cap = 50, .util = 0.2, .peak = 0.1}},
	 .newcomer = {.initial_cap_pct = 50, .weight = 1}, .result = 50,
	 .decision = "fund: a 50->25, b 50->25"},
	{"fair", "by weight if all vGPUs want more",
	 .vgpus = {{"a", 50, .cap = 50, .util = 1}, {"b", 50, .cap = 50, .util = 1}},
	 .newcomer = {.initial_cap_pct = 50, .weight = 2}, .result = 50,
	 .decision = "fund: a 50->25, b 50->25"},
	{"fair", "nothing from a vGPU without a valid reading",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0.2, .peak = 0.1},
		   {"b", 50, .cap = 50, .util = NAN}},
	 .newcomer = {.initial_cap_pct = 50, .weight = 1}, .result = 39,
	 .decision = "fund from a: a 50->11"},
	{"credit", "the claim of a newcomer is its contract",
	 .vgpus = {{"a", 50, .cap = 50, .util = 0.2, .peak = 0.1, .claim = 11},
		   {"b", 50, .cap = 50, .util = 1, .peak = 0.5, .claim = 50}},
	 .newcomer = {.initial_cap_pct = 50}, .result = 45, .decision = "fund: a 50->10, b 50->45"},
	{"static", "the whole share or nothing",
	 .vgpus = {{"a", 100, .cap = 50, .util = 0}, {"b", 80, .cap = 40, .util = 0}},
	 .newcomer = {.initial_cap_pct = 50}, .result = -ENOSPC, .decision = ""},
};

TEST(test_newcomers_are_funded_by_the_rule)
{
	for (size_t i = 0; i < sizeof(fund_rows) / sizeof(fund_rows[0]); i++) {
		print_message("  %s: %s\n", fund_rows[i].policy, fund_rows[i].rule);
		bench_init(fund_rows[i].vgpus, 1);
		bench.policy = policy_find(fund_rows[i].policy);
		assert_int_equal(bench.policy->fund(&bench.params, &bench.gpu,
						    &fund_rows[i].newcomer, &bench.out),
				 fund_rows[i].result);
		assert_string_equal(bench_text(), fund_rows[i].decision);
	}
}

TEST(test_the_cap_of_a_removed_vgpu_is_shared_by_the_rule)
{
	static const struct given vgpus[] = {
		{"a", 50, .cap = 25, .util = 1}, {"b", 50, .cap = 25, .util = 0}, {.id = NULL}};

	bench_init(vgpus, 1);
	policy_find("none")->give_back(&bench.params, &bench.gpu, &bench.out);
	assert_string_equal(bench_text(), "share: a 25->50, b 25->50");
	policy_find("static")->give_back(&bench.params, &bench.gpu, &bench.out);
	assert_string_equal(bench_text(), "");
}

/* A severe overload under one policy ends when another policy begins. */
TEST(test_a_change_of_policy_ends_a_severe_overload)
{
	static const struct given vgpus[] = {{"a", 50, .cap = 50, .util = 1}, {.id = NULL}};

	for (size_t i = 0; policy_at(i); i++) {
		bench_init(vgpus, 1);
		bench.policy = policy_at(i);
		if (bench.policy->give_back == policy_return)
			continue;
		bench.gpu.severe_run = 3;
		bench.gpu.severe_quiet = 1;
		bench.gpu.severe_in_doubt = true;
		bench_step();
		assert_false(bench.gpu.severe_run || bench.gpu.severe_quiet ||
			     bench.gpu.severe_in_doubt);
	}
}

/* These policies count no calm periods. A count of an earlier policy must not remain. */
TEST(test_fixed_shares_end_the_calm_periods)
{
	static const char *const names[] = {"none", "static"};
	static const struct given vgpus[] = {{"a", 50, .cap = 50}, {.id = NULL}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bench_init(vgpus, 1);
		bench.policy = policy_find(names[i]);
		bench.gpu.calm_run = 7;
		bench_step();
		assert_int_equal(bench.gpu.calm_run, 0);
	}
}

/* Shares of 24 % leave 4 % of the GPU. A contract of 4 % completes the ratio, and one of 5 %
 * exceeds it, although its share fits. */
TEST(test_rounded_shares_do_not_raise_the_static_ratio)
{
	static const struct given vgpus[] = {{"a", 49, .cap = 24},
					     {"b", 49, .cap = 24},
					     {"c", 49, .cap = 24},
					     {"d", 49, .cap = 24},
					     {.id = NULL}};

	for (int contract_pct = 4; contract_pct <= 5; contract_pct++) {
		bench_init(vgpus, 1);
		bench.policy = policy_find("static");
		bench.params.min_newcomer_pct = 2;
		bench.gpu.free_pct = 4;
		bench.gpu.selling = true;
		bench.gpu.flavors[0] =
			(struct policy_terms){.initial_cap_pct = contract_pct, .weight = 1};
		bench_step();
		assert_string_equal(bench_text(), contract_pct == 4 ? "offer" : "");
	}
}

/* --- predictors as admission rules --- */

/* The use of a vGPU in past periods. */
struct past {
	double often; /* use in all other periods */
	double even;  /* use in every second period; 0: not set */
	double once;  /* use 40 periods ago; 0: not set */
	double twice; /* use 41 periods ago; 0: not set */
};

struct prediction {
	const char *policy;
	const char *rule;
	int periods; /* number of periods seen */
	struct past a, b;
	double peak_pct;
	int cold;
	void (*change)(struct policy_params *params);
};

static void short_window(struct policy_params *params)
{
	params->predict_periods = 10;
}

static void three_sigma(struct policy_params *params)
{
	params->predict_sigmas = 3;
}

static void slow_to_warm(struct policy_params *params)
{
	params->predict_warm_periods = 101;
}

static const struct prediction rows[] = {
	{"p99", "of 100 periods the largest is beyond the rank, the next is it", 100,
	 .a = {.often = 0.10, .once = 0.30, .twice = 0.20},
	 .b = {.often = 0.05, .once = 0.15, .twice = 0.10}, .peak_pct = 30},
	{"p99", "of 50 the largest is it", 50, .a = {.often = 0.10, .once = 0.30},
	 .b = {.often = 0.05, .once = 0.15}, .peak_pct = 45},
	{"p99", "of 300 the fourth is it", 300, .a = {.often = 0.10, .once = 0.30, .twice = 0.20},
	 .b = {.often = 0.05}, .peak_pct = 15},
	{"p99", "only the last periods count", 100,
	 .a = {.often = 0.10, .once = 0.30, .twice = 0.20}, .b = {.often = 0.05}, .peak_pct = 15,
	 .change = short_window},
	{"max", "the largest of each, whenever that was", 100,
	 .a = {.often = 0.10, .once = 0.30, .twice = 0.20}, .b = {.often = 0.05, .once = 0.15},
	 .peak_pct = 45},
	{"max", "only the last periods count", 100, .a = {.often = 0.10, .once = 0.30},
	 .b = {.often = 0.05}, .peak_pct = 15, .change = short_window},
	{"nsigma", "the mean of the sum and five deviations", 100,
	 .a = {.often = 0.10, .even = 0.14}, .b = {.often = 0.05}, .peak_pct = 17 + 5 * 2},
	{"nsigma", "or three", 100, .a = {.often = 0.10, .even = 0.14}, .b = {.often = 0.05},
	 .peak_pct = 17 + 3 * 2, .change = three_sigma},
	{"nsigma", "together they may be steadier than each", 100,
	 .a = {.often = 0.10, .even = 0.14}, .b = {.often = 0.14, .even = 0.10}, .peak_pct = 24},
	{"nsigma", "or more restless", 100, .a = {.often = 0.10, .even = 0.14},
	 .b = {.often = 0.10, .even = 0.14}, .peak_pct = 24 + 5 * 4},
	{"p99", "29 periods are too few: at their contracts", 29, .a = {.often = 0.10},
	 .b = {.often = 0.05}, .peak_pct = 50, .cold = 2},
	{"p99", "30 are enough", 30, .a = {.often = 0.10}, .b = {.often = 0.05}, .peak_pct = 15},
	{"max", "after as many as the parameter says", 100, .a = {.often = 0.10},
	 .b = {.often = 0.05}, .peak_pct = 50, .cold = 2, .change = slow_to_warm},
	{"nsigma", "cold ones count at their contract", 29, .a = {.often = 0.10},
	 .b = {.often = 0.05}, .peak_pct = 50, .cold = 2},
};

static double load_at(const struct past *past, int ago)
{
	if (ago == 40 && past->once > 0)
		return past->once;
	if (ago == 41 && past->twice > 0)
		return past->twice;
	return ago % 2 == 0 && past->even > 0 ? past->even : past->often;
}

/* Makes two vGPUs that together have half of the GPU. The last period of @row is the current
 * reading, and the windows contain the other periods. */
static void make_bench(const struct prediction *row, int flavor_pct)
{
	static const struct given vgpus[] = {
		{"a", 30, .cap = 30, .util = 0}, {"b", 20, .cap = 20, .util = 0}, {.id = NULL}};
	const struct past *pasts[] = {&row->a, &row->b};

	bench_init(vgpus, 1);
	bench.policy = policy_find(row->policy);
	for (int i = 0; i < 2; i++) {
		bench.tracks[i] = (struct policy_track){0};
		for (int ago = row->periods; ago > 1; ago--)
			window_add(&bench.tracks[i], load_at(pasts[i], ago));
		bench_read(&bench.vgpus[i], 100 * load_at(pasts[i], 1) / bench.vgpus[i].cap_pct, 0);
	}
	bench.gpu.selling = true;
	bench.gpu.flavors[0] = (struct policy_terms){.initial_cap_pct = flavor_pct, .weight = 1};
	bench.gpu.calm_run = 2;
	if (row->change)
		row->change(&bench.params);
}

TEST(test_peaks)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("  %s: %s\n", rows[i].policy, rows[i].rule);
		make_bench(&rows[i], 10);
		bench_step();
		assert_string_equal(bench_text(), "offer");
		assert_true(fabs(bench_number("peak_pct") - rows[i].peak_pct) < 0.01);
		assert_int_equal((int)bench_number("cold"), rows[i].cold);
	}
}

TEST(test_a_newcomers_whole_contract_must_fit)
{
	static const struct prediction row = {"max", "", 100, .a = {.often = 0.10, .once = 0.30},
					      .b = {.often = 0.05, .once = 0.15}};

	make_bench(&row, 55);
	bench_step();
	assert_string_equal(bench_text(), "offer");
	make_bench(&row, 56);
	bench_step();
	assert_string_equal(bench_text(), "");
	assert_int_equal(bench.gpu.calm_run, 3);
}

/* A steady use has no deviation, also if the sums of the loads and of their squares are rounded. */
TEST(test_a_steady_peak_and_the_rest_of_the_gpu_fit_together)
{
	static const char *const names[] = {"p99", "nsigma", "max"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (int a_pct = 1; a_pct <= 30; a_pct++) {
			struct prediction row = {names[i], "", 300, .a = {.often = a_pct / 100.0},
						 .b = {.often = 0.13}};

			make_bench(&row, 100 - 13 - a_pct);
			bench_step();
			if (strcmp(bench_text(), "offer") != 0)
				fail_msg("%s: no offer beside %d %%", names[i], 13 + a_pct);
			make_bench(&row, 100 - 13 - a_pct + 1);
			bench_step();
			assert_string_equal(bench_text(), "");
		}
	}
}

TEST(test_lowload_pct_has_no_influence)
{
	static const struct prediction row = {"max", "", 100, .a = {.often = 0.29},
					      .b = {.often = 0.19}};

	make_bench(&row, 52);
	bench.params.lowload_pct = 1;
	bench_step();
	assert_string_equal(bench_text(), "offer");
	make_bench(&row, 53);
	bench.params.lowload_pct = 100;
	bench_step();
	assert_string_equal(bench_text(), "");
}

TEST(test_caps_move_as_under_gover)
{
	static const char *const names[] = {"p99", "nsigma", "max"};
	static const struct given vgpus[] = {{"a", 80, .cap = 80, .util = 0.4},
					     {"b", 50, .cap = 20, .util = 1, .over_run = 2},
					     {.id = NULL}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bench_init(vgpus, 1);
		bench.policy = policy_find(names[i]);
		bench_step();
		assert_string_equal(bench_text(), "steal b from a: a 80->71, b 20->29");
	}
}

TEST(test_the_sentence_and_the_numbers)
{
	static const struct {
		struct prediction row;
		const char *why, *numbers;
	} said[] = {
		{{"p99", "", 100, .a = {.often = 0.10}, .b = {.often = 0.05}},
		 "No vGPU needed help for 3 periods, and the 99th percentiles of each vGPU's use "
		 "over 300 periods add up to 15.0 %: a contract of 40 % fits; 40 % can be funded "
		 "now, of which other vGPUs give 0 %",
		 "calm_periods=3 total_load_pct=15 peak_pct=15 flavor_cap_pct=40 fundable_pct=40 "
		 "min_newcomer_pct=10 free_pct=50 given_pct=0 cold=0 predict_periods=300 "
		 "predict_sigmas=5"},
		{{"nsigma", "", 100, .a = {.often = 0.10}, .b = {.often = 0.05},
		  .change = three_sigma},
		 "No vGPU needed help for 3 periods, and the mean and 3 standard deviations of the "
		 "total use over 300 periods add up to 15.0 %: a contract of 40 % fits; 40 % can "
		 "be funded now, of which other vGPUs give 0 %",
		 "calm_periods=3 total_load_pct=15 peak_pct=15 flavor_cap_pct=40 fundable_pct=40 "
		 "min_newcomer_pct=10 free_pct=50 given_pct=0 cold=0 predict_periods=300 "
		 "predict_sigmas=3"},
		{{"max", "", 20, .a = {.often = 0.10}, .b = {.often = 0.05}},
		 "No vGPU needed help for 3 periods, and the largest uses of each vGPU over 300 "
		 "periods add up to 50.0 % (2 vGPUs are younger than 30 periods and count with "
		 "their contracts): a contract of 40 % fits; 40 % can be funded now, of which "
		 "other vGPUs give 0 %",
		 "calm_periods=3 total_load_pct=15 peak_pct=50 flavor_cap_pct=40 fundable_pct=40 "
		 "min_newcomer_pct=10 free_pct=50 given_pct=0 cold=2 predict_periods=300 "
		 "predict_sigmas=5"},
	};

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		make_bench(&said[i].row, 40);
		bench_step();
		assert_int_equal(bench.out.n_decisions, 1);
		bench_check_said(&bench.out.decisions[0], said[i].why, said[i].numbers);
	}
}
