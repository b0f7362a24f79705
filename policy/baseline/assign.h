/* SPDX-License-Identifier: MIT */
/*
 * Common code of the policies that assign a cap to every vGPU by a rule. The rule computes the
 * caps; this module makes the moves, funds a newcomer and redistributes the cap of a removed vGPU.
 */
#ifndef POLICY_BASELINE_ASSIGN_H
#define POLICY_BASELINE_ASSIGN_H

#include <stdint.h>

#include "policy/explain.h"
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

#define WATERFILL_MAX \
	(POLICY_VGPUS_MAX + 1) /* largest number of entries: all vGPUs and a newcomer */

/* A vGPU or a newcomer. All members are integers, so that no result depends on the order. */
struct waterfill_entry {
	const char *id; /* NULL: the newcomer, which loses every tie */
	int vgpu;	/* index for the caller; not used here */
	int64_t weight; /* weight relative to the other entries, 1 to 1e9 */
	int steps;	/* before the call: the floor; after the call: the allocation */
	int limit;	/* largest allocation in steps, at most 100 */
};

/*
 * Gives @extra steps one by one, each to the entry whose allocation is smallest in proportion to
 * its weight. An entry at its limit gets no step. Ties go to the lowest id. Returns the steps
 * given: fewer than @extra if the limits do not allow more.
 */
int waterfill_allocate(struct waterfill_entry *fills, int n, int extra);

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

/*
 * The functions below estimate demand from use. While a vGPU uses less than its cap, the demand is
 * the use. While a vGPU uses its whole cap, the demand is unknown, and the cap is raised until part
 * of the cap stays unused (a probe).
 */

/* Returns true if @vgpu uses the whole time that was available (signal_use()), so that its demand
 * may be larger. */
bool probe_is_censored(const struct policy_params *params, const struct policy_gpu *gpu,
		       const struct policy_vgpu *vgpu);

/* Returns the smallest cap with which the largest use of the last demand_periods is below
 * overload_pct. */
int probe_need_steps(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_vgpu *vgpu);

/* Returns the next cap of a probe, in steps, if a cap of @pct was used completely. It exceeds @pct
 * by the fraction demand_probe of @pct, and at least by the dead band. */
int probe_more_steps(const struct policy_params *params, const struct policy_gpu *gpu, int pct);

/* Returns the dead band in steps, at least one step. */
int probe_band_steps(const struct policy_params *params, const struct policy_gpu *gpu);

/* Add the numbers of a decision of kind POLICY_SHARE and begin its sentence; the second function
 * is for rules that use readings. */
void assign_explain_shared(const struct policy_gpu *gpu, const struct assignment *assigned,
			   struct policy_decision *decision);
void assign_explain_demand(const struct policy_params *params, const struct policy_gpu *gpu,
			   const struct assignment *assigned, struct policy_decision *decision);
int assign_count_sharers(const struct policy_gpu *gpu); /* vGPUs that are not held */

/* Defines the functions of @policy that fund a newcomer and redistribute the cap of a removed
 * vGPU. */
#define ASSIGN_FUNCTIONS(policy, rule)                                                   \
	int policy##_fund(const struct policy_params *params, struct policy_gpu *gpu,    \
			  const struct policy_terms *terms, struct policy_out *out)      \
	{                                                                                \
		return assign_fund(params, gpu, terms, &(rule), out);                    \
	}                                                                                \
	void policy##_return(const struct policy_params *params, struct policy_gpu *gpu, \
			     struct policy_out *out)                                     \
	{                                                                                \
		assign_return(params, gpu, &(rule), out);                                \
	}

#endif
