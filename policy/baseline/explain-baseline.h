/* SPDX-License-Identifier: MIT */
/* Writes the numbers and the sentences that explain the decisions of the baseline policies. */
#ifndef POLICY_BASELINE_EXPLAIN_BASELINE_H
#define POLICY_BASELINE_EXPLAIN_BASELINE_H

#include "policy/baseline/assign.h"
#include "policy/explain.h"

/* Explain a decision of kind POLICY_SHARE, one function for each rule. */
void explain_equal(const struct policy_params *params, const struct policy_gpu *gpu,
		   const struct policy_out *out, const struct assignment *assigned,
		   struct policy_decision *decision);
void explain_static(const struct policy_params *params, const struct policy_gpu *gpu,
		    const struct policy_out *out, const struct assignment *assigned,
		    struct policy_decision *decision);
void explain_credit(const struct policy_params *params, const struct policy_gpu *gpu,
		    const struct policy_out *out, const struct assignment *assigned,
		    struct policy_decision *decision);
void explain_fair(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_out *out, const struct assignment *assigned,
		  struct policy_decision *decision);

/* Explain a decision of kind POLICY_OFFER of the policies none (fixed number of vGPUs) and static
 * (fixed overbooking ratio). */
void explain_offer_equal(const struct policy_params *params, const struct policy_gpu *gpu,
			 const struct policy_terms *terms, const struct fund *fund,
			 struct policy_decision *decision);
void explain_offer_static(const struct policy_params *params, const struct policy_gpu *gpu,
			  const struct policy_terms *terms, const struct fund *fund, int sold_pct,
			  struct policy_decision *decision);

#endif
