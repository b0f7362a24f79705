/* SPDX-License-Identifier: MIT */
/*
 * Computes the expected profit of one more vGPU for one hour: its price minus the expected
 * penalties for broken time.
 */
#ifndef POLICY_QOS_PROFIT_H
#define POLICY_QOS_PROFIT_H

#include "policy/policy.h"

#define PROFIT_HOUR_S 3600.0

struct profit {
	double price;
	double trust;	 /* probability that a vGPU that does not fit is migrated (moving.h) */
	double misfit;	 /* probability that the newcomer does not fit */
	double overload; /* probability that the demands after the sale exceed the GPU */
	double moves;	 /* expected number of migrations */
	double risk;	 /* fraction of the time of all vGPUs that is expected to be broken after
			    the sale (policy/qos/futures.h), unless a migration ends it */
	double broken_s; /* expected broken vGPU-seconds per hour of the newcomer, and of other
			    vGPUs because of the newcomer */
	double penalty;	 /* expected penalties for broken_s, and the price of the migrations */
	double expected; /* price x (1 - misfit) - penalty */
};

/*
 * Computes the profit of one more vGPU, for each of the @n contracts @terms: at most
 * POLICY_FLAVORS_MAX. The profit of a contract does not depend on the other contracts.
 *
 * The demand of the newcomer is unknown. Several kinds of newcomers are assumed with equal
 * probability: one kind for each present vGPU, with the same demand, and one kind with a demand
 * between the largest present demand and the contract.
 *
 * A newcomer does not fit if it adds so much overload that the penalties exceed its price. It must
 * then be migrated. vGPUs are broken until then (policy/qos/moving.h).
 *
 * A migration ends an overload after the usual time, if vGPUs are migrated. profit.risk, from
 * sampled futures, contains the time until then, and the probability that vGPUs are not migrated.
 * It must be at most sale_risk_pct. The penalty does not contain this risk.
 */
void profit_expect(const struct policy_params *params, const struct policy_gpu *gpu,
		   const struct policy_terms *terms, int n, struct profit *ret_profits);

/* Returns true if one more vGPU should be sold. */
bool profit_is_enough(const struct policy_params *params, const struct profit *profit);

#define OVERLOAD_PCTS 101 /* number of whole percents of the GPU, 0 to 100 */

/* The distribution of the total demand, if the demands are independent. Elements 0 to 100 are the
 * probabilities of each whole percent; the last element is the probability of more than 100 %. */
struct overload {
	double share[OVERLOAD_PCTS + 1];
	int top; /* the largest possible total demand, percent */
};

/*
 * Computes the distribution for the vGPUs of @gpu. A demand below the floor counts as the floor.
 * The demand of a held vGPU is its cap.
 */
void overload_sum_demands(const struct policy_params *params, const struct policy_gpu *gpu,
			  struct overload *ret_overload);

/* Returns the probability that the total demand exceeds 100 % after one more vGPU is added. @share
 * is the distribution of the demand of that vGPU. */
double overload_probability(const struct overload *overload, const double share[OVERLOAD_PCTS]);

#endif
