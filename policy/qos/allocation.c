/* SPDX-License-Identifier: MIT */
/*
 * Meets the expected demands, if the GPU can meet them all. Otherwise each vGPU gets the smaller of
 * its present demand and its share (weighted max-min fairness by contract). The rest goes by value:
 * first to whole demands, the smallest missing part first, then to parts of demands, then to the
 * vGPU whose probability of exceeding its cap decreases most (demand_predict()).
 *
 * The demands of a vGPU depend on its cap: a vGPU that uses its whole cap has an unknown demand. So
 * a plan changes the demands on which the next plan depends. To come to rest, a demand that the
 * present caps serve is served before others, and the present caps are kept if the plan hardly
 * differs.
 */
#include <math.h>
#include <stdlib.h>

#include "base/number.h"
#include "policy/plan.h"
#include "policy/policy.h"
#include "policy/qos/allocation.h"
#include "policy/qos/demand.h"
#include "policy/share.h"

#define ROUNDING 1e-4 /* steps */

/* A possible raise of a cap, up to the cap that serves all demands up to @level. */
struct raise {
	int level, more_pct;
	double saved; /* decrease of P(demand > cap) per percent of cap; 0: no raise */
};

/* The claim of a vGPU that is not held to a cap. */
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

/* Claims are in the order of the ids of their vGPUs, so that no result depends on the order of the
 * array. */
struct allocator {
	const struct policy_gpu *gpu;
	int room_pct; /* percent of the GPU that is divided among the claims */
	int n;
	struct claim claims[POLICY_VGPUS_MAX];
};

/* Returns @pct in whole steps, rounded up, between floor and ceiling. */
static int whole_pct_of(const struct allocator *alloc, const struct claim *claim, double pct)
{
	int step_pct = alloc->gpu->step_pct;
	int whole_pct = (int)ceil(pct / step_pct - ROUNDING) * step_pct;

	return max_int(claim->floor_pct, min_int(claim->ceiling_pct, whole_pct));
}

/* Returns the cap that serves every demand up to @level; with @tolerated, the cap that serves the
 * fraction demand_tolerance() of it. */
static int level_pct_of(const struct allocator *alloc, const struct claim *claim, int level,
			bool tolerated)
{
	double pct = demand_level_pct(claim->vgpu, level);

	return whole_pct_of(alloc, claim, tolerated ? demand_tolerance(claim->vgpu) * pct : pct);
}

/* Plans the caps in force. */
static void keep_caps(struct allocator *alloc)
{
	for (int i = 0; i < alloc->n; i++)
		alloc->claims[i].cap_pct = alloc->claims[i].vgpu->cap_pct;
}

/* Divides @steps by contract among the claims without a share. Returns true if the part of a claim
 * is below its floor. The share of this claim is then its floor. */
static bool divide(struct allocator *alloc, int steps)
{
	struct share shares[POLICY_VGPUS_MAX];
	bool below = false;
	int n = 0;

	for (int i = 0; i < alloc->n; i++) {
		const struct claim *claim = &alloc->claims[i];

		if (claim->share_pct == 0)
			shares[n++] = (struct share){
				.id = claim->vgpu->id,
				.vgpu = i,
				.weight = claim->vgpu->terms.initial_cap_pct,
				.limit = claim->ceiling_pct / alloc->gpu->step_pct,
			};
	}
	(void)share_divide(shares, n, steps);
	for (int i = 0; i < n; i++) {
		struct claim *claim = &alloc->claims[shares[i].vgpu];

		if (shares[i].steps * alloc->gpu->step_pct < claim->floor_pct) {
			claim->share_pct = claim->floor_pct;
			below = true;
		}
	}
	for (int i = 0; !below && i < n; i++)
		alloc->claims[shares[i].vgpu].share_pct = shares[i].steps * alloc->gpu->step_pct;
	return below;
}

/*
 * Weighted max-min shares in whole steps: the weight is the contract, and a share is between floor
 * and ceiling. The remainders of rounding go to the largest remainders, so that no share is a whole
 * step below its exact value.
 */
