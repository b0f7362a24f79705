/* SPDX-License-Identifier: MIT */
/* The tables of mixes.c: policies, comparisons, folds and goals. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/bench/eval/mixes.h"

static const char *const extra_names[EXTRAS] = {
	[FOUND_FUTURE] = "best-found",
	[FOUND_QOS] = "best-found@qos",
	[BOUND] = "bound",
};

const char *mixes_row_name(const struct evaluation *e, int row)
{
	return row < e->n_policies ? e->policies[row] : extra_names[row - e->n_policies];
}

/* --- tables --- */

static void name_set(const struct evaluation *e, int set, char *text, size_t size)
{
	int first = e->options.first_seed + set * e->options.seeds;

	snprintf(text, size, "%d-%d", first, first + e->options.seeds - 1);
}

static void print_row(const struct evaluation *e, const struct pool_row *row, const char *name,
		      bool sets)
{
	int n = e->options.seeds;
	struct pool_figures f;
	char mixes[32];

	for (int set = 0; sets && e->options.sets > 1 && set < e->options.sets; set++) {
		name_set(e, set, mixes, sizeof(mixes));
		f = pool_figures_of(row, set * n, n);
		pool_print_figures(name, mixes, &f);
	}
	f = pool_figures_of(row, 0, row->n_runs);
	pool_print_figures(name, "all", &f);
}

/* --- comparison of the policies in a mix --- */

/* Returns the capacity that @row sold in one mix, percent x s. */
static double sold_in(const struct kind *kind, int row, int mix)
{
	return kind->rows[row].runs[mix].sum.account.sold_cap_pct_s;
}

/* Returns true if @row broke at most POOL_KEEPS_PCT of the time in this mix. */
static bool keeps(const struct kind *kind, int row, int mix)
{
	return kind->rows[row].runs[mix].sum.account.broken_pct <= POOL_KEEPS_PCT;
}

/*
 * Returns the policy other than qos that sells most and keeps the limit, or -1. With @found, the
 * best schedules found and qos itself are compared too.
 */
static int find_best(const struct evaluation *e, const struct kind *kind, int mix, bool found)
{
	int best = -1, n = e->n_policies + (found ? FOUND_QOS + 1 : 0);

	for (int i = 0; i < n; i++) {
		if (kind->rows[i].n_runs == 0 || (i == e->qos && !found) || !keeps(kind, i, mix))
			continue;
		if (best < 0 || sold_in(kind, i, mix) > sold_in(kind, best, mix))
			best = i;
	}
	return best;
}

/* Returns true if qos keeps the limit, and no other policy that keeps it sells more. */
static bool is_ahead(const struct evaluation *e, const struct kind *kind, int mix)
{
	int best = find_best(e, kind, mix, false);

	return keeps(kind, e->qos, mix) &&
	       (best < 0 || sold_in(kind, e->qos, mix) >= sold_in(kind, best, mix));
}

/* Returns true if the net income of qos is higher than that of every other policy. */
static bool earns_most(const struct evaluation *e, const struct kind *kind, int mix)
{
	double net = kind->rows[e->qos].runs[mix].sum.account.net_income;

	for (int i = 0; i < e->n_policies; i++)
		if (i != e->qos && kind->rows[i].runs[mix].sum.account.net_income >= net)
			return false;
	return true;
}

static void print_counts(const struct evaluation *e, const struct kind *kind,
			 bool (*test)(const struct evaluation *e, const struct kind *kind, int mix),
			 const char *text)
{
	printf("%s:", text);
	for (int set = 0; set < e->options.sets; set++) {
		int n = 0;

		for (int i = 0; i < e->options.seeds; i++)
			n += test(e, kind, set * e->options.seeds + i);
		printf("%s %d of %d", set > 0 ? "," : "", n, e->options.seeds);
	}
	printf(" mixes\n");
}

