/* SPDX-License-Identifier: MIT */
/* Rule 4: offers one more vGPU after a calm time if the GPU has room. */
#include "policy/admit.h"
#include "policy/explain.h"
#include "policy/signal.h"

const struct admission admit_by_load = {NULL, NULL};

/* @peak: the prediction, if there is one. */
static bool has_room(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct peak *peak, const struct policy_terms *terms)
{
	int absent_pct = gpu->absent.demand_pct;

	return peak ? peak->pct + absent_pct + terms->initial_cap_pct <= 100
		    : gpu->total_load + absent_pct / 100.0 < params->lowload_pct / 100.0;
}

/* Explains an offer by a predicted peak instead of the total load. */
static void explain_peak(const struct policy_params *params, const struct policy_gpu *gpu,
			 const struct admission *admission, const struct peak *peak,
			 const struct policy_terms *terms, const struct fund *fund,
			 struct policy_decision *decision)
{
	reason_add_number(decision, "calm_periods", gpu->calm_run);
	reason_add_number(decision, "total_load_pct", 100 * gpu->total_load);
	reason_add_number(decision, "peak_pct", peak->pct);
	explain_newcomer(params, gpu, terms, fund, decision);
	reason_add_number(decision, "cold", peak->cold);
	reason_add_number(decision, "predict_periods", params->predict_periods);
	reason_add_number(decision, "predict_sigmas", params->predict_sigmas);
	reason_add_text(decision, "No vGPU needed help for %d periods, and ", gpu->calm_run);
	admission->describe(params, decision);
	reason_add_text(decision, " over %d periods add up to %.1f %%", params->predict_periods,
			peak->pct);
	if (peak->cold > 0)
		reason_add_text(
			decision,
			" (%d vGPUs are younger than %d periods and count with their contracts)",
			peak->cold, params->predict_warm_periods);
	reason_add_text(decision,
			": a contract of %d %% fits; %d %% can be funded now, of which other vGPUs "
			"give %d %%",
			terms->initial_cap_pct, fund->cap_pct, fund->given_pct);
	explain_absent(gpu, decision);
}

void admit_period(const struct policy_params *params, struct policy_gpu *gpu,
		  const struct admission *admission, admit_fund_fn *fund_newcomer, bool calm,
		  bool moved, struct policy_out *out)
{
	struct policy_decision *decision = NULL;
	struct peak peak = {0}, *seen = admission->predict ? &peak : NULL;
	struct fund fund;

	gpu->calm_run = calm && signal_all_read(gpu) && !gpu->offered ? gpu->calm_run + 1 : 0;
	if (moved || gpu->calm_run < params->quiet_periods || !gpu->selling)
		return;
	if (seen)
		peak = admission->predict(params, gpu);
	for (int i = 0; i < gpu->n_flavors; i++) {
		const struct policy_terms *terms = &gpu->flavors[i];

		if (!has_room(params, gpu, seen, terms) ||
		    fund_newcomer(params, gpu, terms, &fund) < 0 ||
		    !fund_list(gpu, i, &fund, &decision, out))
			continue;
		if (seen)
			explain_peak(params, gpu, admission, seen, terms, &fund, decision);
		else
			explain_offer(params, gpu, terms, &fund, decision);
	}
	if (decision)
		gpu->calm_run = 0;
}
