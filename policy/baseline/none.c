/* SPDX-License-Identifier: MIT */
/*
 * Stock GVT-g: all vGPUs have the same fixed share of the GPU, and their number is fixed
 * (none_vgpus; the paper's gVirt runs three). Steps left over by the division go to the vGPUs with
 * the lowest ids. A share is at most the contract and at least the floor; held caps are not shared.
 *
 * Caps depend on no reading, so this policy works where busy time cannot be read. Only offers need
 * valid readings.
 */
#include "policy/baseline/assign.h"
#include "policy/explain.h"
#include "policy/plan.h"

static bool compute_equal(const struct policy_params *params, const struct policy_gpu *gpu,
			  const struct policy_terms *newcomer, struct assignment *ret_assigned)
{
	struct waterfill fill;

	assign_begin(params, gpu, newcomer, false, &fill);
	if (fill.extra < 0)
		return false;
	(void)waterfill_allocate(fill.entries, fill.n, fill.extra);
	assign_finish(gpu, &fill, ret_assigned);
	return true;
}

static void explain_equal(const struct policy_params *params, const struct policy_gpu *gpu,
			  const struct policy_out *out, const struct assignment *assigned,
			  struct policy_decision *decision)
{
	(void)params;
	assign_explain_shared(gpu, assigned, decision);
	reason_add_text(decision,
			"%d vGPUs share %d %% of the GPU equally; no cap exceeds its contract",
			assign_count_sharers(gpu), assigned->shared_pct);
	reason_add_moves(gpu, out, decision);
}

static void explain_offer_equal(const struct policy_params *params, const struct policy_gpu *gpu,
				const struct policy_terms *terms, const struct fund *fund,
				struct policy_decision *decision)
{
	reason_add_number(decision, "vgpus", gpu->n_vgpus + gpu->absent.n);
	reason_add_number(decision, "none_vgpus", params->none_vgpus);
	reason_add_number(decision, "total_load_pct", 100 * gpu->total_load);
	explain_newcomer(params, gpu, terms, fund, decision);
	reason_add_text(decision,
			"The GPU has %d of at most %d vGPUs: a contract of %d %% can be sold; the "
			"new vGPU would get %d %% now (an equal share), of which other vGPUs give "
			"%d %%",
			gpu->n_vgpus + gpu->absent.n, params->none_vgpus, terms->initial_cap_pct,
			fund->cap_pct, fund->given_pct);
	explain_absent(gpu, decision);
}

static const struct assign_rule equal = {
	.compute = compute_equal,
	.explain = explain_equal,
	.share = "an equal share of the GPU",
};

void none_step(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out)
{
	bool moved = assign_step(params, gpu, &equal, out);
	struct policy_decision *decision = NULL;
	struct fund fund;

	gpu->calm_run = 0;
	if (moved || !assign_may_offer(gpu) || gpu->n_vgpus + gpu->absent.n >= params->none_vgpus)
		return;
	for (int i = 0; i < gpu->n_flavors; i++)
		if (assign_fund_plan(params, gpu, &gpu->flavors[i], &equal, &fund) == 0 &&
		    fund_list(gpu, i, &fund, &decision, out))
			explain_offer_equal(params, gpu, &gpu->flavors[i], &fund, decision);
}

ASSIGN_FUNCTIONS(none, equal)
