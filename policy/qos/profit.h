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

#endif
