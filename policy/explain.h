/* SPDX-License-Identifier: MIT */
/* The numbers and the sentence of a decision. Its kind, vGPUs and moves are already set. */
#ifndef POLICY_EXPLAIN_H
#define POLICY_EXPLAIN_H

#include "policy/plan.h"

/* What limited the size of a steal. */
enum steal_bound { STEAL_SHARE, STEAL_ONE_STEP, STEAL_FLOOR, STEAL_CEILING, STEAL_LINE };

struct steal {
	int receiver;
	int donor;
	double unused_pct; /* of the donor's cap */
	int steps;
	enum steal_bound bound;
};

void explain_steal(const struct policy_params *params, const struct policy_gpu *gpu,
		   const struct policy_out *out, const struct steal *steal,
		   struct policy_decision *decision);

/* POLICY_POOL, and POLICY_WAKE if the free pool gave. */
void explain_pool(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_out *out, struct policy_decision *decision);

/* @n_signals: overloaded vGPUs. */
void explain_severe(const struct policy_gpu *gpu, int n_signals, struct policy_decision *decision);

/* The numbers that every offer has: the flavor offered, its first cap and where that comes from. */
void explain_newcomer(const struct policy_params *params, const struct policy_gpu *gpu,
		      const struct fund *fund, struct policy_decision *decision);

void explain_offer(const struct policy_params *params, const struct policy_gpu *gpu,
		   const struct fund *fund, struct policy_decision *decision);

void explain_fund(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_out *out, const struct policy_terms *terms,
		  const struct fund *fund, struct policy_decision *decision);

/* POLICY_FUND by a policy's own rule; @share names that rule: "an equal share of the GPU". */
void explain_fund_share(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_out *out, const struct policy_terms *terms,
			const struct fund *fund, const char *share,
			struct policy_decision *decision);

void explain_return(const struct policy_gpu *gpu, const struct policy_out *out,
		    struct policy_decision *decision);

/* The caps exceeded 100 % by @over_pct, and exceed it by @left_pct after the moves. */
void explain_fit(const struct policy_gpu *gpu, const struct policy_out *out, int over_pct,
		 int left_pct, struct policy_decision *decision);

void explain_hold(const struct policy_gpu *gpu, const struct policy_out *out, int cap_pct,
		  struct policy_decision *decision);

/* A changed contract allows caps from @least_pct to @most_pct. */
void explain_set(const struct policy_gpu *gpu, const struct policy_out *out, int least_pct,
		 int most_pct, struct policy_decision *decision);

#endif
