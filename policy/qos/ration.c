/* SPDX-License-Identifier: MIT */
/*
 * The division. Must never look at the order in which the vGPUs stand: it goes by id.
 *
 * Where not all can have what they may want, the aim is the fewest vGPUs above their caps in the
 * next period. First who wants least now is served, since of those most fit; what is left goes step
 * by step where a point of cap saves most, by the chances of demand_foresee().
 */
#include <math.h>

#include "base/number.h"
#include "policy/qos/demand.h"
#include "policy/order.h"
#include "policy/qos/ration.h"

#define SURE	      0.01 /* a chance of wanting more that is borne */
#define NOTHING_SAVED 1e-4 /* a point: it is left to who is starved */
#define STAY	      1.2  /* of what is needed: a cap may be so much larger and stay */
#define PROBE_PCT     4	   /* for each whose demand is unknown, else none is tried */
#define GROW_PCT      2	   /* more than is needed, where it is to be had: the next write is saved */

/* A way to serve more of what a vGPU may want next. */
struct raise {
	int level, more_pct;
	double saved; /* chance of being broken saved, a point of cap; 0: there is none */
};

struct claim {
	int vgpu;
	int floor_pct, ceiling_pct;
	int now_pct;  /* that serves what it wants now */
	int used_pct; /* that serves what it is known to want: less, where that is a guess */
	int need_pct; /* that serves what it may want next */
	int cap_pct;  /* planned */
	int level;    /* in the search: the highest that cap_pct serves; -1: none */
	bool served;  /* in the search: has what it wants now */
	struct raise raise;
	double above[POLICY_LEVELS];
	int level_pct[POLICY_LEVELS]; /* in the search: the cap for each level */
};

struct division {
	const struct policy_gpu *gpu;
	int room_pct; /* for all claims together */
	int n;
	struct claim claims[POLICY_VGPUS_MAX];
};

/* @pct in whole steps, rounded up, as far as the contract allows. */
static int claim_steps(const struct division *division, const struct claim *claim, double pct)
{
	int step_pct = division->gpu->step_pct;
	int whole_pct = (int)ceil(pct / step_pct - 1e-6) * step_pct;

	return max_int(claim->floor_pct, min_int(claim->ceiling_pct, whole_pct));
}

static int level_cap_pct(const struct division *division, const struct claim *claim, int level,
			 bool tolerated)
{
	const struct policy_vgpu *vgpu = &division->gpu->vgpus[claim->vgpu];
	double pct = demand_level_pct(vgpu, level);

	return claim_steps(division, claim, tolerated ? demand_tolerance(vgpu) * pct : pct);
}

static void begin(const struct policy_params *params, const struct policy_gpu *gpu, int spared_pct,
		  struct division *division)
{
	int by_id[POLICY_VGPUS_MAX];

	division->gpu = gpu;
	division->room_pct = 100 - spared_pct;
	division->n = 0;
	for (int i = 0; i < gpu->n_vgpus; i++)
		by_id[i] = i;
	order_by_id(gpu, by_id, gpu->n_vgpus);
	for (int i = 0; i < gpu->n_vgpus; i++) {
		const struct policy_vgpu *vgpu = &gpu->vgpus[by_id[i]];
		struct claim *claim = &division->claims[division->n];

		if (vgpu->held) {
			division->room_pct -= vgpu->cap_pct;
			continue;
		}
		division->n++;
		claim->vgpu = by_id[i];
		claim->floor_pct = policy_floor_pct(params, gpu, &vgpu->terms);
		claim->ceiling_pct = policy_ceiling_pct(gpu, &vgpu->terms);
		claim->now_pct =
			claim_steps(division, claim, demand_tolerance(vgpu) * demand_now_pct(vgpu));
		claim->used_pct = claim->now_pct;
		if (vgpu->track->demand.guess != POLICY_SEEN)
			claim->used_pct = claim_steps(division, claim, 100 * vgpu->load);
		demand_foresee(vgpu, claim->above);
	}
}

/* What each may want next, short of chances that are borne. */
static int find_needs(struct division *division, bool tolerated)
{
	int sum_pct = 0;

	for (int i = 0; i < division->n; i++) {
		struct claim *claim = &division->claims[i];
		int level = division->gpu->vgpus[claim->vgpu].track->demand.level;

		while (claim->above[level] > SURE)
			level++;
		claim->need_pct = level_cap_pct(division, claim, level, tolerated);
		sum_pct += claim->need_pct;
	}
	return sum_pct;
}

static bool is_met(const struct division *division)
{
	int sum_pct = 0;
	bool met = true;

	for (int i = 0; i < division->n; i++) {
		const struct claim *claim = &division->claims[i];
		const struct policy_vgpu *vgpu = &division->gpu->vgpus[claim->vgpu];

		sum_pct += vgpu->cap_pct;
		met = met && vgpu->cap_pct >= claim->need_pct &&
		      vgpu->cap_pct <= claim->ceiling_pct;
	}
	return met && sum_pct <= division->room_pct;
}

