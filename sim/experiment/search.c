/* SPDX-License-Identifier: MIT */
/*
 * The search starts with the greedy schedule, which admits each tenant as early as possible. An
 * early admission may use capacity that would sell for more later. So the search then makes
 * random changes to the best schedule. A small change moves the time of one or more admissions a
 * little. A large change makes one admission much later and searches the times of the following
 * admissions again.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "sim/experiment/search.h"
#include "sim/model/random.h"

#define TRIES_MAX 250 /* evaluations */
#define PATIENCE  60  /* maximum number of evaluations without an improvement */
#define COARSE	  4   /* strides between the times that a first, coarse search tries */
#define CHANGES	  8   /* number of small changes per large change */

struct search {
	const struct search_terms *terms;
	struct search_schedule best, now;
	struct search_schedule saved;
	bool any;      /* best contains a schedule */
	bool changing; /* true in the second phase: random changes of the best schedule */
	int tries, improved_at;
	uint64_t random;
	int failed;
	struct err *reterr;
};

/* Returns a random number below @n. */
static int draw(struct search *search, int n)
{
	return (int)(random_next(&search->random) % (uint64_t)n);
}

static bool is_finished(const struct search *search)
{
	return search->failed < 0 || search->tries >= TRIES_MAX ||
	       (search->changing && search->tries - search->improved_at >= PATIENCE);
}

/* Evaluates search->now. Returns true if this schedule is good. */
static bool evaluate(struct search *search)
{
	int r;

	search->tries++;
	r = search->terms->evaluate(search->terms->userdata, &search->now, search->reterr);
	if (r < 0)
		search->failed = r;
	if (r <= 0)
		return false;
	if (!search->any || search->now.sold_pct_s > search->best.sold_pct_s) {
		search->best = search->now;
		search->any = true;
		search->improved_at = search->tries;
	}
	return true;
}

/* --- one more admission --- */

/*
 * Tries to make the last admission of search->now earlier. That admission was found with coarse
 * steps, so this function tries the times since the previous coarse step.
 */
static void refine(struct search *search, double first_s)
{
	double found_s = search->now.from_s[search->now.n - 1];

	search->saved = search->now;
	for (int back = COARSE - 1; back > 0 && !is_finished(search); back--) {
		double at_s = found_s - back * search->terms->stride_s;

		if (at_s < first_s)
			continue;
		search->now.from_s[search->now.n - 1] = at_s;
		if (evaluate(search))
			return;
	}
	search->now = search->saved;
}

/* Adds an admission to search->now at the earliest good time. search->now must have been evaluated.
 */
static bool extend(struct search *search)
{
	struct search_schedule *now = &search->now;
	double stride_s = COARSE * search->terms->stride_s;
	double first_s = now->n > 0 ? now->came_s[now->n - 1] : 0;

	if (now->n_came < now->n || now->n == EXPERIMENT_VGPUS_MAX)
		return false;
	now->n++;
	for (double at_s = first_s; at_s <= search->terms->last_s && !is_finished(search);
	     at_s += stride_s) {
		bool good;

		now->from_s[now->n - 1] = at_s;
		good = evaluate(search);
		if (good && now->n_came < now->n) /* no tenant is left to admit */
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

/* --- changes of the best schedule --- */

static void move(struct search_schedule *schedule, int index, double by_s)
{
	double from_s =
		index < schedule->n_came ? schedule->came_s[index] : schedule->from_s[index];

	schedule->from_s[index] = fmax(0, from_s + by_s);
}

/*
 * Makes a small change. A schedule that sells as much as the best schedule replaces it, because the
 * next change may then find an improvement.
 */
static void change_little(struct search *search)
{
	struct search_schedule *now = &search->now;
	double by_s = search->terms->stride_s / 8 * (1 << draw(search, 8));
	int index, what;

	*now = search->best;
	what = draw(search, 4);
	index = draw(search, now->n + (now->n == 0));
	if (now->n == 0 || what == 3) { /* add an admission at a random time */
		double first_s = now->n_came > 0 ? now->came_s[now->n_came - 1] : 0;

		if (now->n_came < now->n || now->n == EXPERIMENT_VGPUS_MAX ||
		    first_s > search->terms->last_s)
			return;
		now->from_s[now->n++] =
			first_s + (search->terms->last_s - first_s) * draw(search, 1000) / 1000;
	} else if (what == 2) { /* move one admission later, and another admission earlier */
		move(now, index, by_s);
		move(now, draw(search, index + 1), -by_s);
	} else {
		move(now, index, -by_s);
		for (int i = index + 1; what == 1 && i < now->n; i++)
			move(now, i, -by_s);
	}
	if (evaluate(search) && now->sold_pct_s >= search->best.sold_pct_s)
		search->best = *now;
}

/*
 * Makes a large change: moves one admission later, and searches the times of the following
 * admissions again.
 */
static void change_much(struct search *search)
{
	struct search_schedule *now = &search->now;

	*now = search->best;
	if (now->n == 0)
		return;
	now->n = 1 + draw(search, now->n);
	move(now, now->n - 1, search->terms->stride_s * (1 << draw(search, 6)));
	if (now->from_s[now->n - 1] <= search->terms->last_s && evaluate(search))
		extend_all(search);
}

int search_best(const struct search_terms *terms, struct search_schedule *schedule,
		struct err *reterr)
{
	CLEANUP_FREE struct search *search = xcalloc(1, sizeof(*search));

	search->terms = terms;
	search->random = terms->seed;
	search->reterr = reterr;
	if (schedule->n > 0) {
		search->now = *schedule;
		if (evaluate(search))
			extend_all(search);
	}
	memset(&search->now, 0, sizeof(search->now));
	(void)evaluate(search);
	extend_all(search);
	search->changing = true;
	search->improved_at = search->tries;
	while (search->any && !is_finished(search)) {
		for (int i = 0; i < CHANGES && !is_finished(search); i++)
			change_little(search);
		change_much(search);
	}
	if (search->failed == 0)
		*schedule = search->best;
	return search->failed;
}
