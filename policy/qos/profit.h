/* SPDX-License-Identifier: MIT */
/*
 * Computes the expected profit of one more vGPU: its price less the penalties for the time in which
 * vGPUs may break, over one hour.
 */
#ifndef POLICY_QOS_PROFIT_H
#define POLICY_QOS_PROFIT_H

#include "policy/policy.h"

#define PROFIT_HOUR_S 3600.0

struct profit {
	double price;
	double misfit;	 /* probability that the newcomer does not fit */
	double overload; /* probability that the newcomer causes overload, in any period */
	double broken_s; /* expected broken vGPU-seconds: as many as in the last hour, and those of
			    the newcomer */
	double penalty;	 /* expected penalties for those seconds */
	double expected; /* price, weighted by the probability that the newcomer fits, less penalty
			  */
};

/*
 * Computes the profit of one more vGPU with gpu->flavor. Its demand is unknown: with equal
 * probability it resembles one of the present vGPUs, or is between the heaviest of them and its
 * contract. It does not fit if it adds so much overload that the penalties exceed its price. Then
 * it must be removed, and vGPUs are broken until it is (gpu->migrates says how soon). Without
 * migration, the overload that fitting newcomers add lasts for the hour.
 */
struct profit profit_expect(const struct policy_params *params, const struct policy_gpu *gpu);

#endif
