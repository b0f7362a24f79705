/* SPDX-License-Identifier: MIT */
/* When one more may be sold: rule 4, and the predictors that may stand in the place of its load. */
#ifndef POLICY_ADMIT_H
#define POLICY_ADMIT_H

#include "policy/fund.h"

/* What all are expected to use at most, together. */
struct peak {
	double pct; /* of the GPU */
	int cold;   /* vGPUs seen for too short a time: they count at their contract */
};

struct admission {
	/* NULL: rule 4 as it stands, the total load is below U_l. Else the peak and a newcomer's
	 * contract fit the GPU. */
	struct peak (*predict)(const struct policy_params *params, const struct policy_gpu *gpu);
	/* In words, a plural: "the largest uses of each". */
	void (*say)(const struct policy_params *params, struct policy_decision *decision);
};

extern const struct admission admit_by_load;

/* How much a newcomer would have, by the policy's own rule. */
typedef int (*admit_fund_fn)(const struct policy_params *params, const struct policy_gpu *gpu,
			     const struct policy_terms *terms, struct fund *ret_fund);

/*
 * Counts a period and sells one more when enough of them were calm: @calm says that nobody needed
 * help. A period in which caps @moved may count, but nothing is offered in it. What is calm while
 * an offer stands says nothing of the time after it (rule 9).
 */
void admit_period(const struct policy_params *params, struct policy_gpu *gpu,
		  const struct admission *admission, admit_fund_fn fund, bool calm, bool moved,
		  struct policy_out *out);

#endif
