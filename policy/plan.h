/* SPDX-License-Identifier: MIT */
/*
 * Declares the functions of each policy, for policy/table.c, and builds plans. A plan contains the
 * change of each cap. Applying the complete plan sets every want_cap_pct.
 */
#ifndef POLICY_PLAN_H
#define POLICY_PLAN_H

#include "policy/policy.h"

struct plan {
	int delta_pct[POLICY_VGPUS_MAX]; /* same index as policy_gpu.vgpus */
};

/* A plan to fund a newcomer (rule 9). */
struct fund {
	int cap_pct;   /* the newcomer's first cap */
	int given_pct; /* percent that donors give; the rest comes from the free pool */
	int givers;
	struct plan plan;
};

/* Removes the decisions and moves of an earlier call from @out. */
void plan_clear(struct policy_out *out);

/* Begins a plan in which no cap changes. @gpu has at most POLICY_VGPUS_MAX vGPUs. */
void plan_init(struct plan *plan, const struct policy_gpu *gpu);

/* Sets want_cap_pct of every vGPU. Returns the number of caps that change. */
int plan_apply(const struct plan *plan, struct policy_gpu *gpu);

/* Applies the plan and adds a decision with the moves to @out: decreases first, then increases,
 * each group in the order of ids. The caller sets the vGPU, the donor and the explanation of the
 * decision. */
struct policy_decision *plan_decide(const struct plan *plan, struct policy_gpu *gpu,
				    enum policy_kind kind, struct policy_out *out);

/* Adds a decision without moves. */
struct policy_decision *plan_decide_nothing(struct policy_gpu *gpu, enum policy_kind kind,
					    struct policy_out *out);

/* Returns the sum of all caps, including those that are reserved for absent vGPUs. */
int plan_sum_cap_pct(const struct policy_gpu *gpu);

/* Returns the free pool in whole steps; negative if the sum of the caps exceeds 100 %. */
int plan_free_steps(const struct policy_gpu *gpu);

/* Returns @pct in whole steps, rounded down. */
int plan_whole_steps(const struct policy_gpu *gpu, double pct);

/* Returns the contract's cap in whole steps, at least one step. This is the ceiling of a vGPU
 * without burst. */
int plan_contract_pct(const struct policy_gpu *gpu, const struct policy_terms *terms);

/* --- the functions of each policy --- */

policy_step_fn gover_step, none_step, static_step, credit_step, fair_step, p99_step, nsigma_step,
	max_step, qos_step;
policy_fund_fn none_fund, static_fund, credit_fund, fair_fund, qos_fund;
policy_return_fn none_return, static_return, credit_return, fair_return;

#endif
