/* SPDX-License-Identifier: MIT */
/* The table of policies, and the defaults of their parameters. */
#include <string.h>

#include "base/cleanup.h"
#include "policy/plan.h"

static const struct policy policies[] = {
	{
		.name = "gover",
		.summary =
			"the paper's policy: the least loaded vGPU gives part of its unused cap to "
			"the overloaded vGPU",
		.step = gover_step,
		.fund = policy_fund,
		.give_back = policy_return,
	},
	{
		.name = "none",
		.summary = "stock GVT-g: equal hard shares for a fixed number of vGPUs",
		.step = none_step,
		.fund = none_fund,
		.give_back = none_return,
	},
	{
		.name = "static",
		.summary = "sells a fixed multiple of the GPU; each vGPU gets a fixed share of its "
			   "contract",
		.step = static_step,
		.fund = static_fund,
		.give_back = static_return,
	},
	{
		.name = "credit",
		.summary = "VMCG: each vGPU gets credits by its demand; unused credits go to vGPUs "
			   "that used all of theirs",
		.step = credit_step,
		.fund = credit_fund,
		.give_back = credit_return,
	},
	{
		.name = "fair",
		.summary =
			"FairGV: divides the GPU by weight up to each demand, and lends the rest "
			"by weight",
		.step = fair_step,
		.fund = fair_fund,
		.give_back = fair_return,
	},
	{
		.name = "p99",
		.summary = "caps as in gover; sells if the sum of the 99th percentiles of use "
			   "leaves room for a contract",
		.step = p99_step,
		.fund = policy_fund,
		.give_back = policy_return,
	},
	{
		.name = "nsigma",
		.summary = "caps as in gover; sells if the mean use plus some standard deviations "
			   "leaves room for a contract",
		.step = nsigma_step,
		.fund = policy_fund,
		.give_back = policy_return,
	},
	{
		.name = "max",
		.summary =
			"caps as in gover; sells if the sum of the largest uses leaves room for a "
			"contract",
		.step = max_step,
		.fund = policy_fund,
		.give_back = policy_return,
	},
	{
		.name = "qos",
		.summary =
			"caps follow each vGPU's expected demand; sells while a profit is expected",
		.step = qos_step,
		.fund = qos_fund,
		.give_back = policy_return,
	},
};

static const char *const kind_names[POLICY_KINDS] = {
	[POLICY_STEAL] = "steal",   [POLICY_POOL] = "pool",	[POLICY_WAKE] = "wake",
	[POLICY_OFFER] = "offer",   [POLICY_SEVERE] = "severe", [POLICY_FUND] = "fund",
	[POLICY_RETURN] = "return", [POLICY_FIT] = "fit",	[POLICY_HOLD] = "hold",
	[POLICY_SET] = "set",	    [POLICY_SHARE] = "share",
};

const char *policy_kind_name(enum policy_kind kind)
{
	return kind_names[kind];
}

const char *policy_sharing_name(enum policy_sharing sharing)
{
	return sharing == POLICY_SHARING_GUARANTEE ? "guarantee" : "hard";
}

const struct policy *policy_at(size_t index)
{
	return index < ARRAY_SIZE(policies) ? &policies[index] : NULL;
}

const struct policy *policy_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++)
		if (strcmp(policies[i].name, name) == 0)
			return &policies[i];
	return NULL;
}

void policy_params_default(struct policy_params *params)
{
	*params = (struct policy_params){
		.overload_pct = 95,
		.overload_periods = 3,
		.qos_periods = 1,
		.qos_gpu_bound_pct = 70,
		.lowload_pct = 60,
		.quiet_periods = 3,
		.steal_fraction = 0.2,
		.weight_util = 1,
		.weight_qos = 1,
		.cap_floor_pct = 1,
		.fund_fraction = 0.8,
		.fund_window_periods = 30,
		.min_newcomer_pct = 10,
		.use_ignores_met_target = true,
		.paper_mode = false,
		.none_vgpus = 3,
		.static_ratio = 2,
		.predict_periods = POLICY_WINDOW_MAX,
		.predict_warm_periods = 30,
		.predict_sigmas = 5,
		.sale_risk_pct = 1.5,
		.demand_periods = 5,
		.demand_probe = 0.25,
		.deadband_pct = 2,
		.price_per_cap_hour = 1,
		.penalty_per_broken_s = 0.01,
	};
}

const char *policy_params_above_flavor(const struct policy_params *params, int flavor_cap_pct,
				       int *ret_pct)
{
	const struct {
		const char *key;
		int pct;
	} least[] = {
		{.key = "min_newcomer_pct", .pct = params->min_newcomer_pct},
		{.key = "cap_floor_pct", .pct = params->cap_floor_pct},
	};

	for (size_t i = 0; i < ARRAY_SIZE(least); i++) {
		if (least[i].pct <= flavor_cap_pct)
			continue;
		*ret_pct = least[i].pct;
		return least[i].key;
	}
	return NULL;
}
