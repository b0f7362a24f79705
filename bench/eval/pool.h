/* SPDX-License-Identifier: MIT */
/*
 * Runs many experiments on all CPUs, for the evaluations in this folder. A row is a scenario and a
 * strategy, with a run for each seed. Each experiment runs in one thread and writes its own result,
 * so the results do not depend on the order in which threads finish.
 */
#ifndef BENCH_EVAL_POOL_H
#define BENCH_EVAL_POOL_H

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/experiment/bound.h"
#include "sim/experiment/best-schedule.h"

#define POOL_THREADS_MAX 64
#define POOL_KEEPS_PCT	 1.0 /* broken time that a run may have to be compared */

enum pool_strategy {
	POOL_POLICY,
	POOL_FOUND_BY_POLICY, /* best schedule found, with the caps of a policy */
	POOL_FOUND_BY_FUTURE, /* best schedule found, with caps from the future demand */
	POOL_BOUND,	      /* only sum.account.sold_cap_pct_s is set */
};

struct pool_run {
	struct experiment_summary sum;
	struct best_schedule_facts facts;
	int named;  /* vGPUs that the policy selected to leave in a severe overload */
	int needed; /* those selected while the sum of demands exceeded the GPU */
};

struct pool_row {
	const struct scenario *scenario;
	enum pool_strategy strategy;
	const struct policy *policy;
	int first_seed, n_runs;
	struct pool_run *runs; /* owned by the caller */
};

struct pool_work {
	struct pool_row *rows;
	int n_rows;
	atomic_int next;
};

_Noreturn static inline void pool_die(const char *what)
{
	fprintf(stderr, "eval: %s\n", what);
	exit(1);
}

struct pool_watch {
	struct pool_run *run;
	const struct experiment *experiment;
};

static inline void pool_note(void *userdata, const struct experiment_event *event)
{
	struct pool_watch *watch = userdata;
	const struct experiment_vgpu *vgpu;
	double demand = 0;

	if (!event->decision || event->decision->kind != POLICY_SEVERE || event->vgpu[0] == '\0')
		return;
	for (int i = 0; (vgpu = experiment_current_vgpu_at(watch->experiment, i)); i++)
		demand += vgpu->sample.demand;
	watch->run->named++;
	watch->run->needed += demand > 1;
}

static inline void pool_finish(struct experiment *experiment, struct pool_run *run)
{
	while (experiment_step(experiment))
		;
	experiment_summarize(experiment, &run->sum);
	experiment_free(experiment);
}

static inline void pool_play_policy(const struct pool_row *row, uint64_t seed, struct pool_run *run)
{
	struct pool_watch watch = {.run = run};
	const struct experiment_hooks hooks = {.userdata = &watch, .on_event = pool_note};
	struct experiment *experiment;
	struct err err = {""};

	if (experiment_new(row->scenario, row->policy, NULL, seed, &hooks, &experiment, &err) < 0)
		pool_die(err.msg);
	watch.experiment = experiment;
	pool_finish(experiment, run);
}

static inline void pool_play_found(const struct pool_row *row, uint64_t seed, struct pool_run *run)
{
	enum best_schedule_kind kind = row->strategy == POOL_FOUND_BY_FUTURE
					       ? BEST_SCHEDULE_BY_FUTURE
					       : BEST_SCHEDULE_BY_POLICY;
	struct experiment *experiment;
	struct err err = {""};
	struct best_schedule *found;

	if (best_schedule_new(row->scenario, kind, row->policy, seed, &found, &err) < 0 ||
	    best_schedule_experiment(found, NULL, NULL, &experiment, &err) < 0)
		pool_die(err.msg);
	pool_finish(experiment, run);
	run->facts = best_schedule_facts(found);
	best_schedule_free(found);
}

static inline void pool_play_one(const struct pool_row *row, int index)
{
	uint64_t seed = (uint64_t)(row->first_seed + index);
	struct pool_run *run = &row->runs[index];
	struct err err = {""};
	struct bound bound;

	if (row->strategy == POOL_POLICY) {
		pool_play_policy(row, seed, run);
	} else if (row->strategy == POOL_BOUND) {
		if (bound_compute(row->scenario, seed, POOL_KEEPS_PCT, &bound, &err) < 0)
			pool_die(err.msg);
		run->sum.account.sold_cap_pct_s = bound.sold_pct_s;
	} else {
		pool_play_found(row, seed, run);
	}
}

