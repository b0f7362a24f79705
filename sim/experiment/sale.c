/* SPDX-License-Identifier: MIT */
/* The life of an offer, as gover-d/core/offers.c has it: open, claimed, on probation, then kept or
 * failed. Must never have two alive. */
#include "base/clock.h"
#include "sim/experiment/internal.h"

#define SEVERE_PERIODS 3 /* OFFER_SEVERE_PERIODS of gover-d/core/offers.h */

/* A customer takes it at once, or after a while; one who cannot be funded any more closes it. */
static void claim(struct trial *trial)
{
	struct sale *sale = &trial->sale;
	const struct scenario *scenario = trial->scenario;
	struct member *newcomer = members_draw(trial);

	if (!newcomer) {
		*sale = (struct sale){.state = SALE_NONE};
		trial->counts.closed++;
		trial_tell(trial, "closed", "", "what was offered could not be funded any more");
		return;
	}
	sale->state = SALE_PROBATION;
	sale->newcomer = newcomer;
	sale->claim_ns = trial->now_ns;
	sale->probation_ends_ns = trial->now_ns + (uint64_t)scenario->probation_s * NS_PER_S;
	trial->counts.sales++;
}

void sale_open(struct trial *trial)
{
	trial->sale = (struct sale){
		.state = SALE_OPEN,
		.claim_ns = trial->now_ns + (uint64_t)(trial->scenario->customer_s * 1e9),
	};
	trial->counts.offers++;
	if (trial->sale.claim_ns == trial->now_ns)
		claim(trial);
}

/* An open offer closes when there is too little to sell. */
static void restate(struct trial *trial)
{
	if (trial_fund(trial, &trial->params, &trial->gpu.flavor) >= 0)
		return;
	trial->sale = (struct sale){.state = SALE_NONE};
	trial->counts.closed++;
	trial_tell(trial, "closed", "", "less than %d %% could be funded for it any more",
		   trial->params.min_newcomer_pct);
}

static void fail(struct trial *trial)
{
	struct sale *sale = &trial->sale;
	const struct scenario *scenario = trial->scenario;
	int after_s = scenario->migrate ? scenario->migrate_s : scenario->remove_s;
	uint64_t at_ns = trial->now_ns + (uint64_t)after_s * NS_PER_S;

	sale->state = SALE_FAILED;
	trial->counts.failed++;
	if ((scenario->migrate || after_s > 0) && sale->newcomer->leaves_ns > at_ns)
		sale->newcomer->leaves_ns = at_ns;
}

static void watch(struct trial *trial)
{
	const struct policy_gpu *gpu = &trial->gpu;
	struct sale *sale = &trial->sale;
	double dt_s = (double)trial->period_ns / 1e9, broken_pct;
	const char *id = sale->newcomer->vgpu.id;

	for (int i = 0; i < gpu->n_vgpus; i++) {
		sale->watched_s += gpu->vgpus[i].busy_valid ? dt_s : 0;
		sale->broken_s += gpu->vgpus[i].busy_valid && gpu->vgpus[i].broken ? dt_s : 0;
	}
	if (gpu->conditions & POLICY_SEVERE_OVERLOAD && !gpu->newcomer_innocent)
		sale->severe_run++;
	else
		sale->severe_run = 0;
	if (sale->severe_run >= SEVERE_PERIODS) {
		fail(trial);
		trial_tell(trial, "failed", id, "severe overload in %d periods together",
			   sale->severe_run);
		return;
	}
	if (trial->now_ns < sale->probation_ends_ns || sale->watched_s <= 0)
		return;
	broken_pct = 100 * sale->broken_s / sale->watched_s;
	if (broken_pct > trial->scenario->probation_broken_pct) {
		fail(trial);
		trial_tell(trial, "failed", id,
			   "%.1f %% of the vGPU-seconds were broken, "
			   "allowed are %.1f %%",
			   broken_pct, trial->scenario->probation_broken_pct);
		return;
	}
	trial->counts.kept++;
	trial_tell(trial, "kept", id, "%.1f %% of the vGPU-seconds were broken", broken_pct);
	*sale = (struct sale){.state = SALE_NONE};
}

void sale_pass(struct trial *trial)
{
	struct sale *sale = &trial->sale;

	if (sale->state == SALE_OPEN) {
		restate(trial);
		if (sale->state == SALE_OPEN && trial->now_ns >= sale->claim_ns)
			claim(trial);
	} else if (sale->state == SALE_PROBATION && trial->now_ns > sale->claim_ns) {
		watch(trial);
	}
}

void sale_left(struct trial *trial, const struct member *member)
{
	if (trial->sale.newcomer == member)
		trial->sale = (struct sale){.state = SALE_NONE};
}
