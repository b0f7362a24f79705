/* SPDX-License-Identifier: MIT */
/*
 * Dividing a GPU among vGPUs by what each is expected to want. Caps stay where they are while they
 * do; else who lacks gets it from whoever can spare most, at once. Where there is not enough for
 * all, the caps break as few promises as can be foreseen.
 */
#ifndef POLICY_QOS_ALLOCATION_H
#define POLICY_QOS_ALLOCATION_H

#include "policy/plan.h"

enum allocation {
	ALLOCATION_KEPT,  /* all have enough */
	ALLOCATION_MET,	  /* all will have, with the plan */
	ALLOCATION_TIGHT, /* all will have what the tolerance asks for, and no margin */
	ALLOCATION_SHORT, /* not all can */
};

/* What was seen while dividing. */
struct allocation_summary {
	double now_pct;	 /* wanted now by all, in whole steps, what is held counted at its cap */
	int need_pct;	 /* expected to be wanted */
	int largest;	 /* vGPU whose cap grows most; -1: none */
	int largest_pct; /* expected of it */
};

/*
 * Plans caps for all vGPUs of @gpu that are not held, in whole steps between their floors and
 * ceilings, with @spared_pct left in no cap (for a newcomer). Their demand (policy/qos/demand.h)
 * has learnt this period. Holds and floors may leave nothing: then nobody is below his floor.
 */
enum allocation allocation_plan(const struct policy_params *params, const struct policy_gpu *gpu,
				int spared_pct, struct plan *ret_plan,
				struct allocation_summary *ret_summary);

#endif
