/* SPDX-License-Identifier: MIT */
/* Rules 4, 8, 9, 10 and 12: offers, and the caps that follow from sales and from an operator. */
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
