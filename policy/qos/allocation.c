/* SPDX-License-Identifier: MIT */
/*
 * vGPUs are processed in the order of their ids, so that the result does not depend on the order of
 * the array.
 *
 * If the GPU cannot meet every expected demand, the demands of as few vGPUs as possible should
 * exceed their caps in the next period. The smallest present demands are served first. Further cap
 * goes to the vGPU whose probability of exceeding its cap then decreases most (demand_predict()).
 */
#include <math.h>

#include "base/number.h"
#include "policy/qos/demand.h"
#include "policy/sort.h"
#include "policy/qos/allocation.h"

#define SURE	      0.01 /* accepted probability that the demand of a vGPU exceeds its cap */
#define NOTHING_SAVED 1e-4 /* a raise with a smaller raise.saved is not made */
#define STAY	      1.2  /* a cap up to this multiple of the need is not cut */
#define PROBE_PCT     4	   /* minimum percent left for each unknown demand; with less, no probe */
#define GROW_PCT      2	   /* percent added to a raise, so that raises are rare */

/* A possible raise of a cap, up to the cap that serves all demands up to @level. */
struct raise {
	int level, more_pct;
	double saved; /* decrease of P(demand > cap) per percent of cap; 0: no raise */
};

struct claim {
	int vgpu;
	int floor_pct, ceiling_pct;
	int now_pct;  /* cap that serves the present demand */
	int used_pct; /* cap that serves the load; equals now_pct unless the demand is
			 estimated */
	int need_pct; /* cap that serves the expected demand */
	int cap_pct;  /* planned cap */
	int level;    /* if need exceeds supply: the last level that a raise served; -1: none */
	bool served;  /* if need exceeds supply: cap_pct is at least used_pct */
	struct raise raise;
	double above[POLICY_LEVELS];
	int level_pct[POLICY_LEVELS]; /* if need exceeds supply: the cap that serves each level */
};

struct allocator {
	const struct policy_gpu *gpu;
	int room_pct; /* percent of the GPU that is divided among the claims */
	int n;
	struct claim claims[POLICY_VGPUS_MAX];
};

/* Returns @pct in whole steps, rounded up, between floor and ceiling. */
static int claim_steps(const struct allocator *alloc, const struct claim *claim, double pct)
{
	int step_pct = alloc->gpu->step_pct;
	int whole_pct = (int)ceil(pct / step_pct - 1e-6) * step_pct;

	return max_int(claim->floor_pct, min_int(claim->ceiling_pct, whole_pct));
}

static int level_cap_pct(const struct allocator *alloc, const struct claim *claim, int level,
			 bool tolerated)
{
	const struct policy_vgpu *vgpu = &alloc->gpu->vgpus[claim->vgpu];
	double pct = demand_level_pct(vgpu, level);

	return claim_steps(alloc, claim, tolerated ? demand_tolerance(vgpu) * pct : pct);
}

static void collect_claims(const struct policy_params *params, const struct policy_gpu *gpu,
			   int spared_pct, struct allocator *alloc)
{
	int by_id[POLICY_VGPUS_MAX];

	alloc->gpu = gpu;
	alloc->room_pct = 100 - spared_pct;
	alloc->n = 0;
	for (int i = 0; i < gpu->n_vgpus; i++)
		by_id[i] = i;
	sort_by_id(gpu, by_id, gpu->n_vgpus);
	for (int i = 0; i < gpu->n_vgpus; i++) {
		const struct policy_vgpu *vgpu = &gpu->vgpus[by_id[i]];
		struct claim *claim = &alloc->claims[alloc->n];

		if (vgpu->held) {
			alloc->room_pct -= vgpu->cap_pct;
			continue;
		}
		alloc->n++;
		claim->vgpu = by_id[i];
		claim->floor_pct = policy_floor_pct(params, gpu, &vgpu->terms);
		claim->ceiling_pct = policy_ceiling_pct(gpu, &vgpu->terms);
		claim->now_pct =
			claim_steps(alloc, claim, demand_tolerance(vgpu) * demand_now_pct(vgpu));
		claim->used_pct = claim->now_pct;
		if (vgpu->track->demand.source != POLICY_DEMAND_SEEN)
			claim->used_pct = claim_steps(alloc, claim, 100 * vgpu->load);
		demand_predict(vgpu, claim->above);
	}
}

