/* SPDX-License-Identifier: MIT */
/*
 * Learns whether, and how fast, vGPUs that should leave the host are migrated. A call is a severe
 * overload that names a vGPU, or a newcomer that failed its probation. A call is answered if this
 * vGPU departs. A call that is not answered in time means that nobody migrates vGPUs. A later
 * departure of a named vGPU is evidence to the contrary.
 */
#ifndef POLICY_QOS_MOVING_H
#define POLICY_QOS_MOVING_H

#include "policy/policy.h"

/* Learns from one period: the departure of a named vGPU, the time of a pending call, and the
 * newcomer that failed its probation. */
void moving_learn(struct policy_gpu *gpu);

/* Notes that vGPU @index should leave the host. A pending call for the same vGPU continues. */
void moving_call(struct policy_gpu *gpu, int index);

/*
 * Returns the probability that a named vGPU is migrated: 0 without on_migrate and after a call that
 * was not answered, 1 after an answered call, otherwise 0.1.
 */
double moving_trust(const struct policy_gpu *gpu);

/* Returns the estimated time in seconds from a call to the departure. */
double moving_delay_s(const struct policy_gpu *gpu);

/* What was learned from earlier calls, without pending calls. All members are 0 if nothing was
 * learned. */
struct moving_estimate {
	bool unanswered; /* the last call was not answered */
	int answered;	 /* number of answered calls since then */
	double delay_s;	 /* estimated time from a call to the departure; 0: unknown */
};

/* Returns what was learned so far, so that the caller can store it across a restart. */
struct moving_estimate moving_save(const struct policy_moving *moving);

/* Sets what was learned earlier. Numbers out of range are replaced by the nearest allowed ones.
 * Pending calls do not change. */
void moving_load(struct policy_moving *moving, const struct moving_estimate *estimate);

#endif