static inline void *pool_thread(void *userdata)
{
	struct pool_work *work = userdata;
	int all = 0, row = 0, first = 0;

	for (int i = 0; i < work->n_rows; i++)
		all += work->rows[i].n_runs;
	for (int i; (i = atomic_fetch_add(&work->next, 1)) < all;) {
		while (i - first >= work->rows[row].n_runs)
			first += work->rows[row++].n_runs;
		pool_play_one(&work->rows[row], i - first);
	}
	return NULL;
}

/* Runs all rows. Exits with a message on an error. */
static inline void pool_play(struct pool_row *rows, int n_rows)
{
	struct pool_work work = {.rows = rows, .n_rows = n_rows};
	pthread_t threads[POOL_THREADS_MAX];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int n = 0;

	while (n < POOL_THREADS_MAX && n + 1 < cpus &&
	       pthread_create(&threads[n], NULL, pool_thread, &work) == 0)
		n++;
	(void)pool_thread(&work);
	while (n > 0)
		(void)pthread_join(threads[--n], NULL);
}

/* Sets one value of @scenario, or exits with a message. @key: as for scenario_set(). */
static inline void pool_set(struct scenario *scenario, const char *key, const char *value)
{
	struct err err = {""};

	if (scenario_set(scenario, key, value, &err) < 0)
		pool_die(err.msg);
}

/* Returns a copy of @scenario, which must outlive the copy. Exits if out of memory. */
static inline struct scenario *pool_copy(const struct scenario *scenario)
{
	struct scenario *copy = malloc(sizeof(*copy));

	if (!copy)
		pool_die("out of memory");
	memcpy(copy, scenario, sizeof(*copy));
	return copy;
}

/* Fills @row, with memory for @n_runs runs. Exits if out of memory. */
static inline void pool_make_row(struct pool_row *row, const struct scenario *scenario,
				 enum pool_strategy strategy, const char *policy, int first_seed,
				 int n_runs)
{
	*row = (struct pool_row){.scenario = scenario,
				 .strategy = strategy,
				 .policy = policy ? policy_find(policy) : NULL,
				 .first_seed = first_seed,
				 .n_runs = n_runs,
				 .runs = calloc((size_t)n_runs, sizeof(struct pool_run))};
	if (!row->runs)
		pool_die("out of memory");
}

/* --- figures of a row --- */

/* Means of runs, unless named otherwise. */
struct pool_figures {
	double sold, broken, worst_mix, worst_vgpu, shortfall, worst_shortfall;
	double moves, stay_s, net;
};

static inline struct pool_figures pool_figures_of(const struct pool_row *row, int from, int n)
{
	struct pool_figures f = {0};

	for (int i = from; i < from + n; i++) {
		const struct account_summary *sum = &row->runs[i].sum.account;

		f.sold += sum->sold_cap_pct_s / n;
		f.broken += sum->broken_pct / n;
		f.worst_mix = fmax(f.worst_mix, sum->broken_pct);
		f.worst_vgpu = fmax(f.worst_vgpu, sum->worst_broken_pct);
		f.shortfall += sum->shortfall_pct / n;
		f.worst_shortfall = fmax(f.worst_shortfall, sum->worst_shortfall_pct);
		f.moves += (double)sum->moves / n;
		f.stay_s += row->runs[i].sum.stay_median_s / n;
		f.net += sum->net_income / n;
	}
	return f;
}

static inline void pool_print_head(const char *first)
{
	printf("%-15s %-6s %9s %8s %9s %10s %7s %10s %6s %6s %8s\n", first, "mixes", "sold",
	       "broken %", "worst mix", "worst vGPU", "short %", "worst vGPU", "moves", "stay s",
	       "net");
}

static inline void pool_print_figures(const char *name, const char *mixes,
				      const struct pool_figures *f)
{
	printf("%-15s %-6s %9.1f %8.3f %9.2f %10.2f %7.3f %10.2f %6.1f %6.0f %8.3f\n", name, mixes,
	       f->sold / 1000, f->broken, f->worst_mix, f->worst_vgpu, f->shortfall,
	       f->worst_shortfall, f->moves, f->stay_s, f->net);
}

#endif
