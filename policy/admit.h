/* SPDX-License-Identifier: MIT */
/* Decides when to offer one more vGPU: rule 4, with the total load or with a predicted peak. */
#ifndef POLICY_ADMIT_H
#define POLICY_ADMIT_H

#include "policy/fund.h"

/* A prediction of the largest total use. */
struct peak {
	double pct; /* of the GPU */
	int cold;   /* vGPUs that are too new to predict and count at their contract */
};

struct admission {
	/* NULL: the rule is that the total load is below lowload_pct. Otherwise the rule is that
	 * the predicted peak and a newcomer's contract together fit the GPU. */
	struct peak (*predict)(const struct policy_params *params, const struct policy_gpu *gpu);
	/* Writes what the peak consists of, in the plural: "the largest uses of each vGPU". */
	void (*describe)(const struct policy_params *params, struct policy_decision *decision);
};

extern const struct admission admit_by_load;

/* Computes the first cap of a newcomer by the policy's own rule. */
typedef int admit_fund_fn(const struct policy_params *params, const struct policy_gpu *gpu,
			  const struct policy_terms *terms, struct fund *ret_fund);

/*
 * Counts calm periods, in which no vGPU needed help and no offer was live, and offers one more vGPU
 * after enough of them. A period in which caps @moved counts as calm, but makes no offer.
 */
void admit_period(const struct policy_params *params, struct policy_gpu *gpu,
		  const struct admission *admission, admit_fund_fn *fund, bool calm, bool moved,
		  struct policy_out *out);

#endif
