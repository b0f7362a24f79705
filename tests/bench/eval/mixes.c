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
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "tests/bench/eval/mixes.h"
#include "sim/experiment/summary.h"

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
					kind->move[0] ? kind->move : "off", mixes_row_name(e, r),
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
		mixes_print_kind(&e, &e.kinds[i]);
	for (int i = 0; i < e.n_kinds && e.options.folds; i++)
		if (has_folds(&e.kinds[i])) {
			play_folds(&e, &e.kinds[i]);
			mixes_print_folds(&e, &e.kinds[i]);
		}
	for (int i = 0; i < e.n_sharings; i++)
		mixes_print_goals(&e, e.sharings[i]);
	write_runs(&e);
	return 0;
}
