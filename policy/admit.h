/* SPDX-License-Identifier: MIT */
/* Decides when to offer one more vGPU: rule 4, with the total load or with a predicted peak. */
#ifndef POLICY_ADMIT_H
#define POLICY_ADMIT_H

#include "policy/fund.h"

/* A prediction of the largest total use. */
struct peak {
	double pct; /* percent of the GPU */
	int cold;   /* number of vGPUs without a prediction (cold): their contracts are used */
};

struct admission {
	/* Predicts the peak. A contract is admitted if this peak and the contract together fit the
	 * GPU. NULL: it is admitted if the total load is below lowload_pct. */
	struct peak (*predict)(const struct policy_params *params, const struct policy_gpu *gpu);
	/* Appends the source of the peak to the sentence: "the largest uses of each vGPU". */
	void (*describe)(const struct policy_params *params, struct policy_decision *decision);
};

extern const struct admission admit_by_load;

/* Computes the first cap of a newcomer by the policy's own rule. */
typedef int admit_fund_fn(const struct policy_params *params, const struct policy_gpu *gpu,
			  const struct policy_terms *terms, struct fund *ret_fund);

/*
 * Counts consecutive calm periods: no vGPU needed help, and no offer was live. After enough calm
 * periods, offers one more vGPU, with each contract of gpu->flavors that is admitted. @moved: caps
 * changed in this period, so no offer is made. Such a period still counts as calm.
 */
void admit_period(const struct policy_params *params, struct policy_gpu *gpu,
		  const struct admission *admission, admit_fund_fn *fund, bool calm, bool moved,
		  struct policy_out *out);

/* Decides a period as gover_step() does, but with the admission rule @admission. */
void gover_step_with(const struct policy_params *params, struct policy_gpu *gpu,
		     const struct admission *admission, struct policy_out *out);

#endif
