/* SPDX-License-Identifier: MIT */
/*
 * Policies that say what every vGPU should have, and the way from there to caps: a file for each
 * says the assigned, this one makes the moves, funds a newcomer and takes back what a leaver had.
 */
#ifndef POLICY_BASELINE_ASSIGN_H
#define POLICY_BASELINE_ASSIGN_H

#include "policy/baseline/waterfill.h"
#include "policy/fund.h"

/* What every vGPU should have, in whole steps between its floor and its ceiling; together no more
 * than the GPU. */
struct assignment {
	int cap_pct[POLICY_VGPUS_MAX]; /* indexed as policy_gpu.vgpus */
	int newcomer_pct;
	/* what is told of it, each where the rule has it */
	int shared_pct; /* of the GPU, what is in no cap that is fixed */
	int wanting;	/* vGPUs that use all they have */
	int demand_pct; /* all together, as estimated */
	int spare_pct;	/* shared beyond the demand, or given from one to another */
};

struct assign_rule {
	/* Remembers a period in which all was read, before the assigned; may be NULL. */
	void (*read)(const struct policy_params *params, struct policy_gpu *gpu);
	/* False where floors and holds leave nothing to divide: then nothing moves. @newcomer may
	 * be NULL. */
	bool (*compute)(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_terms *newcomer, struct assignment *ret_assigned);
	void (*explain)(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_out *out, const struct assignment *assigned,
			struct policy_decision *decision);
	const char *share; /* of a newcomer, in words: "its equal share" */
	/* The aim rests on readings: nothing moves while one is invalid or the tick was late, nor
	 * for less than the dead band. */
	bool reads;
};

/* Takes in one period and makes its moves. True where something moved. */
bool assign_step(const struct policy_params *params, struct policy_gpu *gpu,
		 const struct assign_rule *rule, struct policy_out *out);

/* All was read, the GPU is on sale and no offer stands. */
bool assign_may_offer(const struct policy_gpu *gpu);

/* Nobody needs help that a cap could give (rule 4). */
bool assign_is_calm(const struct policy_gpu *gpu);

/* As fund_plan() and policy_fund(), policy_return(). */
int assign_fund_plan(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_terms *terms, const struct assign_rule *rule,
		     struct fund *ret_fund);
int assign_fund(const struct policy_params *params, struct policy_gpu *gpu,
		const struct policy_terms *terms, const struct assign_rule *rule,
		struct policy_out *out);
void assign_return(const struct policy_params *params, struct policy_gpu *gpu,
		   const struct assign_rule *rule, struct policy_out *out);

/* Those who divide the GPU among them, each with its floor, its ceiling and a weight of 1. */
struct waterfill {
	struct waterfill_entry entries[WATERFILL_MAX];
	int n;	   /* the newcomer, where there is one, is the last */
	int total; /* steps that are theirs to divide */
	int extra; /* of them beyond all floors; below 0: the floors do not fit */
};

/* All that are not held, and with @reads all that were read. */
void assign_begin(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_terms *newcomer, bool reads, struct waterfill *ret_fill);

/* What came of it; who takes no part keeps its cap. */
void assign_finish(const struct policy_gpu *gpu, const struct waterfill *fill,
		   struct assignment *ret_assigned);

#endif