static void find_shares(struct allocator *alloc)
{
	bool again = true;

	for (int i = 0; i < alloc->n; i++)
		alloc->claims[i].share_pct = 0;
	while (again) {
		int left_pct = alloc->room_pct;

		for (int i = 0; i < alloc->n; i++)
			left_pct -= alloc->claims[i].share_pct;
		again = divide(alloc, max_int(0, left_pct) / alloc->gpu->step_pct);
	}
}

/* Collects the claims of @gpu, except needs and planned caps. @spared_pct: percent of the GPU that
 * belong to no claim. */
static void collect_claims(const struct policy_params *params, const struct policy_gpu *gpu,
			   int spared_pct, struct allocator *ret_alloc)
{
	struct allocator *alloc = ret_alloc;
	int by_id[POLICY_VGPUS_MAX];

	alloc->gpu = gpu;
	alloc->room_pct = 100 - gpu->absent.cap_pct - spared_pct;
	alloc->n = 0;
	sort_all_by_id(gpu, by_id);
	for (int i = 0; i < gpu->n_vgpus; i++) {
		const struct policy_vgpu *vgpu = &gpu->vgpus[by_id[i]];
		struct claim *claim = &alloc->claims[alloc->n];

		if (vgpu->held) {
			alloc->room_pct -= vgpu->cap_pct;
			continue;
		}
		alloc->n++;
		claim->vgpu = vgpu;
		claim->floor_pct = policy_floor_pct(params, gpu, &vgpu->terms);
		claim->ceiling_pct = policy_ceiling_pct(gpu, &vgpu->terms);
		claim->least_pct =
			whole_pct_of(alloc, claim, demand_tolerance(vgpu) * demand_now_pct(vgpu));
		claim->shown_pct =
			max_int(claim->least_pct,
				whole_pct_of(alloc, claim, demand_observable_cap_pct(gpu, vgpu)));
		claim->now_pct = max_int(claim->shown_pct,
					 whole_pct_of(alloc, claim, demand_tolerated_pct(vgpu)));
		demand_predict(gpu, vgpu, claim->above);
	}
	find_shares(alloc);
}

#define NOTHING_SAVED 1e-4 /* a raise with a smaller raise.saved is not made */
#define STICKY	      1.25 /* raise.saved is multiplied by this if the present cap has this raise */
#define KEEP_PCT      2	   /* a cap that differs from the plan by up to this, or by up to */
#define KEEP_SHARE    0.05 /* this fraction, is kept */

static void give(struct allocator *alloc, struct claim *claim, int cap_pct, int *left_pct)
{
	int step_pct = alloc->gpu->step_pct;
	int more_pct = min_int(cap_pct - claim->cap_pct, *left_pct / step_pct * step_pct);

	if (more_pct <= 0)
		return;
	claim->cap_pct += more_pct;
	*left_pct -= more_pct;
}

static bool is_seen(const struct claim *claim)
{
	return claim->vgpu->track->demand.source == POLICY_DEMAND_SEEN;
}

/* Each vGPU gets the smaller of its demand and its share. */
static void give_entitlements(struct allocator *alloc, int *left_pct)
{
	for (int i = 0; i < alloc->n; i++) {
		struct claim *claim = &alloc->claims[i];

		claim->cap_pct =
			max_int(claim->floor_pct, min_int(claim->share_pct, claim->now_pct));
		claim->level = -1;
		claim->served = false;
		for (int level = 0; level < POLICY_LEVELS; level++)
			claim->level_pct[level] = level_pct_of(alloc, claim, level, true);
		claim->stay_pct =
			level_pct_of(alloc, claim, claim->vgpu->track->demand.level, false);
		*left_pct -= claim->cap_pct;
	}
}

/* Among the claims with a measured demand that is not served yet and that @left_pct can serve,
 * returns the claim with the smallest missing part, or NULL. With @sticky, claims that the present
 * caps serve come first. */
static struct claim *find_cheapest(struct allocator *alloc, bool sticky, int left_pct)
{
	struct claim *cheapest = NULL;
	int least = 0;

