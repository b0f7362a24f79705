/* SPDX-License-Identifier: MIT */
/* Meets the expected demands. If the GPU cannot meet them all, scarce.c plans the caps. */
#include "base/number.h"
#include "policy/qos/allocation.h"
#include "policy/qos/claims.h"
#include "policy/qos/demand.h"

#define SURE	 0.01 /* accepted probability that the demand of a vGPU exceeds its cap */
#define GROW_PCT 2    /* percent added to a raise, so that raises are rare */

/* Computes the cap that each vGPU needs for its expected demand. With @tolerated, the cap only
 * has to serve the fraction demand_tolerance() of the demand. Returns the sum of these caps. */
static int find_needs(struct allocator *alloc, bool tolerated)
{
	int sum_pct = 0;

	for (int i = 0; i < alloc->n; i++) {
		struct claim *claim = &alloc->claims[i];
		int level = claim->vgpu->track->demand.level;

		while (claim->above[level] > SURE)
			level++;
		claim->need_pct =
			max_int(claim->shown_pct, claims_level_pct(alloc, claim, level, tolerated));
		sum_pct += claim->need_pct;
	}
	return sum_pct;
}

/* A cap that is a single step below the need is sufficient if it serves the tolerated part, so that
 * small variations of a demand cause no writes. */
static bool is_sufficient(const struct allocator *alloc, const struct claim *claim)
{
	int cap_pct = claim->vgpu->cap_pct;

	if (cap_pct > claim->ceiling_pct)
		return false;
	if (cap_pct >= claim->need_pct)
		return true;
	return cap_pct + alloc->gpu->step_pct >= claim->need_pct && cap_pct >= claim->least_pct &&
	       claim->above[claim->vgpu->track->demand.level] <= SURE;
}

static bool is_met(const struct allocator *alloc)
{
	int sum_pct = 0;
	bool met = true;

	for (int i = 0; i < alloc->n; i++) {
		const struct claim *claim = &alloc->claims[i];

		sum_pct += claim->vgpu->cap_pct;
		met = met && is_sufficient(alloc, claim);
	}
	return met && sum_pct <= alloc->room_pct;
}

/* Raises the caps that are below the need, and cuts the caps that exceed the need most. */
static void meet_needs(struct allocator *alloc)
{
	int step_pct = alloc->gpu->step_pct;
	int over_pct = -alloc->room_pct;

	for (int i = 0; i < alloc->n; i++) {
		struct claim *claim = &alloc->claims[i];
		int cap_pct = claim->vgpu->cap_pct;

		if (cap_pct < claim->need_pct)
			cap_pct = claims_whole_pct(alloc, claim, claim->need_pct + GROW_PCT);
		claim->cap_pct = min_int(cap_pct, claim->ceiling_pct);
		over_pct += claim->cap_pct;
	}
	while (over_pct > 0) {
		struct claim *most = &alloc->claims[0];

		for (int i = 1; i < alloc->n; i++) {
			struct claim *claim = &alloc->claims[i];

			if (claim->cap_pct - claim->need_pct > most->cap_pct - most->need_pct)
				most = claim;
		}
		most->cap_pct -= step_pct;
		over_pct -= step_pct;
	}
}

static void summarize(const struct allocator *alloc, int need_pct,
		      struct allocation_summary *ret_summary)
{
	int held_pct = 100 - alloc->room_pct, raised_pct = 0;

	*ret_summary = (struct allocation_summary){
		.now_pct = held_pct, .need_pct = held_pct + need_pct, .largest = -1};
	for (int i = 0; i < alloc->n; i++) {
		const struct claim *claim = &alloc->claims[i];
		const struct policy_vgpu *vgpu = claim->vgpu;

		ret_summary->now_pct += vgpu->track->demand.source == POLICY_DEMAND_SEEN
						? claim->least_pct
						: claim->need_pct;
		demand_note_need(vgpu, claim->need_pct);
		if (claim->cap_pct - vgpu->cap_pct <= raised_pct)
			continue;
		raised_pct = claim->cap_pct - vgpu->cap_pct;
		ret_summary->largest = (int)(vgpu - alloc->gpu->vgpus);
		ret_summary->largest_pct = claim->need_pct;
	}
}

/* Plans caps that meet all needs. Plans nothing and returns ALLOCATION_SHORT if the needs exceed
 * the GPU. */
static enum allocation meet_all(struct allocator *alloc, bool tolerated, int *ret_need_pct)
{
	*ret_need_pct = find_needs(alloc, tolerated);
	if (is_met(alloc)) {
		claims_keep_caps(alloc);
		return ALLOCATION_KEPT;
	}
	if (*ret_need_pct > alloc->room_pct)
		return ALLOCATION_SHORT;
	meet_needs(alloc);
	return tolerated ? ALLOCATION_TIGHT : ALLOCATION_MET;
}

enum allocation allocation_plan(const struct policy_params *params, const struct policy_gpu *gpu,
				int spared_pct, struct plan *ret_plan,
				struct allocation_summary *ret_summary)
{
	struct allocator alloc;
	enum allocation result;
	int need_pct;

	claims_collect(params, gpu, spared_pct, &alloc);
	result = meet_all(&alloc, false, &need_pct);
	if (result == ALLOCATION_SHORT)
		result = meet_all(&alloc, true, &need_pct);
	if (result == ALLOCATION_SHORT)
		scarce_plan(&alloc);
	summarize(&alloc, need_pct, ret_summary);
	plan_init(ret_plan, gpu);
	for (int i = 0; i < alloc.n; i++)
		ret_plan->delta_pct[alloc.claims[i].vgpu - gpu->vgpus] =
			alloc.claims[i].cap_pct - alloc.claims[i].vgpu->cap_pct;
	return result;
}
