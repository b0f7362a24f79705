/* SPDX-License-Identifier: MIT */
/* A plan: who changes by how much. Made whole before the first want_cap_pct is touched. */
#ifndef POLICY_PLAN_H
#define POLICY_PLAN_H

#include "policy/policy.h"

struct plan {
	int delta_pct[POLICY_VGPUS_MAX]; /* indexed as policy_gpu.vgpus */
};

/* Nobody changes. At most POLICY_VGPUS_MAX vGPUs is the caller's promise. */
void plan_init(struct plan *plan, const struct policy_gpu *gpu);

/* Sets want_cap_pct of every vGPU. Returns how many of them change. */
int plan_apply(const struct plan *plan, struct policy_gpu *gpu);

/* Applies the plan and adds a decision with its moves to @out: decreases first, each part by id.
 * Whom it is for, its numbers and its sentence are the caller's. */
struct policy_decision *plan_decide(const struct plan *plan, struct policy_gpu *gpu,
				    enum policy_kind kind, struct policy_out *out);

int plan_sum_cap_pct(const struct policy_gpu *gpu);

/* Whole steps in no cap; below 0 when the caps pass 100. */
int plan_free_steps(const struct policy_gpu *gpu);

/* @pct in whole steps, rounded down. */
int plan_whole_steps(const struct policy_gpu *gpu, double pct);

/* What was sold, in whole steps and at least one: the ceiling of all but those that burst. */
int plan_contract_pct(const struct policy_gpu *gpu, const struct policy_terms *terms);

#endif
