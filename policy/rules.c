/* SPDX-License-Identifier: MIT */
/*
 * Paper mode switches off every rule of gover that moves caps differently from the paper. This list
 * is complete: no other file reads params->paper_mode.
 */
#include "policy/rules.h"

struct rules rules_in_force(const struct policy_params *params)
{
	bool paper = params->paper_mode;

	return (struct rules){
		.met_target_excuses = !paper && params->use_ignores_met_target,
		.gpu_bound = paper ? 0 : params->qos_gpu_bound_pct / 100.0,
		.helpless_count = paper,
		.pool_first = !paper,
		.donor_below_line = !paper,
		.wake = !paper,
	};
}
