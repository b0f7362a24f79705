/* SPDX-License-Identifier: MIT */
/*
 * Plans caps if the expected demands exceed the GPU. Each vGPU gets the smaller of its present
 * demand and its share (weighted max-min fairness by contract). The rest goes by value: first to
 * whole demands, the smallest missing part first, then to parts of demands, then to the vGPU whose
 * probability of exceeding its cap decreases most (demand_predict()).
 *
 * The demands of a vGPU depend on its cap: a vGPU that uses its whole cap has an unknown demand. So
 * a plan changes the demands on which the next plan depends. To come to rest, a demand that the
 * present caps serve is served before others, and the present caps are kept if the plan hardly
 * differs.
 */
#include <math.h>
#include <stdlib.h>

#include "base/number.h"
#include "policy/qos/claims.h"
#include "policy/qos/demand.h"
#include "policy/share.h"

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
			claim->level_pct[level] = claims_level_pct(alloc, claim, level, true);
		claim->stay_pct =
			claims_level_pct(alloc, claim, claim->vgpu->track->demand.level, false);
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

static int limit_now(const struct claim *claim)
{
	return claim->now_pct;
}

static int limit_level(const struct claim *claim)
{
	return claim->level_pct[claim->vgpu->track->demand.level];
}

static int limit_stay(const struct claim *claim)
{
	return claim->stay_pct;
}

static int limit_unknown(const struct claim *claim)
{
	return is_seen(claim) ? 0 : claim->ceiling_pct;
}

static int limit_present(const struct claim *claim)
{
	return min_int(claim->ceiling_pct, claim->vgpu->cap_pct);
}

static int limit_ceiling(const struct claim *claim)
{
	return claim->ceiling_pct;
}

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
	claims_keep_caps(alloc);
}

void scarce_plan(struct allocator *alloc)
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
