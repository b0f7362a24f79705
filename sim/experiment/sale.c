/* SPDX-License-Identifier: MIT */
/*
 * The sale of a vGPU: a customer claims the open offer of a policy, and the newcomer is on
 * probation.
 */
#include <errno.h>

#include "base/clock.h"
#include "sim/experiment/tenants.h"

static struct offer_limits limits_of(const struct experiment *experiment)
{
	return (struct offer_limits){
		.min_newcomer_pct = experiment->params.min_newcomer_pct,
		.broken_pct = experiment->scenario->probation_broken_pct,
	};
}

/*
 * Moves a newcomer that failed its probation to another host. Without migration, removes it after
 * remove_s, if this is set.
 */
static void send_away(struct experiment *experiment)
{
	const struct scenario *scenario = experiment->scenario;
	struct tenant *newcomer = experiment->sale.newcomer;
	uint64_t at_ns = experiment->now_ns + (uint64_t)scenario->remove_s * NS_PER_S;

	if (scenario->migrate)
		tenants_move(experiment, newcomer);
	else if (scenario->remove_s > 0 && newcomer->leaves_ns > at_ns)
		newcomer->leaves_ns = at_ns;
}

/* Counts and reports the end of an offer: kept, failed or closed. */
static void finish(struct experiment *experiment)
{
	const struct sale *sale = &experiment->sale;
	const char *newcomer = sale->newcomer ? sale->newcomer->vgpu.id : "";
	struct offer_limits limits = limits_of(experiment);
	char why[OFFER_REASON_MAX];

	experiment->counts.kept += sale->life.state == OFFER_KEPT;
	experiment->counts.failed += sale->life.state == OFFER_FAILED;
	experiment->counts.closed += sale->life.state == OFFER_CLOSED;
	if (sale->life.state == OFFER_FAILED)
		send_away(experiment);
	offer_explain(&sale->life, &limits, newcomer, why);
	experiment_emit(experiment, offer_state_name(sale->life.state), newcomer, "%s", why);
}

static void restate(struct experiment *experiment, int funded_pct)
{
	if (offer_restate(&experiment->sale.life, funded_pct))
		finish(experiment);
}

static void claim(struct experiment *experiment)
{
	struct sale *sale = &experiment->sale;
	struct tenant *newcomer = tenants_admit_next(experiment);

	if (!newcomer) {
		restate(experiment, -ENOSPC);
		return;
	}
	sale->newcomer = newcomer;
	sale->claim_ns = experiment->now_ns;
	offer_claim(&sale->life,
		    experiment->now_ns + (uint64_t)experiment->scenario->probation_s * NS_PER_S);
	experiment->counts.sales++;
}

void sale_open(struct experiment *experiment)
{
	experiment->sale = (struct sale){
		.life.state = OFFER_OPEN,
		.life.expires_ns = UINT64_MAX,
		.claim_ns = experiment->now_ns + (uint64_t)(experiment->scenario->customer_s * 1e9),
	};
	experiment->counts.offers++;
	if (experiment->sale.claim_ns == experiment->now_ns)
		claim(experiment);
}

static void watch(struct experiment *experiment)
{
	const struct policy_gpu *gpu = &experiment->gpu;
	struct offer_period period = {.severe = offer_is_severe(gpu)};
	struct offer_limits limits = limits_of(experiment);
	double dt_s = (double)experiment->period_ns / 1e9;

	for (int i = 0; i < gpu->n_vgpus; i++) {
		period.watched_s += gpu->vgpus[i].busy_valid ? dt_s : 0;
		if (gpu->vgpus[i].busy_valid && offer_counts_broken(gpu, &gpu->vgpus[i]))
			period.broken_s += dt_s;
	}
	if (offer_update(&experiment->sale.life, &period, &limits, experiment->now_ns))
		finish(experiment);
}

void sale_update(struct experiment *experiment)
{
	struct sale *sale = &experiment->sale;

	if (sale->life.state == OFFER_OPEN) {
		restate(experiment, experiment_fund(experiment, &experiment->params,
						    &experiment->gpu.flavors[0]));
		if (sale->life.state == OFFER_OPEN && experiment->now_ns >= sale->claim_ns)
			claim(experiment);
	} else if (sale->life.state == OFFER_PROBATION && experiment->now_ns > sale->claim_ns) {
		watch(experiment);
	}
}