	for (int i = 0; i < alloc->n; i++) {
		struct claim *claim = &alloc->claims[i];
		int missing_pct = max_int(0, claim->now_pct - claim->cap_pct), cost = missing_pct;

		if (claim->served || !is_seen(claim) || missing_pct > left_pct)
			continue;
		if (sticky && claim->vgpu->cap_pct >= claim->least_pct)
			cost -= 100;
		if (!cheapest || cost < least) {
			cheapest = claim;
			least = cost;
		}
	}
	return cheapest;
}

/* Returns the number of claims that @left_pct serves. */
static int serve_now(struct allocator *alloc, bool sticky, int *left_pct)
{
	struct claim *claim;
	int n = 0;

	while ((claim = find_cheapest(alloc, sticky, *left_pct))) {
		give(alloc, claim, claim->now_pct, left_pct);
		claim->served = true;
		n++;
	}
	return n;
}

/* Serves as many of the measured demands as possible. The demands that the present caps serve stay
 * served unless this reduces the number. */
static void serve_measured(struct allocator *alloc, int *left_pct)
{
	int before_pct[POLICY_VGPUS_MAX] = {0}, left_before_pct = *left_pct, most;

	for (int i = 0; i < alloc->n; i++)
		before_pct[i] = alloc->claims[i].cap_pct;
	most = serve_now(alloc, false, left_pct);
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < alloc->n; i++) {
			alloc->claims[i].cap_pct = before_pct[i];
			alloc->claims[i].served = false;
		}
		*left_pct = left_before_pct;
		if (serve_now(alloc, pass == 0, left_pct) >= most)
			return;
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

			if (claim->vgpu->track->demand.source == POLICY_DEMAND_BY_HABIT &&
			    more_pct > 0 && more_pct <= *left_pct &&
			    (!best || more_pct < best->now_pct - best->cap_pct))
				best = claim;
		}
		if (!best)
			return;
		give(alloc, best, best->now_pct, left_pct);
	}
}

/* Divides @left_pct by contract among the claims that are below @limit of them. */
static void divide_rest(struct allocator *alloc, int (*limit)(const struct claim *claim),
			int *left_pct)
{
	struct share shares[POLICY_VGPUS_MAX];
	int step_pct = alloc->gpu->step_pct, n = 0;

	for (int i = 0; i < alloc->n; i++) {
		const struct claim *claim = &alloc->claims[i];
		int steps = (limit(claim) - claim->cap_pct) / step_pct;

		if (steps > 0)
			shares[n++] = (struct share){.id = claim->vgpu->id,
						     .vgpu = i,
						     .weight = claim->vgpu->terms.initial_cap_pct,
						     .limit = steps};
	}
	(void)share_divide(shares, n, *left_pct / step_pct);
	for (int i = 0; i < n; i++) {
		alloc->claims[shares[i].vgpu].cap_pct += shares[i].steps * step_pct;
		*left_pct -= shares[i].steps * step_pct;
	}
}

#define LIMIT(name, pct)                                   \
	static int limit_##name(const struct claim *claim) \
	{                                                  \
		return pct;                                \
	}
LIMIT(now, claim->now_pct)
LIMIT(level, claim->level_pct[claim->vgpu->track->demand.level])
LIMIT(stay, claim->stay_pct)
LIMIT(unknown, is_seen(claim) ? 0 : claim->ceiling_pct)
LIMIT(present, min_int(claim->ceiling_pct, claim->vgpu->cap_pct))
LIMIT(ceiling, claim->ceiling_pct)

static void raise_served(struct allocator *alloc, int (*limit)(const struct claim *claim),
			 int *left_pct)
{
	for (int i = 0; i < alloc->n; i++)
		if (alloc->claims[i].served)
			give(alloc, &alloc->claims[i], limit(&alloc->claims[i]), left_pct);
}

