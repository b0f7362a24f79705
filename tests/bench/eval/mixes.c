/* SPDX-License-Identifier: MIT */
/*
 * Compares all policies on mixes of recorded GPU load, for tests/bench/eval/traces:
 *   mixes [--NAME VALUE]... DIR
 * DIR contains stay.ini and windows.csv, made by tests/bench/eval/hpa-traces. Each mix is a seed,
 * and the seeds are divided into sets. Prints for each discipline (sharing) and each speed of moves
 * a table of policies, and then the folds, in which one recording is left out. Writes every run to
 * DIR/runs.csv.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "tests/bench/eval/pool.h"
#include "sim/experiment/summary.h"

#define SETS_MAX       10
#define KINDS_MAX      16
#define POLICIES_MAX   16
#define CANDIDATES_MAX 8
#define FOLDS_MAX      32
#define NEVER	       "never"
#define DEFAULT_VALUE  "default" /* of --set: the value of the policy */
#define BLACKOUT_S     "1"
#define PRICE_PER_MOVE "0.6" /* a broken minute at the default penalty */

/* goals, which a candidate must also keep on the other recordings */
#define GOAL_BROKEN_PCT 0.5
#define GOAL_WORST_PCT	3.0

enum { FOUND_FUTURE, FOUND_QOS, BOUND, EXTRAS }; /* rows after the policies */

struct options {
	const char *dir;
	int sets, seeds, first_seed;
	char sharing[128], moves[128], policies[128], set[128]; /* lists, divided in place */
	int found, folds;					/* 0 or 1 */
};

/* One recording. */
struct fold {
	char name[40];
	int windows;
	bool own[SCENARIO_TENANTS_MAX]; /* tenants from this recording */
};

/* The recordings left out, for one kind. Without --set, or with one value, chosen[] is 0. */
struct fold_results {
	struct pool_figures figures[FOLDS_MAX]; /* qos with the mixes of the left-out recording */
	int chosen[FOLDS_MAX];			/* index of the value in candidates[] */
};

/* One discipline and one speed of moves. */
struct kind {
	const char *sharing;
	const char *move; /* "": no migrations; NEVER, or seconds */
	struct scenario *scenario;
	struct pool_row *rows; /* policies, then EXTRAS; no runs: not computed */
	bool has_folds;
	struct fold_results folds; /* if has_folds */
};

struct evaluation {
	struct options options;
	struct scenario *stay;
	const char *policies[POLICIES_MAX];
	int n_policies, qos; /* qos: index of policy qos */
	const char *sharings[2];
	int n_sharings;
	struct kind kinds[KINDS_MAX];
	int n_kinds;
	/* --set: a key with the values that the folds choose from; NULL: not given. The other
	 * tables use the first value. */
	const char *key;
	const char *candidates[CANDIDATES_MAX];
	int n_candidates;
	struct fold folds[FOLDS_MAX];
	int n_folds;
};

static const char *const extra_names[EXTRAS] = {
	[FOUND_FUTURE] = "best-found",
	[FOUND_QOS] = "best-found@qos",
	[BOUND] = "bound",
};

/* Returns the name of a row of struct kind. */
static const char *row_name(const struct evaluation *e, int row)
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

static void print_kind(const struct evaluation *e, const struct kind *kind)
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

static void print_folds(const struct evaluation *e, const struct kind *kind)
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

static void print_goals(const struct evaluation *e, const char *sharing)
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

/* --- folds: one recording left out --- */

static void set_candidate(const struct evaluation *e, struct scenario *scenario, int candidate)
{
	if (e->key && strcmp(e->candidates[candidate], DEFAULT_VALUE) != 0)
		pool_set(scenario, e->key, e->candidates[candidate]);
}

/*
 * Prepares the runs of one value of --set, with mixes of only one recording, or of all others.
 * @own: true: only of this one.
 */
static void make_side(const struct evaluation *e, const struct kind *kind, const struct fold *fold,
		      bool own, int candidate, struct pool_row *row)
{
	struct scenario *scenario = pool_copy(kind->scenario);

	/* drawn with replacement: some recordings have only one window */
	scenario->draw = SCENARIO_INDEPENDENT;
	for (int i = 0; i < scenario->n_tenants; i++)
		scenario->drawn[i] = fold->own[i] == own;
	set_candidate(e, scenario, candidate);
	pool_make_row(row, scenario, POOL_POLICY, "qos", e->options.first_seed, e->options.seeds);
}

