/* SPDX-License-Identifier: MIT */
/*
 * First greedily: each as early as can be, one after the other. That may use up early what would
 * have paid more later, so the best is then changed at random places: slightly (one earlier, one
 * later, all from one on), or one is let in clearly later and those after him are looked for anew.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/experiment/search.h"

#define TRIES_MOST 250 /* in all */
#define PATIENCE   60  /* of changes without a better one */
#define COARSE	   4   /* strides at a time, as long as nothing is found */
#define CHANGES	   8   /* slight ones between two clear ones */

struct search {
	const struct search_terms *terms;
	struct search_schedule best, now;
	struct search_schedule kept;
	bool any;      /* best was found good */
	bool changing; /* the best, at random */
	int tries, better_at;
	uint64_t random;
	int failed;
	struct err *reterr;
};

/* SplitMix64 (Steele, Lea, Flood 2014); below @n. */
static int draw(struct search *search, int n)
{
	uint64_t z = search->random += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (int)((z ^ z >> 31) % (uint64_t)n);
}

static bool is_spent(const struct search *search)
{
	return search->failed < 0 || search->tries >= TRIES_MOST ||
	       (search->changing && search->tries - search->better_at >= PATIENCE);
}

/* Whether search->now is good. */
static bool attempt(struct search *search)
{
	int r;

	search->tries++;
	r = search->terms->attempt(search->terms->userdata, &search->now, search->reterr);
	if (r < 0)
		search->failed = r;
	if (r <= 0)
		return false;
	if (!search->any || search->now.sold_pct_s > search->best.sold_pct_s) {
		search->best = search->now;
		search->any = true;
		search->better_at = search->tries;
	}
	return true;
}

/* --- one more --- */

/* Found at the last time of now by large strides: perhaps it can be a little earlier. */
static void refine(struct search *search, double first_s)
{
	double found_s = search->now.from_s[search->now.n - 1];

	search->kept = search->now;
	for (int back = COARSE - 1; back > 0 && !is_spent(search); back--) {
		double at_s = found_s - back * search->terms->stride_s;

		if (at_s < first_s)
			continue;
		search->now.from_s[search->now.n - 1] = at_s;
		if (attempt(search))
			return;
	}
	search->now = search->kept;
}

/* Lets in one more than now, as early as can be. Now was tried. */
static bool extend(struct search *search)
{
	struct search_schedule *now = &search->now;
	double stride_s = COARSE * search->terms->stride_s;
	double first_s = now->n > 0 ? now->came_s[now->n - 1] : 0;

	if (now->n_came < now->n || now->n == EXPERIMENT_VGPUS_MAX)
		return false;
	now->n++;
	for (double at_s = first_s; at_s <= search->terms->last_s && !is_spent(search);
	     at_s += stride_s) {
		bool good;

		now->from_s[now->n - 1] = at_s;
		good = attempt(search);
		if (good && now->n_came < now->n) /* nobody came: nor would anybody later */
			break;
		if (good) {
			if (at_s > first_s)
				refine(search, first_s);
			return true;
		}
		if (now->n_came == now->n && now->came_s[now->n - 1] > at_s)
			at_s = now->came_s[now->n - 1];
	}
	now->n--;
	return false;
}

static void extend_all(struct search *search)
{
	while (extend(search))
		;
}

/* --- changes of the best --- */

static void move(struct search_schedule *schedule, int index, double by_s)
{
	double from_s =
		index < schedule->n_came ? schedule->came_s[index] : schedule->from_s[index];

	schedule->from_s[index] = fmax(0, from_s + by_s);
}

/* A slight change is kept when it is no worse: the next may then be better. */
static void change_slightly(struct search *search)
{
	struct search_schedule *now = &search->now;
	double by_s = search->terms->stride_s / 8 * (1 << draw(search, 8));
	int index, what;

	*now = search->best;
	what = draw(search, 4);
	index = draw(search, now->n + (now->n == 0));
	if (now->n == 0 || what == 3) { /* one more, somewhere */
		double first_s = now->n_came > 0 ? now->came_s[now->n_came - 1] : 0;

		if (now->n_came < now->n || now->n == EXPERIMENT_VGPUS_MAX ||
		    first_s > search->terms->last_s)
			return;
		now->from_s[now->n++] =
			first_s + (search->terms->last_s - first_s) * draw(search, 1000) / 1000;
	} else if (what == 2) { /* one later, as one before him is earlier */
		move(now, index, by_s);
		move(now, draw(search, index + 1), -by_s);
	} else {
		move(now, index, -by_s);
		for (int i = index + 1; what == 1 && i < now->n; i++)
			move(now, i, -by_s);
	}
	if (attempt(search) && now->sold_pct_s >= search->best.sold_pct_s)
		search->best = *now;
}

/* One is let in later, and those after him are looked for anew. */
static void change_clearly(struct search *search)
{
	struct search_schedule *now = &search->now;

	*now = search->best;
	if (now->n == 0)
		return;
	now->n = 1 + draw(search, now->n);
	move(now, now->n - 1, search->terms->stride_s * (1 << draw(search, 6)));
	if (now->from_s[now->n - 1] <= search->terms->last_s && attempt(search))
		extend_all(search);
}

int search_best(const struct search_terms *terms, struct search_schedule *schedule,
		struct err *reterr)
{
	CLEANUP_FREE struct search *search = calloc(1, sizeof(*search));

	if (!search)
		return err_fail(reterr, ENOMEM, "out of memory");
	search->terms = terms;
	search->random = terms->seed;
	search->reterr = reterr;
	if (schedule->n > 0) {
		search->now = *schedule;
		if (attempt(search))
			extend_all(search);
	}
	memset(&search->now, 0, sizeof(search->now));
	(void)attempt(search);
	extend_all(search);
	search->changing = true;
	search->better_at = search->tries;
	while (search->any && !is_spent(search)) {
		for (int i = 0; i < CHANGES && !is_spent(search); i++)
			change_slightly(search);
		change_clearly(search);
	}
	if (search->failed == 0)
		*schedule = search->best;
	return search->failed;
}
