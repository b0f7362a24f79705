/* SPDX-License-Identifier: MIT */
/*
 * The claims of the vGPUs of one GPU to caps, for allocation.c and scarce.c. Claims are in the
 * order of the ids of their vGPUs, so that no result depends on the order of the array. Held vGPUs
 * have no claim.
 */
#ifndef POLICY_QOS_CLAIMS_H
#define POLICY_QOS_CLAIMS_H

#include "policy/policy.h"

/* A possible raise of a cap, up to the cap that serves all demands up to @level. */
struct raise {
	int level, more_pct;
	double saved; /* decrease of P(demand > cap) per percent of cap; 0: no raise */
};

struct claim {
	const struct policy_vgpu *vgpu;
	int floor_pct, ceiling_pct;
	int least_pct; /* smallest cap that may serve the present demand */
	int shown_pct; /* cap with which this demand also stays measurable */
	int now_pct;   /* cap that serves it in spite of errors of measurement */
	int share_pct; /* part of the GPU by contract */
	int need_pct;  /* cap that serves the expected demand */
	int cap_pct;   /* planned cap */
	int level;     /* if need exceeds supply: the last level that a raise served; -1: none */
	bool served;   /* if need exceeds supply: cap_pct is at least now_pct */
	struct raise raise;
	double above[POLICY_LEVELS];
	int stay_pct; /* if need exceeds supply: the cap of its demand on its present level */
	int level_pct[POLICY_LEVELS]; /* if need exceeds supply: the cap that serves each level */
};

struct allocator {
	const struct policy_gpu *gpu;
	int room_pct; /* percent of the GPU that is divided among the claims */
	int n;
	struct claim claims[POLICY_VGPUS_MAX];
};

/* Collects the claims of @gpu, except needs and planned caps. @spared_pct: percent of the GPU that
 * belong to no claim. */
void claims_collect(const struct policy_params *params, const struct policy_gpu *gpu,
		    int spared_pct, struct allocator *ret_alloc);

/* Returns @pct in whole steps, rounded up, between floor and ceiling. */
int claims_whole_pct(const struct allocator *alloc, const struct claim *claim, double pct);

/* Returns the cap that serves every demand up to @level; with @tolerated, the cap that serves the
 * fraction demand_tolerance() of it. */
int claims_level_pct(const struct allocator *alloc, const struct claim *claim, int level,
		     bool tolerated);

/* Plans the caps in force. */
void claims_keep_caps(struct allocator *alloc);

/*
 * Plans caps if the GPU cannot meet all needs (scarce.c). Each vGPU gets its entitlement: the
 * smaller of its present demand and its share. The rest serves whole demands, then parts of
 * demands, then demands that are likely to follow. If the present caps are nearly as good, they are
 * kept.
 */
void scarce_plan(struct allocator *alloc);

#endif
