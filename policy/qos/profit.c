/* SPDX-License-Identifier: MIT */
/* Computes the expected profit. Kinds of newcomers are counted as integers, so that the order has
 * no effect. */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "policy/plan.h"
#include "policy/qos/demand.h"
#include "policy/qos/futures.h"
#include "policy/qos/moving.h"
#include "policy/qos/profit.h"
#include "policy/share.h"

#define MORE OVERLOAD_PCTS /* index of the element for all totals above 100 % */

static void add(struct overload *overload, const double share[OVERLOAD_PCTS])
{
	struct overload next = {.top = 0};

	for (int a = 0; a <= overload->top; a++) {
		if (overload->share[a] <= 0)
			continue;
		for (int b = 0; b < OVERLOAD_PCTS; b++) {
			int both = a + b < MORE ? a + b : MORE;

			if (share[b] <= 0)
				continue;
			next.share[both] += overload->share[a] * share[b];
			next.top = both > next.top ? both : next.top;
		}
	}
	*overload = next;
}

/* Computes the distribution of one vGPU's demand. */
static void overload_demand_of(const struct policy_params *params, const struct policy_gpu *gpu,
			       int index, double ret_share[OVERLOAD_PCTS])
{
	const struct policy_vgpu *vgpu = &gpu->vgpus[index];
	int floor_pct = policy_floor_pct(params, gpu, &vgpu->terms);

	if (vgpu->held) {
		memset(ret_share, 0, OVERLOAD_PCTS * sizeof(*ret_share));
		ret_share[vgpu->cap_pct < 100 ? vgpu->cap_pct : 100] = 1;
	} else {
		demand_distribution(vgpu, ret_share);
	}
	for (int i = 0; i < floor_pct; i++) {
		ret_share[floor_pct] += ret_share[i];
		ret_share[i] = 0;
	}
}

void overload_sum_demands(const struct policy_params *params, const struct policy_gpu *gpu,
			  struct overload *ret_overload)
{
	double share[OVERLOAD_PCTS];
	int by_id[POLICY_VGPUS_MAX];

	*ret_overload = (struct overload){.top = min_int(gpu->absent.demand_pct, MORE)};
	ret_overload->share[ret_overload->top] = 1;
	sort_all_by_id(gpu, by_id);
	for (int i = 0; i < gpu->n_vgpus; i++) {
		overload_demand_of(params, gpu, by_id[i], share);
		add(ret_overload, share);
	}
}

double overload_probability(const struct overload *overload, const double share[OVERLOAD_PCTS])
{
	double more = overload->share[MORE], at_most[MORE] = {share[0]};

	for (int i = 1; i < OVERLOAD_PCTS; i++)
		at_most[i] = at_most[i - 1] + share[i];
	for (int sum = 0; sum <= overload->top && sum < MORE; sum++)
		more += overload->share[sum] * (1 - at_most[100 - sum]);
	return more > 1e-12 ? more : 0;
}

#define NOTICE_S  5    /* seconds of overload until a vGPU is named for migration */
#define TOLERANCE 0.98 /* a vGPU is not broken if this fraction of its demand is served */
#define ABOUT_ALL 0.95 /* no unseen kinds if a demand is at least this part of the contract */

/* Input and result of the test that finds which kinds of newcomers fit. The kinds differ in their
 * demands. */
struct test {
	const struct overload *overload;
	double overload_now; /* overload probability before the sale */
	double bearable;     /* a newcomer that adds this overload probability costs as much in
				penalties as its price */
	long long kinds, fit;
};

static void try_one(struct test *test, const double share[OVERLOAD_PCTS], int times)
{
	double overload = overload_probability(test->overload, share) - test->overload_now;

	test->kinds += times;
	if (overload < test->bearable)
		test->fit += times;
}

