/* SPDX-License-Identifier: MIT */
/* The life of an offer, as gover-d/core/offers.c has it: open, claimed, on probation, then kept or
 * failed. Must never have two alive. */
#include "base/clock.h"
#include "sim/experiment/experiment-internal.h"

#define SEVERE_PERIODS 3 /* OFFER_SEVERE_PERIODS of gover-d/core/offers.h */

/* A customer takes it at once, or after a while; one who cannot be funded any more closes it. */
static void claim(struct experiment *experiment)
{
	struct sale *sale = &experiment->sale;
	const struct scenario *scenario = experiment->scenario;
	struct tenant *newcomer = tenants_admit_next(experiment);

	if (!newcomer) {
		*sale = (struct sale){.state = SALE_NONE};
		experiment->counts.closed++;
		experiment_emit(experiment, "closed", "",
				"what was offered could not be funded any more");
		return;
	}
	sale->state = SALE_PROBATION;
	sale->newcomer = newcomer;
	sale->claim_ns = experiment->now_ns;
	sale->probation_ends_ns = experiment->now_ns + (uint64_t)scenario->probation_s * NS_PER_S;
	experiment->counts.sales++;
}

void sale_open(struct experiment *experiment)
{
	experiment->sale = (struct sale){
		.state = SALE_OPEN,
		.claim_ns = experiment->now_ns + (uint64_t)(experiment->scenario->customer_s * 1e9),
	};
	experiment->counts.offers++;
	if (experiment->sale.claim_ns == experiment->now_ns)
		claim(experiment);
}

/* An open offer closes when there is too little to sell. */
static void restate(struct experiment *experiment)
{
	if (experiment_fund(experiment, &experiment->params, &experiment->gpu.flavor) >= 0)
		return;
	experiment->sale = (struct sale){.state = SALE_NONE};
	experiment->counts.closed++;
	experiment_emit(experiment, "closed", "", "less than %d %% could be funded for it any more",
			experiment->params.min_newcomer_pct);
}

static void fail(struct experiment *experiment)
{
	struct sale *sale = &experiment->sale;
	const struct scenario *scenario = experiment->scenario;
	int after_s = scenario->migrate ? scenario->migrate_s : scenario->remove_s;
	uint64_t at_ns = experiment->now_ns + (uint64_t)after_s * NS_PER_S;

	sale->state = SALE_FAILED;
	experiment->counts.failed++;
	if ((scenario->migrate || after_s > 0) && sale->newcomer->leaves_ns > at_ns)
		sale->newcomer->leaves_ns = at_ns;
}

static void watch(struct experiment *experiment)
{
	const struct policy_gpu *gpu = &experiment->gpu;
	struct sale *sale = &experiment->sale;
	double dt_s = (double)experiment->period_ns / 1e9, broken_pct;
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
		fail(experiment);
		experiment_emit(experiment, "failed", id, "severe overload in %d periods together",
				sale->severe_run);
		return;
	}
	if (experiment->now_ns < sale->probation_ends_ns || sale->watched_s <= 0)
		return;
	broken_pct = 100 * sale->broken_s / sale->watched_s;
	if (broken_pct > experiment->scenario->probation_broken_pct) {
		fail(experiment);
		experiment_emit(experiment, "failed", id,
				"%.1f %% of the vGPU-seconds were broken, "
				"allowed are %.1f %%",
				broken_pct, experiment->scenario->probation_broken_pct);
		return;
	}
	experiment->counts.kept++;
	experiment_emit(experiment, "kept", id, "%.1f %% of the vGPU-seconds were broken",
			broken_pct);
	*sale = (struct sale){.state = SALE_NONE};
}

void sale_update(struct experiment *experiment)
{
	struct sale *sale = &experiment->sale;

	if (sale->state == SALE_OPEN) {
		restate(experiment);
		if (sale->state == SALE_OPEN && experiment->now_ns >= sale->claim_ns)
			claim(experiment);
	} else if (sale->state == SALE_PROBATION && experiment->now_ns > sale->claim_ns) {
		watch(experiment);
	}
}

void sale_left(struct experiment *experiment, const struct tenant *tenant)
{
	if (experiment->sale.newcomer == tenant)
		experiment->sale = (struct sale){.state = SALE_NONE};
}
