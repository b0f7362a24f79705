/* SPDX-License-Identifier: MIT */
/*
 * For policies that assign a cap to every vGPU by a rule. The rule computes the caps; this module
 * makes the moves, funds a newcomer and redistributes the cap of a removed vGPU.
 */
#ifndef POLICY_BASELINE_ASSIGN_H
#define POLICY_BASELINE_ASSIGN_H

#include "policy/baseline/waterfill.h"
#include "policy/fund.h"

/* The cap of every vGPU by a rule, in whole steps between floor and ceiling; together at most the
 * GPU. */
struct assignment {
	int cap_pct[POLICY_VGPUS_MAX]; /* indexed as policy_gpu.vgpus */
	int newcomer_pct;
	/* for the explanation, if the rule has it: */
	int shared_pct; /* of the GPU, without fixed caps */
	int wanting;	/* vGPUs that use their whole cap */
	int demand_pct; /* estimated total demand */
	int spare_pct;	/* lent beyond the demand, or transferred */
};

struct assign_rule {
	/* Updates the tracks in a period with valid readings, before compute(). May be NULL. */
	void (*read)(const struct policy_params *params, struct policy_gpu *gpu);
	/* False if floors and holds do not fit: then no cap changes. @newcomer may be NULL. */
	bool (*compute)(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_terms *newcomer, struct assignment *ret_assigned);
	void (*explain)(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_out *out, const struct assignment *assigned,
			struct policy_decision *decision);
	const char *share; /* names the rule for a newcomer: "an equal share of the GPU" */
	/* Caps depend on readings: none changes while a reading is invalid or the tick was late,
	 * nor by less than the dead band. */
	bool uses_readings;
};

/* One period. Returns true if a cap changed. */
bool assign_step(const struct policy_params *params, struct policy_gpu *gpu,
		 const struct assign_rule *rule, struct policy_out *out);

/* True if all readings are valid, the GPU is selling and no offer is live. */
bool assign_may_offer(const struct policy_gpu *gpu);

/* True if there is no receiver (rule 4). */
bool assign_is_calm(const struct policy_gpu *gpu);

/* As fund_plan(), policy_fund() and policy_return(), by the rule. */
int assign_fund_plan(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_terms *terms, const struct assign_rule *rule,
		     struct fund *ret_fund);
int assign_fund(const struct policy_params *params, struct policy_gpu *gpu,
		const struct policy_terms *terms, const struct assign_rule *rule,
		struct policy_out *out);
void assign_return(const struct policy_params *params, struct policy_gpu *gpu,
		   const struct assign_rule *rule, struct policy_out *out);

/* The vGPUs among which a GPU is divided, each with its floor, its ceiling and a weight of 1. */
struct waterfill {
	struct waterfill_entry entries[WATERFILL_MAX];
	int n;	   /* entries; a newcomer is the last */
	int total; /* steps to divide */
	int extra; /* of them above all floors; negative: the floors do not fit */
};

/* Collects the vGPUs that are not held and, with @uses_readings, have a valid reading. */
void assign_begin(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_terms *newcomer, bool uses_readings,
		  struct waterfill *ret_fill);

/* The assigned caps after the division. Other vGPUs keep their caps. */
void assign_finish(const struct policy_gpu *gpu, const struct waterfill *fill,
		   struct assignment *ret_assigned);

#endif
