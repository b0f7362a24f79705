/* SPDX-License-Identifier: MIT */
/*
 * Policies that say what every vGPU should have, and the way from there to caps: a file for each
 * says the aim, this one makes the moves, funds a newcomer and takes back what a leaver had.
 */
#ifndef POLICY_QOS_SETTLE_H
#define POLICY_QOS_SETTLE_H

#include "policy/fill.h"
#include "policy/fund.h"

/* What every vGPU should have, in whole steps between its floor and its ceiling; together no more
 * than the GPU. */
struct aim {
	int cap_pct[POLICY_VGPUS_MAX]; /* indexed as policy_gpu.vgpus */
	int newcomer_pct;
	/* what is told of it, each where the rule has it */
	int shared_pct; /* of the GPU, what is in no cap that is fixed */
	int wanting;	/* vGPUs that use all they have */
	int demand_pct; /* all together, as estimated */
	int spare_pct;	/* shared beyond the demand, or given from one to another */
};

struct settle_rule {
	/* Remembers a period in which all was read, before the aim; may be NULL. */
	void (*read)(const struct policy_params *params, struct policy_gpu *gpu);
	/* False where floors and holds leave nothing to divide: then nothing moves. @newcomer may
	 * be NULL. */
	bool (*aim)(const struct policy_params *params, const struct policy_gpu *gpu,
		    const struct policy_terms *newcomer, struct aim *ret_aim);
	void (*explain)(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_out *out, const struct aim *aim,
			struct policy_decision *decision);
	const char *share; /* of a newcomer, in words: "its equal share" */
	/* The aim rests on readings: nothing moves while one is invalid or the tick was late, nor
	 * for less than the dead band. */
	bool reads;
};

/* Takes in one period and makes its moves. True where something moved. */
bool settle_step(const struct policy_params *params, struct policy_gpu *gpu,
		 const struct settle_rule *rule, struct policy_out *out);

/* All was read, the GPU is on sale and no offer stands. */
bool settle_may_offer(const struct policy_gpu *gpu);

/* Nobody needs help that a cap could give (rule 4). */
bool settle_is_calm(const struct policy_gpu *gpu);

/* As fund_plan() and policy_fund(), policy_return(). */
int settle_fund_plan(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_terms *terms, const struct settle_rule *rule,
		     struct fund *ret_fund);
int settle_fund(const struct policy_params *params, struct policy_gpu *gpu,
		const struct policy_terms *terms, const struct settle_rule *rule,
		struct policy_out *out);
void settle_return(const struct policy_params *params, struct policy_gpu *gpu,
		   const struct settle_rule *rule, struct policy_out *out);

/* Those who divide the GPU among them, each with its floor, its ceiling and a weight of 1. */
struct division {
	struct fill fills[FILL_MAX];
	int n;	   /* the newcomer, where there is one, is the last */
	int total; /* steps that are theirs to divide */
	int extra; /* of them beyond all floors; below 0: the floors do not fit */
};

/* All that are not held, and with @reads all that were read. */
void settle_divide(const struct policy_params *params, const struct policy_gpu *gpu,
		   const struct policy_terms *newcomer, bool reads, struct division *ret_division);

/* What came of it; who takes no part keeps its cap. */
void settle_aim(const struct policy_gpu *gpu, const struct division *division, struct aim *ret_aim);

#endif