/*
 * Returns the candidate that sells most on the other recordings within the goals or, if none keeps
 * them, the one with the least broken time. @rows: a row per candidate.
 */
static int choose(const struct evaluation *e, const struct pool_row *rows)
{
	int best = 0;
	bool kept = false;
	struct pool_figures most = {0};

	for (int i = 0; i < e->n_candidates; i++) {
		struct pool_figures f = pool_figures_of(&rows[i], 0, rows[i].n_runs);
		bool ok = f.broken <= GOAL_BROKEN_PCT && f.worst_mix <= GOAL_WORST_PCT;
		bool better = ok == kept ? (ok ? f.sold > most.sold : f.broken < most.broken) : ok;

		if (i > 0 && !better)
			continue;
		best = i;
		kept = ok;
		most = f;
	}
	return best;
}

static void play_folds(const struct evaluation *e, struct kind *kind)
{
	int n = e->n_candidates, all = e->n_folds * n * 2;
	struct pool_row *rows = calloc((size_t)all, sizeof(*rows));

	if (!rows)
		pool_die("out of memory");
	for (int i = 0; i < e->n_folds; i++)
		for (int k = 0; k < n; k++) {
			if (n > 1) /* a single value needs no choice */
				make_side(e, kind, &e->folds[i], false, k, &rows[2 * n * i + k]);
			make_side(e, kind, &e->folds[i], true, k, &rows[2 * n * i + n + k]);
		}
	pool_play(rows, all);
	kind->has_folds = true;
	for (int i = 0; i < e->n_folds; i++) {
		struct pool_row *others = &rows[i * 2 * n], *own = others + n;
		int chosen = n > 1 ? choose(e, others) : 0;

		kind->folds.chosen[i] = chosen;
		kind->folds.figures[i] = pool_figures_of(&own[chosen], 0, own[chosen].n_runs);
	}
	for (int i = 0; i < all; i++) {
		free((void *)(uintptr_t)rows[i].scenario);
		free(rows[i].runs);
	}
	free(rows);
}

static int find_tenant(const struct scenario *scenario, const char *name)
{
	for (int i = 0; i < scenario->n_tenants; i++)
		if (strcmp(scenario->tenants[i].name, name) == 0)
			return i;
	return -1;
}

/* Recordings whose names begin with the same 39 characters are left out together. */
static struct fold *find_fold(struct evaluation *e, const char *name)
{
	for (int i = 0; i < e->n_folds; i++)
		if (strncmp(e->folds[i].name, name, sizeof(e->folds[0].name) - 1) == 0)
			return &e->folds[i];
	if (e->n_folds == FOLDS_MAX)
		pool_die("windows.csv: too many recordings");
	snprintf(e->folds[e->n_folds].name, sizeof(e->folds[0].name), "%s", name);
	return &e->folds[e->n_folds++];
}

/* Reads the recording of each tenant from windows.csv: WINDOW,"FILE",... */
static void load_folds(struct evaluation *e)
{
	char path[4096], line[8192];
	FILE *file;

	snprintf(path, sizeof(path), "%s/windows.csv", e->options.dir);
	file = fopen(path, "re");
	if (!file)
		pool_die("windows.csv: cannot be read");
	while (fgets(line, sizeof(line), file)) {
		char *rest = line, *window = strsep(&rest, ","), *name = strsep(&rest, "\"");
		int tenant = find_tenant(e->stay, window);
		struct fold *fold;

		name = name && rest ? strsep(&rest, "\"") : NULL;
		if (tenant < 0 || !name)
			continue;
		if (strrchr(name, '/'))
			name = strrchr(name, '/') + 1;
		name[strlen(name) > 4 ? strlen(name) - 4 : 0] = '\0'; /* .csv */
		fold = find_fold(e, name);
		fold->windows++;
		fold->own[tenant] = true;
	}
	fclose(file);
}

/* --- files --- */

static FILE *create(const struct evaluation *e, const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", e->options.dir, name);
	file = fopen(path, "we");
	if (!file)
		pool_die(strerror(errno));
	return file;
}

