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
	double misfit;	 /* probability that the newcomer does not fit */
	double overload; /* probability that the newcomer causes overload, in any period */
	double broken_s; /* expected broken vGPU-seconds: the average of a vGPU in the last hour,
			    and those that the newcomer causes */
	double penalty;	 /* expected penalties for broken_s */
	double expected; /* price x (1 - misfit) - penalty */
};

/*
 * Computes the profit of one more vGPU with the contract gpu->flavor. The demand of the newcomer is
 * unknown: with equal probability it equals the demand of one of the present vGPUs, or is between
 * the largest of these demands and the contract. A newcomer does not fit if it adds so much
 * overload that the penalties exceed its price. It must then be removed, and vGPUs are broken until
 * its removal, which is sooner if gpu->migrates is true. If gpu->migrates is false, the overload
 * that a fitting newcomer adds lasts for the hour.
 */
struct profit profit_expect(const struct policy_params *params, const struct policy_gpu *gpu);

#endif