static void print_against_best(const struct evaluation *e, const struct kind *kind)
{
	const struct pool_row *future = &kind->rows[e->n_policies + FOUND_FUTURE];
	double best = 0, sold = 0;
	int n = kind->rows[e->qos].n_runs, unkept = 0;

	for (int i = 0; i < n; i++) {
		int row = find_best(e, kind, i, true);

		best += row < 0 ? 0 : sold_in(kind, row, i);
		sold += row < 0 ? 0 : sold_in(kind, e->qos, i);
		unkept += row < 0;
	}
	if (best > 0)
		printf("sold by qos / best of all schedules and policies that keep 1 %%: %.3f "
		       "(%d mixes without such a run are not counted)\n",
		       sold / best, unkept);
	printf("mixes in which the start alone, with known demand, breaks the limit:");
	for (int i = 0; i < future->n_runs; i++)
		if (!future->runs[i].start_keeps_limit)
			printf(" %d", future->first_seed + i);
	printf("\n");
}

void mixes_print_kind(const struct evaluation *e, const struct kind *kind)
{
	const struct pool_row *rows = kind->rows;
	int named = 0, needed = 0;

	printf("\nSharing %s, ", kind->sharing);
	if (kind->move[0] == '\0')
		printf("no migrations (migrate = off)\n\n");
	else if (strcmp(kind->move, NEVER) == 0)
		printf("moves are expected, but no vGPU ever moves\n\n");
	else
		printf("a move takes %s s, with a blackout of " BLACKOUT_S
		       " s and a cost of " PRICE_PER_MOVE "\n\n",
		       kind->move);
	pool_print_head("policy");
	for (int i = 0; i < e->n_policies; i++)
		print_row(e, &rows[i], e->policies[i], i == e->qos);
	for (int i = 0; i < EXTRAS; i++)
		if (rows[e->n_policies + i].n_runs > 0 && i != BOUND)
			print_row(e, &rows[e->n_policies + i], extra_names[i], false);
	if (rows[e->n_policies + BOUND].n_runs > 0)
		printf("%-15s %-6s %9.1f\n", "upper bound", "all",
		       pool_figures_of(&rows[e->n_policies + BOUND], 0,
				       rows[e->n_policies + BOUND].n_runs)
				       .sold /
			       1000);
	printf("\n");
	print_counts(e, kind, is_ahead,
		     "qos keeps 1 % and is ahead of or level with every other policy that does");
	print_counts(e, kind, earns_most, "net income of qos ahead of every other policy");
	if (rows[e->n_policies + FOUND_FUTURE].n_runs > 0)
		print_against_best(e, kind);
	for (int i = 0; i < rows[e->qos].n_runs; i++) {
		named += rows[e->qos].runs[i].named;
		needed += rows[e->qos].runs[i].needed;
	}
	if (kind->move[0] != '\0')
		printf("qos selects %d vGPUs to leave, %d of them while the sum of demands "
		       "exceeds the GPU\n",
		       named, needed);
}

/* --- folds --- */

void mixes_print_folds(const struct evaluation *e, const struct kind *kind)
{
	printf("\nSharing %s, %s%s: recordings left out, %d mixes each. qos, tenants drawn with "
	       "replacement from this recording.\n%s%s%s\n",
	       kind->sharing, kind->move[0] ? "moves " : "no migrations", kind->move,
	       e->options.seeds,
	       e->key ? "value: of "
		      : "No value was chosen: the values of qos may depend on this recording.",
	       e->key ? e->key : "",
	       e->key ? ", chosen with the mixes of the other recordings" : "");
	printf("%-40s %7s %-7s ", "recording", "windows", "value");
	pool_print_head("policy");
	for (int i = 0; i < e->n_folds; i++) {
		printf("%-40s %7d %-7s ", e->folds[i].name, e->folds[i].windows,
		       e->key ? e->candidates[kind->folds.chosen[i]] : "-");
		pool_print_figures("qos", "all", &kind->folds.figures[i]);
	}
}

/* --- goals --- */

/*
 * The capacity that qos of 24 November 2026 sold in the first 20 mixes of each set, with the nine
 * recordings and hard caps, without migrations. The goal is 1.15 times as much.
 */
static const struct {
	int first_seed;
	double sold;
} before[] = {{1, 292798}, {21, 300308}, {41, 252492}};

/* The same for mixes 1 to 20 of each left-out recording, mean of the eight recordings. */
#define BEFORE_FOLDS 255250
#define N_FOLDS	     8

