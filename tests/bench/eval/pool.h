/* SPDX-License-Identifier: MIT */
/*
 * Runs many experiments on all CPUs, for the evaluations in this folder. A row is a scenario and a
 * strategy, with a run for each seed. Each experiment runs in one thread and writes its own result,
 * so the results do not depend on the order in which threads finish.
 */
#ifndef TESTS_BENCH_EVAL_POOL_H
#define TESTS_BENCH_EVAL_POOL_H

#include "sim/experiment/best-schedule.h"

#define POOL_KEEPS_PCT 1.0 /* broken time that a run may have to be compared */

enum pool_strategy {
	POOL_POLICY,
	POOL_FOUND_BY_POLICY, /* best schedule found, with the caps of a policy */
	POOL_FOUND_BY_FUTURE, /* best schedule found, with caps from the future demand */
	POOL_BOUND,	      /* only sum.account.sold_cap_pct_s is set */
};

struct pool_run {
	struct experiment_summary sum;
	bool start_keeps_limit; /* best_schedule_start_keeps_limit() */
	int named;		/* vGPUs that the policy selected to leave in a severe overload */
	int needed;		/* those selected while the sum of demands exceeded the GPU */
};

struct pool_row {
	const struct scenario *scenario;
	enum pool_strategy strategy;
	const struct policy *policy;
	int first_seed, n_runs;
	struct pool_run *runs; /* owned by the caller */
};

/* Prints @what and exits with status 1. */
__attribute__((noreturn)) void pool_die(const char *what);

/* Runs all rows. Exits with a message on an error. */
void pool_play(struct pool_row *rows, int n_rows);

/* Sets one value of @scenario, or exits with a message. @key: as for scenario_set(). */
void pool_set(struct scenario *scenario, const char *key, const char *value);

/* Returns a copy of @scenario, which must outlive the copy. Exits if out of memory. */
struct scenario *pool_copy(const struct scenario *scenario);

/* Fills @row, with memory for @n_runs runs. @policy: name; NULL: no policy. Exits if out of
 * memory. */
void pool_make_row(struct pool_row *row, const struct scenario *scenario,
		   enum pool_strategy strategy, const char *policy, int first_seed, int n_runs);

/* Means of runs, unless named otherwise. */
struct pool_figures {
	double sold, broken, worst_mix, worst_vgpu, shortfall, worst_shortfall;
	double moves, stay_s, net;
};

/* Returns the figures of @n runs of @row, from run @from on. */
struct pool_figures pool_figures_of(const struct pool_row *row, int from, int n);

/* Print the head and a row of a table of figures. */
void pool_print_head(const char *first);
void pool_print_figures(const char *name, const char *mixes, const struct pool_figures *f);

#endif
