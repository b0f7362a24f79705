/* SPDX-License-Identifier: MIT */
/* The numbers and the sentence of a decision. Callers set the kind, vGPUs and moves of the decision
 * first. */
#ifndef POLICY_EXPLAIN_H
#define POLICY_EXPLAIN_H

#include "policy/plan.h"
#include "policy/policy.h"

/* The limit that determined the size of a steal. */
enum steal_bound { STEAL_SHARE, STEAL_ONE_STEP, STEAL_FLOOR, STEAL_CEILING, STEAL_LINE };

struct steal {
	int receiver;
	int donor;
	double unused_pct; /* unused part of the donor's cap, percent of the GPU */
	int steps;
	enum steal_bound bound;
};

void explain_steal(const struct policy_params *params, const struct policy_gpu *gpu,
		   const struct policy_out *out, const struct steal *steal,
		   struct policy_decision *decision);

/* Explains a decision of kind POLICY_POOL, or of kind POLICY_WAKE if the free pool gave the cap. */
void explain_pool(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_out *out, struct policy_decision *decision);

/* Explains a decision of kind POLICY_SEVERE. @n_signals: number of overloaded vGPUs. */
void explain_severe(const struct policy_gpu *gpu, int n_signals, struct policy_decision *decision);

/* Adds the numbers of every offer: the contract @terms, the newcomer's first cap and the sources of
 * that cap. */
void explain_newcomer(const struct policy_params *params, const struct policy_gpu *gpu,
		      const struct policy_terms *terms, const struct fund *fund,
		      struct policy_decision *decision);

/* Ends the sentence of an offer with the demand that was reserved for absent vGPUs. */
void explain_absent(const struct policy_gpu *gpu, struct policy_decision *decision);

void explain_offer(const struct policy_params *params, const struct policy_gpu *gpu,
		   const struct policy_terms *terms, const struct fund *fund,
		   struct policy_decision *decision);

void explain_fund(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_out *out, const struct policy_terms *terms,
		  const struct fund *fund, struct policy_decision *decision);

/* Explains a decision of kind POLICY_FUND that a policy made by its own rule. @share names that
 * rule: "an equal share of the GPU". */
void explain_fund_share(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_out *out, const struct policy_terms *terms,
			const struct fund *fund, const char *share,
			struct policy_decision *decision);

void explain_return(const struct policy_gpu *gpu, const struct policy_out *out,
		    struct policy_decision *decision);

/* The caps add up to 100 % + @over_pct before the moves, and to 100 % + @left_pct after the moves.
 * */
void explain_fit(const struct policy_gpu *gpu, const struct policy_out *out, int over_pct,
		 int left_pct, struct policy_decision *decision);

void explain_hold(const struct policy_gpu *gpu, const struct policy_out *out, int cap_pct,
		  struct policy_decision *decision);

/* After a change of the contract, caps from @least_pct to @most_pct are allowed. */
void explain_set(const struct policy_gpu *gpu, const struct policy_out *out, int least_pct,
		 int most_pct, struct policy_decision *decision);

/* Adds a number. @name is static text that ends with the unit. A decision has at most
 * POLICY_NUMBERS_MAX numbers. */
void reason_add_number(struct policy_decision *decision, const char *name, double value);

/* Appends text to the sentence. A sentence that is too long is cut and ends with "...". */
__attribute__((format(printf, 2, 3))) void reason_add_text(struct policy_decision *decision,
							   const char *format, ...);

/* Appends the first moves and the number of the other moves: ": a 50 -> 44 %, b 20 -> 26 %". */
void reason_add_moves(const struct policy_gpu *gpu, const struct policy_out *out,
		      struct policy_decision *decision);

/* Appends "1/5" for 0.2. */
void reason_add_fraction(struct policy_decision *decision, double fraction);

/* Returns the sum of the raises in percent, or of the cuts if @sign is -1. */
int reason_sum_moved_pct(const struct policy_out *out, const struct policy_decision *decision,
			 int sign);

#endif
