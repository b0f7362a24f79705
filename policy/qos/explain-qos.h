/* SPDX-License-Identifier: MIT */
/* Writes the numbers and the sentences that explain the decisions of policy qos. */
#ifndef POLICY_QOS_EXPLAIN_QOS_H
#define POLICY_QOS_EXPLAIN_QOS_H

#include "policy/fund.h"
#include "policy/qos/allocation.h"
#include "policy/qos/profit.h"

void explain_allocation(const struct policy_gpu *gpu, const struct policy_out *out,
			enum allocation result, const struct allocation_summary *summary,
			struct policy_decision *decision);

/* Explains a decision of kind POLICY_SEVERE: removing decision->vgpu frees @relief_pct. */
void explain_overcommitted(const struct policy_gpu *gpu, const struct allocation_summary *summary,
			   double relief_pct, struct policy_decision *decision);

/* Explains a decision of kind POLICY_OFFER. */
void explain_profit(const struct policy_params *params, const struct policy_gpu *gpu,
		    const struct policy_terms *terms, const struct fund *fund,
		    const struct profit *profit, struct policy_decision *decision);

#endif