static void write_runs(const struct evaluation *e)
{
	const struct summary_field *field;
	FILE *out = create(e, "runs.csv");

	fprintf(out, "sharing,move_time,policy,seed");
	for (size_t i = 0; (field = summary_field_at(i)); i++)
		fprintf(out, ",%s", field->name);
	for (int k = 0; k < e->n_kinds; k++)
		for (int r = 0; r < e->n_policies + EXTRAS; r++)
			for (int run = 0; run < e->kinds[k].rows[r].n_runs; run++) {
				const struct kind *kind = &e->kinds[k];

				fprintf(out, "\n%s,%s,%s,%d", kind->sharing,
					kind->move[0] ? kind->move : "off", row_name(e, r),
					e->options.first_seed + run);
				for (size_t i = 0; (field = summary_field_at(i)); i++)
					fprintf(out, ",%.9g",
						summary_value(field, &kind->rows[r].runs[run].sum));
			}
	fputc('\n', out);
	if (fclose(out) == EOF)
		pool_die("runs.csv: cannot be written");
}

/* Returns true if the folds are computed for @kind. */
static bool has_folds(const struct kind *kind)
{
	return kind->move[0] == '\0' || strcmp(kind->move, "10") == 0;
}

/* --- the evaluation --- */

static int split(char *list, const char **ret_words, int most, const char *name)
{
	int n = 0;

	while (list && *list) {
		if (n == most) {
			fprintf(stderr, "mixes: --%s: too many values (limit %d)\n", name, most);
			exit(2);
		}
		ret_words[n++] = strsep(&list, ",");
	}
	return n;
}

static void make_kind(struct evaluation *e, const char *sharing, const char *move)
{
	struct kind *kind = &e->kinds[e->n_kinds++];
	int n = e->options.sets * e->options.seeds;

	*kind = (struct kind){.sharing = sharing, .move = move, .scenario = pool_copy(e->stay)};
	kind->rows = calloc((size_t)(e->n_policies + EXTRAS), sizeof(*kind->rows));
	if (!kind->rows)
		pool_die("out of memory");
	pool_set(kind->scenario, "host.sharing", sharing);
	set_candidate(e, kind->scenario, 0);
	if (move[0] != '\0') {
		pool_set(kind->scenario, "scenario.migrate", "on");
		pool_set(kind->scenario, "scenario.migrate_blackout_s", BLACKOUT_S);
		pool_set(kind->scenario, "price.price_per_move", PRICE_PER_MOVE);
		if (strcmp(move, NEVER) == 0)
			pool_set(kind->scenario, "scenario.migrate_capacity", "0");
		else
			pool_set(kind->scenario, "scenario.migrate_s", move);
	}
	for (int i = 0; i < e->n_policies; i++)
		pool_make_row(&kind->rows[i], kind->scenario, POOL_POLICY, e->policies[i],
			      e->options.first_seed, n);
	/* The bound does not depend on the discipline. With demand, it takes as long as a search.
	 */
	if (sharing == e->sharings[0] && (e->options.found || move[0] != '\0'))
		pool_make_row(&kind->rows[e->n_policies + BOUND], kind->scenario, POOL_BOUND, NULL,
			      e->options.first_seed, n);
	if (!e->options.found || move[0] != '\0')
		return;
	pool_make_row(&kind->rows[e->n_policies + FOUND_FUTURE], kind->scenario,
		      POOL_FOUND_BY_FUTURE, NULL, e->options.first_seed, n);
	pool_make_row(&kind->rows[e->n_policies + FOUND_QOS], kind->scenario, POOL_FOUND_BY_POLICY,
		      "qos", e->options.first_seed, n);
}

static void check_policies(struct evaluation *e)
{
	if (e->n_policies == 0)
		for (; policy_at((size_t)e->n_policies); e->n_policies++)
			e->policies[e->n_policies] = policy_at((size_t)e->n_policies)->name;
	e->qos = -1;
	for (int i = 0; i < e->n_policies; i++) {
		if (!policy_find(e->policies[i]))
			pool_die("--policies: unknown policy");
		if (strcmp(e->policies[i], "qos") == 0)
			e->qos = i;
	}
	if (e->qos < 0)
		pool_die("--policies: qos is missing");
}

