/* SPDX-License-Identifier: MIT */
/*
 * For policies that assign a cap to every vGPU by a rule. The rule computes the caps; this module
 * makes the moves, funds a newcomer and redistributes the cap of a removed vGPU.
 */
#ifndef POLICY_BASELINE_ASSIGN_H
#define POLICY_BASELINE_ASSIGN_H

#include "policy/baseline/waterfill.h"
#include "policy/fund.h"

/* The caps that a rule assigns to all vGPUs, in whole steps between floor and ceiling. Their sum is
 * at most the GPU. */
struct assignment {
	int cap_pct[POLICY_VGPUS_MAX]; /* indexed as policy_gpu.vgpus */
	int newcomer_pct;
	/* For the explanation, if the rule computes these numbers: */
	int shared_pct; /* percent of the GPU without the fixed caps */
	int wanting;	/* vGPUs that use their whole cap */
	int demand_pct; /* estimated total demand */
	int spare_pct;	/* lent beyond the demand, or transferred between vGPUs */
};

struct assign_rule {
	/* Updates the tracks in a period with valid readings, before compute(). Can be NULL. */
	void (*read)(const struct policy_params *params, struct policy_gpu *gpu);
	/* Computes the caps. Returns false if floors and holds do not fit the GPU; then no cap
	 * changes. @newcomer can be NULL. */
	bool (*compute)(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_terms *newcomer, struct assignment *ret_assigned);
	void (*explain)(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_out *out, const struct assignment *assigned,
			struct policy_decision *decision);
	const char *share; /* name of the rule in the explanation for a newcomer: "an equal share of
			      the GPU" */
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

/* Do the same as fund_plan(), policy_fund() and policy_return(), but by the rule. */
int assign_fund_plan(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_terms *terms, const struct assign_rule *rule,
		     struct fund *ret_fund);
int assign_fund(const struct policy_params *params, struct policy_gpu *gpu,
		const struct policy_terms *terms, const struct assign_rule *rule,
		struct policy_out *out);
void assign_return(const struct policy_params *params, struct policy_gpu *gpu,
		   const struct assign_rule *rule, struct policy_out *out);

/* The vGPUs that share a GPU by weight, each with its floor, its ceiling and a weight of 1. */
struct waterfill {
	struct waterfill_entry entries[WATERFILL_MAX];
	int n;	   /* number of entries; a newcomer is the last entry */
	int total; /* steps to divide among all entries */
	int extra; /* steps above the sum of all floors; negative if the floors do not fit
		    */
};

/* Collects the vGPUs that are not held and, with @uses_readings, have a valid reading. */
void assign_begin(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_terms *newcomer, bool uses_readings,
		  struct waterfill *ret_fill);

/* Writes the assigned caps after the division. Other vGPUs keep their caps. */
void assign_finish(const struct policy_gpu *gpu, const struct waterfill *fill,
		   struct assignment *ret_assigned);

#endif
