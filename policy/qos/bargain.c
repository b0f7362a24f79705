/* SPDX-License-Identifier: MIT */
/* The weighing. Must never depend on the order in which the vGPUs stand: what is summed up is
 * whole numbers. */
#include <math.h>
#include <string.h>

#include "policy/qos/bargain.h"
#include "policy/qos/demand.h"
#include "policy/qos/odds.h"
#include "policy/plan.h"

#define MOVE_S	       15   /* that moving one away takes, where somebody does when told to */
#define MOVE_BY_HAND_S 300  /* where nobody does before he has read the alert */
#define TOLERANCE      0.98 /* of a contract: served so much, it is not broken */
#define ABOUT_ALL      0.95 /* of a contract: more is hardly to come */
#define PARTS	       1e9  /* chances are summed up in whole parts */

/* Newcomers of one kind after another, each put to the test. */
struct test {
	const struct odds *odds;
	double crowded_now; /* chance without a newcomer, where that is soon moved away */
	double bearable;    /* that a price pays for on top */
	long long kinds, fit, crowded_parts;
};

static void try_one(struct test *test, const double share[ODDS_WANTS], int times)
{
	double crowded = odds_crowded(test->odds, share) - test->crowded_now;

	test->kinds += times;
	if (crowded >= test->bearable)
		return;
	test->fit += times;
	test->crowded_parts += llround(crowded * PARTS) * times;
}

static double heaviest_pct(const struct policy_gpu *gpu)
{
	double pct = 0;

	for (int i = 0; i < gpu->n_vgpus; i++)
		pct = fmax(pct, demand_peak_pct(&gpu->vgpus[i]));
	return pct;
}

/* Kinds not seen here: of each whole percent from the heaviest seen to the contract one. */
static void try_unseen(const struct policy_gpu *gpu, struct test *test)
{
	int contract_pct = plan_contract_pct(gpu, &gpu->flavor);
	double share[ODDS_WANTS];
	int least_pct = (int)ceil(heaviest_pct(gpu));

	if (least_pct >= ABOUT_ALL * contract_pct)
		return;
	for (int pct = least_pct + 1; pct <= contract_pct; pct++) {
		memset(share, 0, sizeof(share));
		share[(int)ceil(TOLERANCE * pct - 1e-6)] = 1;
		try_one(test, share, 1);
	}
}

struct bargain bargain_weigh(const struct policy_params *params, const struct policy_gpu *gpu)
{
	double an_hour = BARGAIN_HOUR_S * params->penalty_per_broken_s;
	struct bargain bargain = {.broken_s = gpu->broken_s / fmax(1, gpu->n_vgpus)};
	double share[ODDS_WANTS];
	struct test test;
	struct odds odds;
	int contract_pct = plan_contract_pct(gpu, &gpu->flavor);
	int unseen = contract_pct - (int)fmin(contract_pct - 1, ceil(heaviest_pct(gpu)));

	bargain.price = params->price_per_cap_hour * gpu->flavor.initial_cap_pct / 100;
	odds_sum(params, gpu, &odds);
	test = (struct test){
		.odds = &odds,
		.crowded_now = gpu->migrates ? odds.share[ODDS_WANTS] : 0,
		.bearable = bargain.price / fmax(an_hour, 1e-9),
	};
	/* All kinds that were not seen weigh together as much as one of those here. */
	for (int i = 0; i < gpu->n_vgpus; i++) {
		odds_of(params, gpu, i, share);
		try_one(&test, share, unseen);
	}
	try_unseen(gpu, &test);
	bargain.misfit = test.kinds > 0 ? 1 - (double)test.fit / (double)test.kinds : 0;
	if (!gpu->migrates && test.fit > 0)
		bargain.crowded = (double)test.crowded_parts / PARTS / (double)test.fit;
	bargain.broken_s += (gpu->migrates ? MOVE_S : MOVE_BY_HAND_S) * bargain.misfit +
			    BARGAIN_HOUR_S * bargain.crowded;
	bargain.penalty = params->penalty_per_broken_s * bargain.broken_s;
	bargain.profit = bargain.price * (1 - bargain.misfit) - bargain.penalty;
	return bargain;
}
