/* SPDX-License-Identifier: MIT */
/* Rule 4: offers one more vGPU while the GPU is calm and has room. */
#include "policy/admit.h"
#include "policy/explain.h"
#include "policy/signal.h"

const struct admission admit_by_load = {NULL, NULL};

/* Tolerates a rounding error: a peak of 40 % and a contract of 60 % fit. */
static bool has_room(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct admission *admission, struct peak *ret_peak)
{
	if (!admission->predict)
		return gpu->total_load < params->lowload_pct / 100.0;
	*ret_peak = admission->predict(params, gpu);
	return ret_peak->pct + gpu->flavor.initial_cap_pct <= 100 + 1e-6;
}

void admit_period(const struct policy_params *params, struct policy_gpu *gpu,
		  const struct admission *admission, admit_fund_fn *fund_newcomer, bool calm,
		  bool moved, struct policy_out *out)
{
	struct policy_decision *decision;
	struct peak peak = {0};
	struct fund fund;

	gpu->calm_run = calm && signal_all_read(gpu) && !gpu->offered ? gpu->calm_run + 1 : 0;
	if (moved || gpu->calm_run < params->quiet_periods || !gpu->selling ||
	    !has_room(params, gpu, admission, &peak) ||
	    fund_newcomer(params, gpu, &gpu->flavor, &fund) < 0)
		return;
	decision = fund_offer(gpu, &fund, out);
	if (admission->predict)
		explain_offer_peak(params, gpu, admission, &peak, &fund, decision);
	else
		explain_offer(params, gpu, &fund, decision);
	gpu->calm_run = 0;
}
