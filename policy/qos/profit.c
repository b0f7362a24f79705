/* SPDX-License-Identifier: MIT */
/* Computes the expected profit. Probabilities are added as integers, so that the order has no
 * effect. */
#include <math.h>
#include <string.h>

#include "policy/qos/profit.h"
#include "policy/qos/demand.h"
#include "policy/qos/overload.h"
#include "policy/plan.h"

#define MOVE_S	      15   /* seconds to migrate a vGPU automatically */
#define MANUAL_MOVE_S 300  /* seconds until an operator migrates a vGPU, after an alert */
#define TOLERANCE     0.98 /* a vGPU is not broken if this fraction of its demand is served */
#define ABOUT_ALL     0.95 /* no unseen kinds if a demand is at least this part of the contract */
#define PARTS	      1e9  /* the integer that represents a probability of 1 */

/* Input and result of the test that finds which kinds of newcomers fit. The kinds differ in their
 * demands. */
struct test {
	const struct overload *overload;
	double overload_now; /* overload probability before the sale; 0 if gpu->migrates is false */
	double bearable;     /* a newcomer that adds this overload probability costs as much in
				penalties as its price */
	long long kinds, fit, overload_parts;
};

static void try_one(struct test *test, const double share[OVERLOAD_PCTS], int times)
{
	double overload = overload_probability(test->overload, share) - test->overload_now;

	test->kinds += times;
	if (overload >= test->bearable)
		return;
	test->fit += times;
	test->overload_parts += llround(overload * PARTS) * times;
}

static double heaviest_pct(const struct policy_gpu *gpu)
{
	double pct = 0;

	for (int i = 0; i < gpu->n_vgpus; i++)
		pct = fmax(pct, demand_peak_pct(&gpu->vgpus[i]));
	return pct;
}

/* Tries the kinds of newcomers that no present vGPU resembles: one kind for each percent between
 * the largest demand of the present vGPUs and the contract. */
static void try_unseen(const struct policy_gpu *gpu, struct test *test)
{
	int contract_pct = plan_contract_pct(gpu, &gpu->flavor);
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

struct profit profit_expect(const struct policy_params *params, const struct policy_gpu *gpu)
{
	double an_hour = PROFIT_HOUR_S * params->penalty_per_broken_s;
	struct profit profit = {.broken_s = gpu->broken_s / fmax(1, gpu->n_vgpus)};
	double share[OVERLOAD_PCTS];
	struct test test;
	struct overload overload;
	int contract_pct = plan_contract_pct(gpu, &gpu->flavor);
	int unseen = contract_pct - (int)fmin(contract_pct - 1, ceil(heaviest_pct(gpu)));

	profit.price = params->price_per_cap_hour * gpu->flavor.initial_cap_pct / 100;
	overload_sum_demands(params, gpu, &overload);
	test = (struct test){
		.overload = &overload,
		.overload_now = gpu->migrates ? overload.share[OVERLOAD_PCTS] : 0,
		.bearable = profit.price / fmax(an_hour, 1e-9),
	};
	/* Each present vGPU weighs as much as all unseen kinds together. */
	for (int i = 0; i < gpu->n_vgpus; i++) {
		overload_demand_of(params, gpu, i, share);
		try_one(&test, share, unseen);
	}
	try_unseen(gpu, &test);
	profit.misfit = 1 - (double)test.fit / (double)test.kinds;
	if (!gpu->migrates && test.fit > 0)
		profit.overload = (double)test.overload_parts / PARTS / (double)test.fit;
	profit.broken_s += (gpu->migrates ? MOVE_S : MANUAL_MOVE_S) * profit.misfit +
			   PROFIT_HOUR_S * profit.overload;
	profit.penalty = params->penalty_per_broken_s * profit.broken_s;
	profit.expected = profit.price * (1 - profit.misfit) - profit.penalty;
	return profit;
}
