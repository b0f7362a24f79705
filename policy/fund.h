/* SPDX-License-Identifier: MIT */
/* Rule 9 as a plan, for those who must know what a newcomer would get and change nothing. */
#ifndef POLICY_FUND_H
#define POLICY_FUND_H

#include "policy/plan.h"

struct fund {
	int cap_pct;   /* the newcomer's first cap */
	int given_pct; /* by the others; the rest is from the free pool */
	int givers;
	struct plan plan;
};

/* 0, or -ENOSPC when less than what policy_fund() asks for can be had. */
int fund_plan(const struct policy_params *params, const struct policy_gpu *gpu,
	      const struct policy_terms *terms, struct fund *ret_fund);

/* Adds the decision to offer one more vGPU that would begin as @fund says. It moves no cap. */
struct policy_decision *fund_offer(struct policy_gpu *gpu, const struct fund *fund,
				   struct policy_out *out);

#endif
