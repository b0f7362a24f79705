/* SPDX-License-Identifier: MIT */
/*
 * The state of an evaluation with mixes of recorded GPU load (mixes.c), and its tables: policies,
 * comparisons, folds and goals (mixes-print.c).
 */
#ifndef TESTS_BENCH_EVAL_MIXES_H
#define TESTS_BENCH_EVAL_MIXES_H

#include "tests/bench/eval/pool.h"

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

/* Returns the name of a row of struct kind. */
const char *mixes_row_name(const struct evaluation *e, int row);

/* Each function prints one table. */
void mixes_print_kind(const struct evaluation *e, const struct kind *kind);
void mixes_print_folds(const struct evaluation *e, const struct kind *kind);
void mixes_print_goals(const struct evaluation *e, const char *sharing);

#endif
