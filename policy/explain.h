/* SPDX-License-Identifier: MIT */
/* The numbers and the sentence of a decision whose moves are in @out. */
#ifndef POLICY_EXPLAIN_H
#define POLICY_EXPLAIN_H

#include "policy/admit.h"
#include "policy/qos/bargain.h"
#include "policy/qos/ration.h"
#include "policy/qos/settle.h"

/* What kept a steal from being just its share of the donor's unused cap. */
enum steal_bound { STEAL_SHARE, STEAL_ONE_STEP, STEAL_FLOOR, STEAL_CEILING, STEAL_LINE };

struct steal {
	int receiver;
	int donor;
	double unused_pct;
	int steps;
	enum steal_bound bound;
};

void explain_steal(const struct policy_params *params, const struct policy_gpu *gpu,
		   const struct policy_out *out, const struct steal *steal,
		   struct policy_decision *decision);

/* POLICY_POOL, and POLICY_WAKE where the pool gave. */
void explain_pool(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_out *out, struct policy_decision *decision);

/* decision->vgpu is the one whose move relieves most; @n_signals stand against each other. */
void explain_severe(const struct policy_gpu *gpu, int n_signals, struct policy_decision *decision);

/* What every offer says of the newcomer: what he is sold, and what can be funded now, whence. */
void explain_newcomer(const struct policy_params *params, const struct policy_gpu *gpu,
		      const struct fund *fund, struct policy_decision *decision);

void explain_offer(const struct policy_params *params, const struct policy_gpu *gpu,
		   const struct fund *fund, struct policy_decision *decision);

/* The same where a predicted peak stands in the place of the load. */
void explain_offer_peak(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct admission *admission, const struct peak *peak,
			const struct fund *fund, struct policy_decision *decision);

void explain_fund(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_out *out, const struct policy_terms *terms,
		  const struct fund *fund, struct policy_decision *decision);

void explain_return(const struct policy_gpu *gpu, const struct policy_out *out,
		    struct policy_decision *decision);

/* The caps passed 100 by @over_pct, and still do by @left_pct. */
void explain_fit(const struct policy_gpu *gpu, const struct policy_out *out, int over_pct,
		 int left_pct, struct policy_decision *decision);

void explain_hold(const struct policy_gpu *gpu, const struct policy_out *out, int cap_pct,
		  struct policy_decision *decision);

/* A contract allows caps from @least_pct to @most_pct now. */
void explain_set(const struct policy_gpu *gpu, const struct policy_out *out, int least_pct,
		 int most_pct, struct policy_decision *decision);

/* --- explain-share.c: POLICY_SHARE by each of the rules --- */

void explain_equal(const struct policy_params *params, const struct policy_gpu *gpu,
		   const struct policy_out *out, const struct aim *aim,
		   struct policy_decision *decision);
void explain_static(const struct policy_params *params, const struct policy_gpu *gpu,
		    const struct policy_out *out, const struct aim *aim,
		    struct policy_decision *decision);

void explain_credit(const struct policy_params *params, const struct policy_gpu *gpu,
		    const struct policy_out *out, const struct aim *aim,
		    struct policy_decision *decision);
void explain_fair(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_out *out, const struct aim *aim,
		  struct policy_decision *decision);

/* POLICY_OFFER where the number of vGPUs, or what may be sold, is fixed. */
void explain_offer_equal(const struct policy_params *params, const struct policy_gpu *gpu,
			 const struct fund *fund, struct policy_decision *decision);
void explain_offer_static(const struct policy_params *params, const struct policy_gpu *gpu,
			  const struct fund *fund, int sold_pct, struct policy_decision *decision);

/* POLICY_FUND where a rule says what a newcomer has; @share is the rule in words. */
void explain_fund_share(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_out *out, const struct policy_terms *terms,
			const struct fund *fund, const char *share,
			struct policy_decision *decision);

/* Caps that follow what is expected to be wanted. */
void explain_ration(const struct policy_gpu *gpu, const struct policy_out *out, enum ration ration,
		    const struct ration_view *view, struct policy_decision *decision);

/* decision->vgpu is the one to go: that frees @relief_pct. */
void explain_crowded(const struct policy_gpu *gpu, const struct ration_view *view,
		     double relief_pct, struct policy_decision *decision);

void explain_bargain(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct fund *fund, const struct bargain *bargain,
		     struct policy_decision *decision);

#endif
