/* SPDX-License-Identifier: MIT */
/* Runs the rows of an evaluation. Threads take the runs in order, one at a time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "tests/bench/eval/pool.h"
#include "tests/bench/eval/bound.h"

void pool_die(const char *what)
{
	fprintf(stderr, "eval: %s\n", what);
	exit(1);
}

struct watch {
	struct pool_run *run;
	const struct experiment *experiment;
};

static void note(void *userdata, const struct experiment_event *event)
{
	struct watch *watch = userdata;
	const struct experiment_vgpu *vgpu;
	double demand = 0;

	if (!event->decision || event->decision->kind != POLICY_SEVERE || event->vgpu[0] == '\0')
		return;
	for (int i = 0; (vgpu = experiment_current_vgpu_at(watch->experiment, i)); i++)
		demand += vgpu->sample.demand;
	watch->run->named++;
	watch->run->needed += demand > 1;
}

static void play_policy(const struct pool_row *row, uint64_t seed, struct pool_run *run)
{
	struct watch watch = {.run = run};
	const struct experiment_hooks hooks = {.userdata = &watch, .on_event = note};
	struct experiment *experiment;
	struct err err = {""};

	if (experiment_new(row->scenario, row->policy, seed, &hooks, &experiment, &err) < 0)
		pool_die(err.msg);
	watch.experiment = experiment;
	experiment_finish(experiment, &run->sum);
}

static void play_found(const struct pool_row *row, uint64_t seed, struct pool_run *run)
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
	experiment_finish(experiment, &run->sum);
	run->start_keeps_limit = best_schedule_start_keeps_limit(found);
	best_schedule_free(found);
}

static void play_one(const struct pool_row *row, int index)
{
	uint64_t seed = (uint64_t)(row->first_seed + index);
	struct pool_run *run = &row->runs[index];
	struct err err = {""};
	struct bound bound;

	if (row->strategy == POOL_POLICY) {
		play_policy(row, seed, run);
	} else if (row->strategy == POOL_BOUND) {
		if (bound_compute(row->scenario, seed, POOL_KEEPS_PCT, &bound, &err) < 0)
			pool_die(err.msg);
		run->sum.account.sold_cap_pct_s = bound.sold_pct_s;
	} else {
		play_found(row, seed, run);
	}
}

/* Plays run number @index of all rows. */
static void play_run(void *rows, int index)
{
	const struct pool_row *row = rows;

	for (; index >= row->n_runs; row++)
		index -= row->n_runs;
	play_one(row, index);
}

void pool_play(struct pool_row *rows, int n_rows)
{
	int all = 0;

	for (int i = 0; i < n_rows; i++)
		all += rows[i].n_runs;
	thread_run_all(all, play_run, rows);
}

void pool_set(struct scenario *scenario, const char *key, const char *value)
{
	struct err err = {""};

	if (scenario_set(scenario, key, value, &err) < 0)
		pool_die(err.msg);
}

struct scenario *pool_copy(const struct scenario *scenario)
{
	struct scenario *copy = malloc(sizeof(*copy));

	if (!copy)
		pool_die("out of memory");
	memcpy(copy, scenario, sizeof(*copy));
	return copy;
}

void pool_make_row(struct pool_row *row, const struct scenario *scenario,
		   enum pool_strategy strategy, const char *policy, int first_seed, int n_runs)
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

struct pool_figures pool_figures_of(const struct pool_row *row, int from, int n)
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

void pool_print_head(const char *first)
{
	printf("%-15s %-6s %9s %8s %9s %10s %7s %10s %6s %6s %8s\n", first, "mixes", "sold",
	       "broken %", "worst mix", "worst vGPU", "short %", "worst vGPU", "moves", "stay s",
	       "net");
}

void pool_print_figures(const char *name, const char *mixes, const struct pool_figures *f)
{
	printf("%-15s %-6s %9.1f %8.3f %9.2f %10.2f %7.3f %10.2f %6.1f %6.0f %8.3f\n", name, mixes,
	       f->sold / 1000, f->broken, f->worst_mix, f->worst_vgpu, f->shortfall,
	       f->worst_shortfall, f->moves, f->stay_s, f->net);
}