static void set_up(struct evaluation *e)
{
	const char *moves[KINDS_MAX / 2];
	char path[4096];
	struct err err = {""};
	int n_moves;

	snprintf(path, sizeof(path), "%s/stay.ini", e->options.dir);
	e->stay = malloc(sizeof(*e->stay));
	if (!e->stay || scenario_load(path, e->stay, &err) < 0)
		pool_die(e->stay ? err.msg : "out of memory");
	e->n_policies = split(e->options.policies, e->policies, POLICIES_MAX, "policies");
	check_policies(e);
	if (e->options.set[0] != '\0') {
		char *values = e->options.set;

		e->key = strsep(&values, "=");
		e->n_candidates = split(values, e->candidates, CANDIDATES_MAX, "set");
	}
	if (e->key && e->n_candidates == 0)
		pool_die("--set: KEY=VALUE[,VALUE...] required");
	if (!e->key)
		e->n_candidates = 1;
	e->n_sharings = split(e->options.sharing, e->sharings, 2, "sharing");
	n_moves = split(e->options.moves, moves, KINDS_MAX / 2 - 1, "moves");
	for (int s = 0; s < e->n_sharings; s++) {
		make_kind(e, e->sharings[s], "");
		for (int i = 0; i < n_moves; i++)
			make_kind(e, e->sharings[s], moves[i]);
	}
	load_folds(e);
}

static void play_kinds(struct evaluation *e)
{
	int width = e->n_policies + EXTRAS;
	struct pool_row *all = calloc((size_t)(e->n_kinds * width), sizeof(*all));

	if (!all)
		pool_die("out of memory");
	for (int i = 0; i < e->n_kinds; i++)
		memcpy(&all[i * width], e->kinds[i].rows, (size_t)width * sizeof(*all));
	pool_play(all, e->n_kinds * width);
	free(all);
	for (int i = e->n_kinds / e->n_sharings; i < e->n_kinds; i++)
		e->kinds[i].rows[e->n_policies + BOUND] =
			e->kinds[i - e->n_kinds / e->n_sharings].rows[e->n_policies + BOUND];
}

static const struct option_row {
	const char *name;
	size_t offset;
	int min, max; /* 0, 0: a list */
} option_rows[] = {
	{"sets", offsetof(struct options, sets), 1, SETS_MAX},
	{"seeds", offsetof(struct options, seeds), 1, 1000},
	{"seed", offsetof(struct options, first_seed), 0, 1000000},
	{"found", offsetof(struct options, found), 0, 1},
	{"folds", offsetof(struct options, folds), 0, 1},
	{"sharing", offsetof(struct options, sharing), 0, 0},
	{"moves", offsetof(struct options, moves), 0, 0},
	{"policies", offsetof(struct options, policies), 0, 0},
	{"set", offsetof(struct options, set), 0, 0},
};

static int take_option(struct options *options, const char *name, const char *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(option_rows); i++) {
		const struct option_row *row = &option_rows[i];
		char *at = (char *)options + row->offset;
		int64_t number;

		if (strncmp(name, "--", 2) != 0 || strcmp(name + 2, row->name) != 0)
			continue;
		if (row->max == 0)
			return snprintf(at, sizeof(options->set), "%s", value) <
					       (int)sizeof(options->set)
				       ? 0
				       : -EINVAL;
		if (parse_int(value, row->min, row->max, &number) < 0)
			return -EINVAL;
		*(int *)(void *)at = (int)number;
		return 0;
	}
	return -EINVAL;
}

int main(int argc, char **argv)
{
	static struct evaluation e = {.options = {.sets = 3,
						  .seeds = 20,
						  .first_seed = 1,
						  .sharing = "hard",
						  .moves = "10,30,60,120,never",
						  .found = 1,
						  .folds = 1}};

	for (int i = 1; i + 1 < argc; i += 2) {
		if (take_option(&e.options, argv[i], argv[i + 1]) == 0)
			continue;
		fprintf(stderr, "mixes: %s %s: not valid\n", argv[i], argv[i + 1]);
		return 2;
	}
	if (argc % 2) {
		fputs("usage: mixes [--NAME VALUE]... DIR\n", stderr);
		return 2;
	}
	e.options.dir = argv[argc - 1];
	set_up(&e);
	play_kinds(&e);
	for (int i = 0; i < e.n_kinds; i++)
		print_kind(&e, &e.kinds[i]);
	for (int i = 0; i < e.n_kinds && e.options.folds; i++)
		if (has_folds(&e.kinds[i])) {
			play_folds(&e, &e.kinds[i]);
			print_folds(&e, &e.kinds[i]);
		}
	for (int i = 0; i < e.n_sharings; i++)
		print_goals(&e, e.sharings[i]);
	write_runs(&e);
	return 0;
}