static void print_goal(bool met, const char *text, const char *mixes, double got)
{
	printf("%-8s %-62s %-6s %10.3f\n", met ? "met" : "NOT met", text, mixes, got);
}

static void print_stay_goals(const struct evaluation *e, const struct kind *kind)
{
	int n = e->options.seeds;

	for (int set = 0; set < e->options.sets; set++) {
		struct pool_figures f = pool_figures_of(&kind->rows[e->qos], set * n, n);
		char mixes[32];
		int ahead = 0;

		name_set(e, set, mixes, sizeof(mixes));
		for (int i = 0; i < n; i++)
			ahead += is_ahead(e, kind, set * n + i);
		for (size_t i = 0; n == 20 && i < ARRAY_SIZE(before); i++)
			if (before[i].first_seed == e->options.first_seed + set * n)
				print_goal(f.sold >= 1.15 * before[i].sold,
					   "no migrations: sold >= 1.15 times the former qos",
					   mixes, f.sold / before[i].sold);
		print_goal(f.broken <= GOAL_BROKEN_PCT,
			   "no migrations: broken <= 0.5 % in the mean", mixes, f.broken);
		print_goal(f.worst_mix <= GOAL_WORST_PCT,
			   "no migrations: broken <= 3 % in the worst mix", mixes, f.worst_mix);
		print_goal(f.worst_vgpu <= 5, "no migrations: broken <= 5 % for the worst vGPU",
			   mixes, f.worst_vgpu);
		print_goal(ahead >= 0.8 * n, "no migrations: ahead or level in 80 % of the mixes",
			   mixes, ahead);
	}
}

static void print_fold_goals(const struct evaluation *e, const struct kind *kind)
{
	struct pool_figures all = {0};
	bool same = e->options.seeds == 20 && e->options.first_seed == 1 && e->n_folds == N_FOLDS;

	for (int i = 0; i < e->n_folds; i++) {
		const struct pool_figures *f = &kind->folds.figures[i];

		all.sold += f->sold / e->n_folds;
		all.broken += f->broken / e->n_folds;
		all.worst_mix = fmax(all.worst_mix, f->worst_mix);
		all.worst_vgpu = fmax(all.worst_vgpu, f->worst_vgpu);
	}
	if (kind->move[0] != '\0') {
		print_goal(all.broken <= 1, "left out, moves 10: broken <= 1 % in the mean", "all",
			   all.broken);
		return;
	}
	if (same)
		print_goal(all.sold >= 1.15 * BEFORE_FOLDS,
			   "left out, no migrations: sold >= 1.15 times the former qos", "all",
			   all.sold / BEFORE_FOLDS);
	print_goal(all.broken <= GOAL_BROKEN_PCT,
		   "left out, no migrations: broken <= 0.5 % in the mean", "all", all.broken);
	print_goal(all.worst_mix <= GOAL_WORST_PCT,
		   "left out, no migrations: broken <= 3 % in the worst mix", "all", all.worst_mix);
	print_goal(all.worst_vgpu <= 5, "left out, no migrations: broken <= 5 % for the worst vGPU",
		   "all", all.worst_vgpu);
}

void mixes_print_goals(const struct evaluation *e, const char *sharing)
{
	printf("\nGoals of qos, sharing %s\n\n", sharing);
	for (int k = 0; k < e->n_kinds; k++) {
		const struct kind *kind = &e->kinds[k];
		struct pool_figures f =
			pool_figures_of(&kind->rows[e->qos], 0, kind->rows[e->qos].n_runs);
		int most = 0;
		char text[80];

		if (kind->sharing != sharing)
			continue;
		if (kind->has_folds)
			print_fold_goals(e, kind);
		if (kind->move[0] == '\0') {
			print_stay_goals(e, kind);
			continue;
		}
		for (int i = 0; i < kind->rows[e->qos].n_runs; i++)
			most += earns_most(e, kind, i);
		snprintf(text, sizeof(text), "moves %s: broken <= 1 %% in the mean", kind->move);
		print_goal(f.broken <= 1, text, "all", f.broken);
		snprintf(text, sizeof(text), "moves %s: net income ahead in 80 %% of the mixes",
			 kind->move);
		print_goal(most >= 0.8 * kind->rows[e->qos].n_runs, text, "all", most);
	}
}
