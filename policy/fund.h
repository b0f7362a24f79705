/* SPDX-License-Identifier: MIT */
/* Plans rule 9: computes the cap that a newcomer would get now. */
#ifndef POLICY_FUND_H
#define POLICY_FUND_H

#include "policy/plan.h"

/* Writes the plan to *ret_fund. Returns 0, or -ENOSPC in the same cases as policy_fund(). */
int fund_plan(const struct policy_params *params, const struct policy_gpu *gpu,
	      const struct policy_terms *terms, struct fund *ret_fund);

/* Adds the decision to fund a newcomer, with the moves of @fund. The caller explains the decision.
 * */
struct policy_decision *fund_decide(struct policy_gpu *gpu, const struct fund *fund,
				    struct policy_out *out);

/*
 * Lists the contract gpu->flavors[@flavor], which is admitted, in the offer *@decision. NULL: first
 * adds the decision to offer one more vGPU, without moves, and returns true: this contract leads
 * the offer, and the caller explains the decision by it.
 */
bool fund_list(struct policy_gpu *gpu, int flavor, const struct fund *fund,
	       struct policy_decision **decision, struct policy_out *out);

#endif
