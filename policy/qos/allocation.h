/* SPDX-License-Identifier: MIT */
/*
 * Allocates a GPU to vGPUs by their expected demand. If every cap serves its demand, no cap
 * changes. Otherwise the vGPUs with the most unneeded cap give the missing cap at once. If the GPU
 * cannot serve all demands, each vGPU gets at least the smaller of its demand and its share of the
 * GPU by contract, and the rest serves as many whole demands as possible.
 */
#ifndef POLICY_QOS_ALLOCATION_H
#define POLICY_QOS_ALLOCATION_H

#include "policy/plan.h"

enum allocation {
	ALLOCATION_KEPT,  /* the present caps suffice */
	ALLOCATION_MET,	  /* the planned caps suffice */
	ALLOCATION_TIGHT, /* the planned caps serve at least demand_tolerance() of each demand */
	ALLOCATION_SHORT, /* no caps suffice for all vGPUs */
};

/* Numbers for decisions and their explanations. */
struct allocation_summary {
	double now_pct;	 /* present total demand, percent; for a held vGPU, its cap */
	int need_pct;	 /* expected total demand, percent of the GPU */
	int largest;	 /* the vGPU with the largest raise; -1: no cap is raised */
	int largest_pct; /* cap that serves its expected demand, percent of the GPU */
};

/*
 * Plans the caps of all vGPUs of @gpu that are not held, in whole steps between floor and ceiling,
 * and keeps @spared_pct free for a newcomer. demand_learn() must have been called for this period.
 * No cap is below its floor, even if holds and floors together exceed the GPU.
 */
enum allocation allocation_plan(const struct policy_params *params, const struct policy_gpu *gpu,
				int spared_pct, struct plan *ret_plan,
				struct allocation_summary *ret_summary);

#endif
