/* SPDX-License-Identifier: MIT */
/*
 * Whether one more vGPU is expected to pay: its price, against the penalties for what it may break,
 * weighed over an hour.
 */
#ifndef POLICY_QOS_PROFIT_H
#define POLICY_QOS_PROFIT_H

#include "policy/policy.h"

#define PROFIT_HOUR_S 3600.0

struct profit {
	double price;	 /* it brings */
	double misfit;	 /* chance, of 1, that it does not fit as it turns out to be */
	double overload; /* chance, of 1, that it makes more wanted than there is, in any period */
	double broken_s; /* vGPU-seconds expected to be broken for it: as many as each of those here
			    had in the last hour, and those that it adds */
	double penalty;	 /* for those */
	double expected; /* price, if it fits, less penalty */
};

/*
 * Weighs one more of gpu->flavor. What it will want is not known: it is taken to be as one of the
 * vGPUs here, each as likely as another, or once more as likely something between the heaviest of
 * them and all that is sold. One that adds so much crowding that the penalties would eat up its
 * price does not fit: it must go again, and breaks promises until it has (gpu->migrates says how
 * soon). Where nobody is moved, what those that fit add is there to stay and counts for the hour.
 */
struct profit profit_expect(const struct policy_params *params, const struct policy_gpu *gpu);

#endif
