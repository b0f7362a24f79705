/* SPDX-License-Identifier: MIT */
/* Computes the expected profit. Probabilities are summed as integers, independent of the order. */
#include <math.h>
#include <string.h>

#include "policy/qos/profit.h"
#include "policy/qos/demand.h"
#include "policy/qos/overload.h"
#include "policy/plan.h"

#define MOVE_S	       15   /* time to migrate a vGPU automatically */
#define MOVE_BY_HAND_S 300  /* time to migrate a vGPU by hand, after an alert */
#define TOLERANCE      0.98 /* fraction of a contract: a vGPU that gets as much is not broken */
#define ABOUT_ALL      0.95 /* fraction of a contract: a larger demand is unlikely */
#define PARTS	       1e9  /* number of equal parts of a probability of 1 */

/* The result of trying several kinds of newcomers. */
struct test {
	const struct overload *overload;
	double overload_now; /* probability without a newcomer, if a newcomer can be migrated */
	double bearable;     /* additional probability for which a price pays */
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

/* Adds the kinds of newcomers that no present vGPU resembles: one for each percent from the
 * heaviest vGPU to the contract. */
static void try_unseen(const struct policy_gpu *gpu, struct test *test)
{
	int contract_pct = plan_contract_pct(gpu, &gpu->flavor);
	double share[OVERLOAD_PCTS];
	int least_pct = (int)ceil(heaviest_pct(gpu));

	if (least_pct >= ABOUT_ALL * contract_pct)
		return;
	for (int pct = least_pct + 1; pct <= contract_pct; pct++) {
		memset(share, 0, sizeof(share));
		share[(int)ceil(TOLERANCE * pct - 1e-6)] = 1;
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
	/* All other kinds together weigh as much as one present vGPU. */
	for (int i = 0; i < gpu->n_vgpus; i++) {
		overload_demand_of(params, gpu, i, share);
		try_one(&test, share, unseen);
	}
	try_unseen(gpu, &test);
	profit.misfit = test.kinds > 0 ? 1 - (double)test.fit / (double)test.kinds : 0;
	if (!gpu->migrates && test.fit > 0)
		profit.overload = (double)test.overload_parts / PARTS / (double)test.fit;
	profit.broken_s += (gpu->migrates ? MOVE_S : MOVE_BY_HAND_S) * profit.misfit +
			   PROFIT_HOUR_S * profit.overload;
	profit.penalty = params->penalty_per_broken_s * profit.broken_s;
	profit.expected = profit.price * (1 - profit.misfit) - profit.penalty;
	return profit;
}
