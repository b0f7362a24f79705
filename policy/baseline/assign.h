/* SPDX-License-Identifier: MIT */
/*
 * Common code of the policies that assign a cap to every vGPU by a rule. The rule computes the
 * caps; this module makes the moves, funds a newcomer and redistributes the cap of a removed vGPU.
 */
#ifndef POLICY_BASELINE_ASSIGN_H
#define POLICY_BASELINE_ASSIGN_H

#include "policy/baseline/waterfill.h"
#include "policy/fund.h"

/* The caps that a rule assigns to all vGPUs, in whole steps between floor and ceiling. The sum of
 * these caps is at most 100 %. */
struct assignment {
	int cap_pct[POLICY_VGPUS_MAX]; /* same index as policy_gpu.vgpus */
	int newcomer_pct;
	/* Numbers for the explanation. A number that the rule does not compute is 0. */
	int shared_pct; /* percent of the GPU outside fixed caps */
	int wanting;	/* number of vGPUs that use their whole cap */
	int demand_pct; /* estimated total demand, percent of the GPU */
	int spare_pct;	/* percent of the GPU lent (fair) or transferred (credit) */
};

struct assign_rule {
	/* Called before compute() if all readings are valid, to update the tracks. May be NULL. */
	void (*read)(const struct policy_params *params, struct policy_gpu *gpu);
	/* Computes the caps. Returns false if floors and holds do not fit the GPU; then no cap
	 * changes. @newcomer NULL: no newcomer. */
	bool (*compute)(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_terms *newcomer, struct assignment *ret_assigned);
	void (*explain)(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_out *out, const struct assignment *assigned,
			struct policy_decision *decision);
	const char *share; /* the newcomer's first cap in words: "an equal share of the GPU" */
	/* True if caps depend on readings. No cap then changes while a reading is invalid or the
	 * tick was late, and no cap changes by less than the dead band. */
	bool uses_readings;
};

/* Decides one period. Returns true if a cap changed. */
bool assign_step(const struct policy_params *params, struct policy_gpu *gpu,
		 const struct assign_rule *rule, struct policy_out *out);

/* Returns true if all readings are valid, the GPU is selling and no offer is live. */
bool assign_may_offer(const struct policy_gpu *gpu);

/* Returns true if no vGPU is a receiver (rule 4). */
bool assign_is_calm(const struct policy_gpu *gpu);

/* Work like fund_plan(), policy_fund() and policy_return(), but with the caps of @rule. */
int assign_fund_plan(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_terms *terms, const struct assign_rule *rule,
		     struct fund *ret_fund);
int assign_fund(const struct policy_params *params, struct policy_gpu *gpu,
		const struct policy_terms *terms, const struct assign_rule *rule,
		struct policy_out *out);
void assign_return(const struct policy_params *params, struct policy_gpu *gpu,
		   const struct assign_rule *rule, struct policy_out *out);

/* A GPU to be divided among vGPUs and a newcomer by weight. */
struct waterfill {
	struct waterfill_entry entries[WATERFILL_MAX];
	int n;	   /* number of entries; a newcomer is the last entry */
	int total; /* steps to divide among all entries */
	int extra; /* steps left after each entry has its floor; negative if the floors do not fit
		    */
};

/* Creates an entry for each vGPU that is not held, and for @newcomer unless it is NULL. With
 * @uses_readings, a vGPU without a valid reading gets no entry. In a new entry, steps is the
 * floor, limit is the ceiling and weight is 1. */
void assign_begin(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_terms *newcomer, bool uses_readings,
		  struct waterfill *ret_fill);

/* Writes the steps of each entry to @ret_assigned, as a cap. A vGPU without an entry keeps its
 * cap. */
void assign_finish(const struct policy_gpu *gpu, const struct waterfill *fill,
		   struct assignment *ret_assigned);

#endif