/* Who lacks is given, and what then is too much is taken where most can be spared. */
static void meet_needs(struct division *division)
{
	int step_pct = division->gpu->step_pct;
	int over_pct = -division->room_pct;

	for (int i = 0; i < division->n; i++) {
		struct claim *claim = &division->claims[i];
		int cap_pct = division->gpu->vgpus[claim->vgpu].cap_pct;

		if (cap_pct < claim->need_pct)
			cap_pct = claim_steps(division, claim, claim->need_pct + GROW_PCT);
		claim->cap_pct = min_int(cap_pct, claim->ceiling_pct);
		over_pct += claim->cap_pct;
	}
	while (over_pct > 0) {
		struct claim *most = &division->claims[0];

		for (int i = 1; i < division->n; i++) {
			struct claim *claim = &division->claims[i];

			if (claim->cap_pct - claim->need_pct > most->cap_pct - most->need_pct)
				most = claim;
		}
		most->cap_pct -= step_pct;
		over_pct -= step_pct;
	}
}

/* --- not enough for all --- */

static void give(struct division *division, struct claim *claim, int cap_pct, int *left_pct)
{
	int step_pct = division->gpu->step_pct;
	int more_pct = min_int(cap_pct - claim->cap_pct, *left_pct / step_pct * step_pct);

	if (more_pct <= 0)
		return;
	claim->cap_pct += more_pct;
	*left_pct -= more_pct;
}

static enum policy_guess guess_of(const struct division *division, const struct claim *claim)
{
	return division->gpu->vgpus[claim->vgpu].track->demand.guess;
}

/* Of those not served yet, who is known to want least, if that fits. */
static struct claim *find_cheapest(struct division *division, int left_pct)
{
	struct claim *cheapest = NULL;

	for (int i = 0; i < division->n; i++) {
		struct claim *claim = &division->claims[i];

		if (!claim->served && claim->used_pct - claim->cap_pct <= left_pct &&
		    (!cheapest || claim->used_pct < cheapest->used_pct))
			cheapest = claim;
	}
	return cheapest;
}

static void serve_now(struct division *division, int *left_pct)
{
	struct claim *claim;

	while ((claim = find_cheapest(division, *left_pct))) {
		give(division, claim, claim->used_pct, left_pct);
		claim->level = division->gpu->vgpus[claim->vgpu].track->demand.level - 1;
		if (guess_of(division, claim) != POLICY_SEEN)
			claim->level = POLICY_LEVELS - 1;
		claim->served = true;
	}
}

/* Then of those whose habit is known who wants least more, if that fits. */
static void serve_habits(struct division *division, int *left_pct)
{
	for (;;) {
		struct claim *best = NULL;

		for (int i = 0; i < division->n; i++) {
			struct claim *claim = &division->claims[i];
			int more_pct = claim->now_pct - claim->cap_pct;

			if (guess_of(division, claim) == POLICY_GUESS_HABIT && more_pct > 0 &&
			    more_pct <= *left_pct &&
			    (!best || more_pct < best->now_pct - best->cap_pct))
				best = claim;
		}
		if (!best)
			return;
		give(division, best, best->now_pct, left_pct);
	}
}

/* What lifts @claim to a higher level at the best price, as far as @left_pct goes. */
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

static struct claim *find_best_raise(struct division *division)
{
	struct claim *best = NULL;

	for (int i = 0; i < division->n; i++) {
		struct claim *claim = &division->claims[i];

		if (claim->raise.saved > (best ? best->raise.saved : NOTHING_SAVED))
			best = claim;
	}
	return best;
}

static void serve_next(struct division *division, int *left_pct)
{
	struct claim *claim;

	for (int i = 0; i < division->n; i++)
		find_raise(&division->claims[i], *left_pct);
	while ((claim = find_best_raise(division))) {
		if (claim->raise.more_pct <= *left_pct) {
			give(division, claim, claim->cap_pct + claim->raise.more_pct, left_pct);
			claim->level = claim->raise.level;
		}
		find_raise(claim, *left_pct);
	}
}

/* Nobody knows what they want: an even part may do, and whom it serves is known from then on. First
 * as a @probe. */
static void spread(struct division *division, bool probe, int *left_pct)
{
	int step_pct = division->gpu->step_pct;

	while (*left_pct >= step_pct) {
		struct claim *least = NULL;

		for (int i = 0; i < division->n; i++) {
			struct claim *claim = &division->claims[i];

			if (guess_of(division, claim) != POLICY_SEEN &&
			    claim->cap_pct + step_pct <=
				    (probe ? claim->now_pct : claim->ceiling_pct) &&
			    (!least || claim->cap_pct < least->cap_pct))
				least = claim;
		}
		if (!least)
			return;
		give(division, least, least->cap_pct + step_pct, left_pct);
	}
}