/* Computes the cap that each vGPU needs for its expected demand. With @tolerated, the cap only
 * has to serve the fraction demand_tolerance() of the demand. Returns the sum of these caps. */
static int find_needs(struct allocator *alloc, bool tolerated)
{
	int sum_pct = 0;

	for (int i = 0; i < alloc->n; i++) {
		struct claim *claim = &alloc->claims[i];
		int level = alloc->gpu->vgpus[claim->vgpu].track->demand.level;

		while (claim->above[level] > SURE)
			level++;
		claim->need_pct = level_cap_pct(alloc, claim, level, tolerated);
		sum_pct += claim->need_pct;
	}
	return sum_pct;
}

static bool is_met(const struct allocator *alloc)
{
	int sum_pct = 0;
	bool met = true;

	for (int i = 0; i < alloc->n; i++) {
		const struct claim *claim = &alloc->claims[i];
		const struct policy_vgpu *vgpu = &alloc->gpu->vgpus[claim->vgpu];

		sum_pct += vgpu->cap_pct;
		met = met && vgpu->cap_pct >= claim->need_pct &&
		      vgpu->cap_pct <= claim->ceiling_pct;
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
		int cap_pct = alloc->gpu->vgpus[claim->vgpu].cap_pct;

		if (cap_pct < claim->need_pct)
			cap_pct = claim_steps(alloc, claim, claim->need_pct + GROW_PCT);
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

/* --- not enough for all --- */

static void give(struct allocator *alloc, struct claim *claim, int cap_pct, int *left_pct)
{
	int step_pct = alloc->gpu->step_pct;
	int more_pct = min_int(cap_pct - claim->cap_pct, *left_pct / step_pct * step_pct);

	if (more_pct <= 0)
		return;
	claim->cap_pct += more_pct;
	*left_pct -= more_pct;
}

static enum policy_demand_source source_of(const struct allocator *alloc, const struct claim *claim)
{
	return alloc->gpu->vgpus[claim->vgpu].track->demand.source;
}

/* Among the claims that are not served yet and that @left_pct can serve, returns the claim with
 * the smallest use, or NULL. */
static struct claim *find_cheapest(struct allocator *alloc, int left_pct)
{
	struct claim *cheapest = NULL;

	for (int i = 0; i < alloc->n; i++) {
		struct claim *claim = &alloc->claims[i];

		if (!claim->served && claim->used_pct - claim->cap_pct <= left_pct &&
		    (!cheapest || claim->used_pct < cheapest->used_pct))
			cheapest = claim;
	}
	return cheapest;
}

static void serve_now(struct allocator *alloc, int *left_pct)
{
	struct claim *claim;

	while ((claim = find_cheapest(alloc, *left_pct))) {
		give(alloc, claim, claim->used_pct, left_pct);
		/* The next demand is unknown: serve_next() makes no raise for this claim. */
		if (source_of(alloc, claim) != POLICY_DEMAND_SEEN)
			claim->level = POLICY_LEVELS - 1;
		claim->served = true;
	}
}

/* Serves the demands that are estimated from earlier demands (POLICY_DEMAND_BY_HABIT). The smallest
 * raise is made first. */
static void serve_estimates(struct allocator *alloc, int *left_pct)
{
	for (;;) {
		struct claim *best = NULL;

		for (int i = 0; i < alloc->n; i++) {
			struct claim *claim = &alloc->claims[i];
			int more_pct = claim->now_pct - claim->cap_pct;

			if (source_of(alloc, claim) == POLICY_DEMAND_BY_HABIT && more_pct > 0 &&
			    more_pct <= *left_pct &&
			    (!best || more_pct < best->now_pct - best->cap_pct))
				best = claim;
		}
		if (!best)
			return;
		give(alloc, best, best->now_pct, left_pct);
	}
}

/* Sets claim->raise to the raise of at most @left_pct with the largest raise.saved. */
static void find_raise(struct claim *claim, int left_pct)
{
	double above = claim->level < 0 ? 1 : claim->above[claim->level];

	claim->raise = (struct raise){.saved = 0};
	for (int level = claim->level + 1; level < POLICY_LEVELS; level++) {
		int more_pct = max_int(0, claim->level_pct[level] - claim->cap_pct);
		double saved = (above - claim->above[level]) / (more_pct + 1e-3);

		if (more_pct <= left_pct && saved > claim->raise.saved)
			claim->raise = (struct raise){level, more_pct, saved};
	}
}

static struct claim *find_best_raise(struct allocator *alloc)
{
	struct claim *best = NULL;

	for (int i = 0; i < alloc->n; i++) {
		struct claim *claim = &alloc->claims[i];

		if (claim->raise.saved > (best ? best->raise.saved : NOTHING_SAVED))
			best = claim;
	}
	return best;
}

static void serve_next(struct allocator *alloc, int *left_pct)
{
	struct claim *claim;

	for (int i = 0; i < alloc->n; i++)
		find_raise(&alloc->claims[i], *left_pct);
	while ((claim = find_best_raise(alloc))) {
		if (claim->raise.more_pct <= *left_pct) {
			give(alloc, claim, claim->cap_pct + claim->raise.more_pct, left_pct);
			claim->level = claim->raise.level;
		}
		find_raise(claim, *left_pct);
	}
}

/* Gives away @left_pct step by step, each step to the smallest cap among the vGPUs whose demand
 * is not measured. With @probe, no cap is raised above the estimated demand. */
static void spread_evenly(struct allocator *alloc, bool probe, int *left_pct)
{
	int step_pct = alloc->gpu->step_pct;

	while (*left_pct >= step_pct) {
		struct claim *least = NULL;

		for (int i = 0; i < alloc->n; i++) {
			struct claim *claim = &alloc->claims[i];

			if (source_of(alloc, claim) != POLICY_DEMAND_SEEN &&
			    claim->cap_pct + step_pct <=
				    (probe ? claim->now_pct : claim->ceiling_pct) &&
			    (!least || claim->cap_pct < least->cap_pct))
				least = claim;
		}
		if (!least)
			return;
		give(alloc, least, least->cap_pct + step_pct, left_pct);
	}
}

/* Raises the cap of each served vGPU slightly above its demand, so that this demand stays
 * measurable. */
static void keep_measurable(struct allocator *alloc, int *left_pct)
{
	for (int i = 0; i < alloc->n; i++) {
		struct claim *claim = &alloc->claims[i];
		const struct policy_vgpu *vgpu = &alloc->gpu->vgpus[claim->vgpu];
		int shown_pct =
			claim_steps(alloc, claim, demand_observable_cap_pct(alloc->gpu, vgpu));

		if (!claim->served || claim->cap_pct >= shown_pct)
			continue;
		if (vgpu->cap_pct > shown_pct && vgpu->cap_pct <= STAY * shown_pct + GROW_PCT)
			shown_pct = min_int(claim->ceiling_pct, vgpu->cap_pct);
		give(alloc, claim, shown_pct, left_pct);
	}
}

/* A probe with a small raise would measure noise, not demand. */
static bool is_worth_a_probe(const struct allocator *alloc, int left_pct)
{
	int n = 0;

	for (int i = 0; i < alloc->n; i++)
		n += source_of(alloc, &alloc->claims[i]) != POLICY_DEMAND_SEEN;
	return left_pct >= PROBE_PCT * n;
}

static void leave_few_short(struct allocator *alloc)
{
	int left_pct = alloc->room_pct;

	for (int i = 0; i < alloc->n; i++) {
		struct claim *claim = &alloc->claims[i];

		claim->cap_pct = claim->floor_pct;
		claim->level = -1;
		claim->served = false;
		for (int level = 0; level < POLICY_LEVELS; level++)
			claim->level_pct[level] = level_cap_pct(alloc, claim, level, true);
		left_pct -= claim->cap_pct;
	}
	serve_now(alloc, &left_pct);
	serve_estimates(alloc, &left_pct);
	keep_measurable(alloc, &left_pct);
	if (is_worth_a_probe(alloc, left_pct))
		spread_evenly(alloc, true, &left_pct);
	serve_next(alloc, &left_pct);
	spread_evenly(alloc, false, &left_pct);
	/* The rest is too small to serve another demand completely. It raises caps up to the
	 * present demand first, then up to the present cap, then up to the ceiling. */
	for (int i = 0; i < alloc->n; i++)
		give(alloc, &alloc->claims[i], alloc->claims[i].now_pct, &left_pct);
	for (int i = 0; i < alloc->n; i++)
		give(alloc, &alloc->claims[i],
		     min_int(alloc->claims[i].ceiling_pct,
			     alloc->gpu->vgpus[alloc->claims[i].vgpu].cap_pct),
		     &left_pct);
	for (int i = 0; i < alloc->n; i++)
		give(alloc, &alloc->claims[i], alloc->claims[i].ceiling_pct, &left_pct);
}

static void summarize(const struct allocator *alloc, int need_pct,
		      struct allocation_summary *ret_summary)
{
	int held_pct = 100 - alloc->room_pct, raised_pct = 0;

	*ret_summary = (struct allocation_summary){
		.now_pct = held_pct, .need_pct = held_pct + need_pct, .largest = -1};
	for (int i = 0; i < alloc->n; i++) {
		const struct claim *claim = &alloc->claims[i];
		const struct policy_vgpu *vgpu = &alloc->gpu->vgpus[claim->vgpu];

		ret_summary->now_pct += source_of(alloc, claim) == POLICY_DEMAND_SEEN
						? claim->now_pct
						: claim->need_pct;
		demand_note_need(vgpu, claim->need_pct);
		if (claim->cap_pct - vgpu->cap_pct <= raised_pct)
			continue;
		raised_pct = claim->cap_pct - vgpu->cap_pct;
		ret_summary->largest = claim->vgpu;
		ret_summary->largest_pct = claim->need_pct;
	}
}

static void keep_caps(struct allocator *alloc)
{
	for (int i = 0; i < alloc->n; i++)
		alloc->claims[i].cap_pct = alloc->gpu->vgpus[alloc->claims[i].vgpu].cap_pct;
}

/* Plans caps that meet all needs. Plans nothing and returns ALLOCATION_SHORT if the needs exceed
 * the GPU. */
static enum allocation meet_all(struct allocator *alloc, bool tolerated, int *ret_need_pct)
{
	*ret_need_pct = find_needs(alloc, tolerated);
	if (is_met(alloc)) {
		keep_caps(alloc);
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

	collect_claims(params, gpu, spared_pct, &alloc);
	result = meet_all(&alloc, false, &need_pct);
	if (result == ALLOCATION_SHORT)
		result = meet_all(&alloc, true, &need_pct);
	if (result == ALLOCATION_SHORT)
		leave_few_short(&alloc);
	summarize(&alloc, need_pct, ret_summary);
	plan_init(ret_plan, gpu);
	for (int i = 0; i < alloc.n; i++)
		ret_plan->delta_pct[alloc.claims[i].vgpu] =
			alloc.claims[i].cap_pct - gpu->vgpus[alloc.claims[i].vgpu].cap_pct;
	return result;
}