/* Returns the largest demand of the present vGPUs. */
static double heaviest_pct(const struct policy_gpu *gpu)
{
	double pct = 0;

	for (int i = 0; i < gpu->n_vgpus; i++)
		pct = fmax(pct, demand_peak_pct(&gpu->vgpus[i]));
	return pct;
}

/* Tries the kinds of newcomers that no present vGPU resembles: one kind for each percent between
 * the largest demand of the present vGPUs and the contract. */
static void try_unseen(const struct policy_gpu *gpu, int contract_pct, struct test *test)
{
	double share[OVERLOAD_PCTS];
	int least_pct = (int)ceil(heaviest_pct(gpu));

	if (least_pct >= ABOUT_ALL * contract_pct)
		return;
	for (int pct = least_pct + 1; pct <= contract_pct; pct++) {
		memset(share, 0, sizeof(share));
		share[(int)ceil(TOLERANCE * pct)] = 1;
		try_one(test, share, 1);
	}
}

/* Returns the probability that the newcomer must be migrated soon, because it does not fit.
 * @overload: the total demand of the present vGPUs. */
static double find_misfit(const struct policy_params *params, const struct policy_gpu *gpu,
			  const struct overload *overload, const struct policy_terms *terms,
			  double price)
{
	double an_hour = PROFIT_HOUR_S * params->penalty_per_broken_s;
	int contract_pct = plan_contract_pct(gpu, terms);
	int unseen = contract_pct - (int)fmin(contract_pct - 1, ceil(heaviest_pct(gpu)));
	double share[OVERLOAD_PCTS];
	struct test test = {
		.overload = overload,
		.overload_now = overload->share[OVERLOAD_PCTS],
		.bearable = price / fmax(an_hour, 1e-9),
	};

	/* Each present vGPU weighs as much as all unseen kinds together. */
	for (int i = 0; i < gpu->n_vgpus; i++) {
		overload_demand_of(params, gpu, i, share);
		try_one(&test, share, unseen);
	}
	try_unseen(gpu, contract_pct, &test);
	return 1 - (double)test.fit / (double)test.kinds;
}

/* @overload: NULL if no vGPU is migrated. */
static struct profit expect(const struct policy_params *params, const struct policy_gpu *gpu,
			    const struct policy_terms *terms, const struct futures *futures,
			    const struct overload *overload)
{
	double trust = moving_trust(gpu);
	struct profit profit = {
		.price = params->price_per_cap_hour * terms->initial_cap_pct / 100,
		.trust = trust,
		.broken_s = gpu->broken_s / fmax(1, gpu->n_vgpus),
	};
	double notice_s = NOTICE_S + moving_delay_s(gpu);

	profit.overload = futures->over;
	profit.risk = (1 - trust * fmax(0, 1 - notice_s / FUTURES_HORIZON_S)) * futures->broken;
	if (overload) {
		profit.misfit = find_misfit(params, gpu, overload, terms, profit.price);
		profit.moves = fmax(profit.misfit, futures->over);
		profit.broken_s += notice_s * profit.misfit;
	}
	profit.penalty = params->penalty_per_broken_s * profit.broken_s +
			 params->price_per_move * profit.moves;
	profit.expected = profit.price * (1 - profit.misfit) - profit.penalty;
	return profit;
}

void profit_expect(const struct policy_params *params, const struct policy_gpu *gpu,
		   const struct policy_terms *terms, int n, struct profit *ret_profits)
{
	bool migrates = moving_trust(gpu) > 0;
	struct futures futures[POLICY_FLAVORS_MAX];
	struct overload overload;

	futures_sample(params, gpu, terms, n, futures);
	if (migrates)
		overload_sum_demands(params, gpu, &overload);
	for (int i = 0; i < n; i++)
		ret_profits[i] =
			expect(params, gpu, &terms[i], &futures[i], migrates ? &overload : NULL);
}

bool profit_is_enough(const struct policy_params *params, const struct profit *profit)
{
	return profit->expected > 0 && 100 * profit->risk <= params->sale_risk_pct;
}