/* Who has a little more than he wants is seen to want no more; a cap that does that stays. */
static void show(struct division *division, int *left_pct)
{
	for (int i = 0; i < division->n; i++) {
		struct claim *claim = &division->claims[i];
		const struct policy_vgpu *vgpu = &division->gpu->vgpus[claim->vgpu];
		int shown_pct = claim_steps(division, claim, demand_shown_pct(vgpu));

		if (!claim->served || claim->cap_pct >= shown_pct)
			continue;
		if (vgpu->cap_pct > shown_pct && vgpu->cap_pct <= STAY * shown_pct + GROW_PCT)
			shown_pct = min_int(claim->ceiling_pct, vgpu->cap_pct);
		give(division, claim, shown_pct, left_pct);
	}
}

/* By points it would only follow what trembles. */
static bool is_worth_a_probe(const struct division *division, int left_pct)
{
	int n = 0;

	for (int i = 0; i < division->n; i++)
		n += guess_of(division, &division->claims[i]) != POLICY_SEEN;
	return left_pct >= PROBE_PCT * n;
}

static void break_few(struct division *division)
{
	int left_pct = division->room_pct;

	for (int i = 0; i < division->n; i++) {
		struct claim *claim = &division->claims[i];

		claim->cap_pct = claim->floor_pct;
		claim->level = -1;
		claim->served = false;
		for (int level = 0; level < POLICY_LEVELS; level++)
			claim->level_pct[level] = level_cap_pct(division, claim, level, true);
		left_pct -= claim->cap_pct;
	}
	serve_now(division, &left_pct);
	serve_habits(division, &left_pct);
	show(division, &left_pct);
	if (is_worth_a_probe(division, left_pct))
		spread(division, true, &left_pct);
	serve_next(division, &left_pct);
	spread(division, false, &left_pct);
	/* What is left serves nobody wholly: first who is starved, then who had it. */
	for (int i = 0; i < division->n; i++)
		give(division, &division->claims[i], division->claims[i].now_pct, &left_pct);
	for (int i = 0; i < division->n; i++)
		give(division, &division->claims[i],
		     min_int(division->claims[i].ceiling_pct,
			     division->gpu->vgpus[division->claims[i].vgpu].cap_pct),
		     &left_pct);
	for (int i = 0; i < division->n; i++)
		give(division, &division->claims[i], division->claims[i].ceiling_pct, &left_pct);
}

/* --- */

static void look(const struct division *division, int need_pct, struct ration_view *ret_view)
{
	int held_pct = 100 - division->room_pct, raised_pct = 0;

	*ret_view = (struct ration_view){
		.now_pct = held_pct, .need_pct = held_pct + need_pct, .largest = -1};
	for (int i = 0; i < division->n; i++) {
		const struct claim *claim = &division->claims[i];
		const struct policy_vgpu *vgpu = &division->gpu->vgpus[claim->vgpu];

		ret_view->now_pct +=
			guess_of(division, claim) == POLICY_SEEN ? claim->now_pct : claim->need_pct;
		demand_expect(vgpu, claim->need_pct);
		if (claim->cap_pct - vgpu->cap_pct <= raised_pct)
			continue;
		raised_pct = claim->cap_pct - vgpu->cap_pct;
		ret_view->largest = claim->vgpu;
		ret_view->largest_pct = claim->need_pct;
	}
}

static void keep_caps(struct division *division)
{
	for (int i = 0; i < division->n; i++)
		division->claims[i].cap_pct =
			division->gpu->vgpus[division->claims[i].vgpu].cap_pct;
}

enum ration ration_plan(const struct policy_params *params, const struct policy_gpu *gpu,
			int spared_pct, struct plan *ret_plan, struct ration_view *ret_view)
{
	struct division division;
	enum ration ration = RATION_KEPT;
	int need_pct;

	begin(params, gpu, spared_pct, &division);
	need_pct = find_needs(&division, false);
	if (is_met(&division)) {
		keep_caps(&division);
	} else if (need_pct <= division.room_pct) {
		ration = RATION_MET;
		meet_needs(&division);
	} else {
		need_pct = find_needs(&division, true);
		if (is_met(&division)) {
			keep_caps(&division);
		} else if (need_pct <= division.room_pct) {
			ration = RATION_TIGHT;
			meet_needs(&division);
		} else {
			ration = RATION_SHORT;
			break_few(&division);
		}
	}
	look(&division, need_pct, ret_view);
	plan_init(ret_plan, gpu);
	for (int i = 0; i < division.n; i++)
		ret_plan->delta_pct[division.claims[i].vgpu] =
			division.claims[i].cap_pct - gpu->vgpus[division.claims[i].vgpu].cap_pct;
	return ration;
}
