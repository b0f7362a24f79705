/* SPDX-License-Identifier: MIT */
/* Finds the cause of a bad period. */
#ifndef POLICY_PROMISE_CAUSE_H
#define POLICY_PROMISE_CAUSE_H

#include "policy/promise/promise.h"

/* Everything that the rules look at. */
struct cause_facts {
	const struct policy_params *params;
	const struct policy_gpu *gpu;
	const struct policy_vgpu *view;
	const struct promise_vgpu *vgpu;
	const struct promise_gpu *host;
};

/* True if another vGPU uses much more than its cap, so that caps guarantee nothing. */
bool cause_is_not_enforced(const struct cause_facts *facts);

/* Returns the first row of PROMISE_CAUSES that applies to a bad period. */
enum promise_cause cause_find(const struct cause_facts *facts);

/*
 * Returns the cap in percent that @view can give without becoming overloaded, in whole steps (as
 * rule 6 of docs/design.md). 0 if it is held or its busy time is unknown.
 */
int cause_spare_pct(const struct policy_params *params, const struct policy_gpu *gpu,
		    const struct policy_vgpu *view);

#endif