/* Sets claim->raise to the raise of at most @left_pct with the largest raise.saved. */
static void find_raise(struct claim *claim, int left_pct)
{
	double above = claim->level < 0 ? 1 : claim->above[claim->level];

	claim->raise = (struct raise){.saved = 0};
	for (int level = claim->level + 1; level < POLICY_LEVELS; level++) {
		int more_pct = max_int(0, claim->level_pct[level] - claim->cap_pct);
		double saved = (above - claim->above[level]) / (more_pct + 1e-3);

		if (claim->vgpu->cap_pct >= claim->level_pct[level])
			saved *= STICKY;
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

	for (int i = 0; i < alloc->n; i++) {
		/* The next demand after an unknown one is unknown: no raise for this claim. */
		if (!is_seen(&alloc->claims[i]))
			alloc->claims[i].level = POLICY_LEVELS - 1;
		find_raise(&alloc->claims[i], *left_pct);
	}
	while ((claim = find_best_raise(alloc))) {
		if (claim->raise.more_pct <= *left_pct) {
			give(alloc, claim, claim->cap_pct + claim->raise.more_pct, left_pct);
			claim->level = claim->raise.level;
		}
		find_raise(claim, *left_pct);
	}
}

/* Returns true if the present cap serves the present demand. With guarantees, spare time may serve
 * it. */
static bool is_served_now(const struct allocator *alloc, const struct claim *claim)
{
	if (claim->vgpu->cap_pct >= claim->least_pct)
		return true;
	return alloc->gpu->sharing == POLICY_SHARING_GUARANTEE && is_seen(claim) &&
	       !claim->vgpu->short_of_target;
}

/* Returns true if the cap in force is as good as the planned one. */
static bool is_as_good(const struct allocator *alloc, const struct claim *claim)
{
	int cap_pct = claim->vgpu->cap_pct;
	int least_pct = max_int(claim->floor_pct, min_int(claim->share_pct, claim->least_pct));
	int differ_pct = abs(claim->cap_pct - cap_pct);

	if (cap_pct < least_pct || cap_pct > claim->ceiling_pct ||
	    (claim->served && !is_served_now(alloc, claim)))
		return false;
	return differ_pct <= KEEP_PCT || differ_pct <= KEEP_SHARE * claim->cap_pct;
}

/* Keeps the present caps if they are as good as the plan. They are not if the plan gives away
 * capacity that belongs to no cap now. */
static void keep_if_as_good(struct allocator *alloc)
{
	bool raises = false;
	int left_pct = alloc->room_pct;

	for (int i = 0; i < alloc->n; i++) {
		const struct claim *claim = &alloc->claims[i];
		int cap_pct = claim->vgpu->cap_pct;

		if (!is_as_good(alloc, claim))
			return;
		left_pct -= cap_pct;
		raises = raises || cap_pct < claim->cap_pct;
	}
	if (left_pct < 0 || (raises && left_pct >= alloc->gpu->step_pct))
		return;
	keep_caps(alloc);
}

/* Plans caps if the GPU cannot meet all needs. */
static void plan_scarce(struct allocator *alloc)
{
	int left_pct = alloc->room_pct;

	give_entitlements(alloc, &left_pct);
	serve_measured(alloc, &left_pct);
	serve_estimates(alloc, &left_pct);
	/* A served demand may vary on its level. */
	divide_rest(alloc, limit_now, &left_pct);
	raise_served(alloc, limit_level, &left_pct);
	raise_served(alloc, limit_stay, &left_pct);
	serve_next(alloc, &left_pct);
	divide_rest(alloc, limit_unknown, &left_pct);
	divide_rest(alloc, limit_present, &left_pct);
	divide_rest(alloc, limit_ceiling, &left_pct);
	keep_if_as_good(alloc);
}

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
			max_int(claim->shown_pct, level_pct_of(alloc, claim, level, tolerated));
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
			cap_pct = whole_pct_of(alloc, claim, claim->need_pct + GROW_PCT);
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
		plan_scarce(&alloc);
	summarize(&alloc, need_pct, ret_summary);
	plan_init(ret_plan, gpu);
	for (int i = 0; i < alloc.n; i++)
		ret_plan->delta_pct[alloc.claims[i].vgpu - gpu->vgpus] =
			alloc.claims[i].cap_pct - alloc.claims[i].vgpu->cap_pct;
	return result;
}
