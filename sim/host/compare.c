/* SPDX-License-Identifier: MIT */
/*
 * Runs every scenario under every policy with every seed, with one thread per CPU. Each experiment
 * runs in a single thread and writes its own result, so the output does not depend on the order in
 * which threads finish.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "sim/host/compare.h"

#define THREADS_MAX 64

/* --- the rows --- */

static void name_scenario(const char *path, char name[COMPARE_NAME_MAX])
{
	const char *base = strrchr(path, '/');
	char *dot;

	snprintf(name, COMPARE_NAME_MAX, "%s", base ? base + 1 : path);
	dot = strrchr(name, '.');
	if (dot && dot > name)
		*dot = '\0';
}

/* Fills a row of the comparison. @text: policy and parameters, "NAME[:KEY=VALUE]...". */
static int make_row(const struct compare_options *options, const char *path, const char *text,
		    struct compare_row *row, struct err *reterr)
{
	char words[COMPARE_NAME_MAX], *rest = words;
	const char *sets[COMPARE_NAME_MAX / 2];
	int n_sets = 0, r;

	name_scenario(path, row->scenario_name);
	snprintf(row->policy_name, sizeof(row->policy_name), "%s", text);
	strcpy(words, row->policy_name);
	r = setup_strategy(strsep(&rest, ":"), &row->strategy, reterr);
	while (rest)
		sets[n_sets++] = strsep(&rest, ":");
	if (r == 0)
		r = setup_scenario(path, options->sets, options->n_sets, &row->scenario, reterr);
	if (r == 0)
		r = setup_sets(row->scenario, sets, n_sets, reterr);
	if (r == 0)
		row->runs = xcalloc((size_t)options->seeds, sizeof(*row->runs));
	return r;
}

static int count_policies(const char *policies)
{
	int n = 1;

	for (; *policies; policies++)
		n += *policies == ',';
	return n;
}

static int make_rows(struct compare *compare, const char *policies, struct err *reterr)
{
	const struct compare_options *options = compare->options;
	int n = count_policies(policies);

	compare->rows = xcalloc((size_t)(options->n_scenarios * n), sizeof(*compare->rows));
	for (int s = 0; s < options->n_scenarios; s++) {
		CLEANUP_FREE char *copy = xstrdup(policies);
		char *rest = copy;

		while (rest) {
			const char *text = strsep(&rest, ",");
			int r;

			if (strlen(text) >= COMPARE_NAME_MAX)
				return err_fail(reterr, EINVAL, "--policies: '%.40s...': too long",
						text);
			r = make_row(options, options->scenarios[s], text,
				     &compare->rows[compare->n_rows++], reterr);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* --- running --- */

struct work {
	struct compare *compare;
	atomic_int next;
	atomic_int failed; /* an errno */
	struct err err;	   /* message of the experiment that failed first */
};

uint64_t compare_seed(const struct compare *compare, const struct compare_row *row, int run)
{
	int first = compare->options->first_seed;

	return (uint64_t)(first >= 0 ? first : row->scenario->seed) + (uint64_t)run;
}

static int play(const struct compare *compare, struct compare_row *row, int run, struct err *reterr)
{
	uint64_t seed = compare_seed(compare, row, run);
	struct experiment *experiment;
	struct best_schedule *schedule;
	int r = setup_experiment(&row->strategy, row->scenario, seed, NULL, NULL, &experiment,
				 &schedule, reterr);

	if (r < 0)
		return r;
	while (experiment_step(experiment))
		;
	experiment_summarize(experiment, &row->runs[run]);
	experiment_free(experiment);
	best_schedule_free(schedule);
	return 0;
}

static void *play_all(void *userdata)
{
	struct work *work = userdata;
	int seeds = work->compare->options->seeds;
	int n = work->compare->n_rows * seeds;

	for (int i; (i = atomic_fetch_add(&work->next, 1)) < n;) {
		struct compare_row *row = &work->compare->rows[i / seeds];
		struct err err = {""};
		int zero = 0;
		int r = play(work->compare, row, i % seeds, &err);

		if (r < 0 && atomic_compare_exchange_strong(&work->failed, &zero, -r))
			(void)err_fail(&work->err, -r, "%s: %.400s", row->scenario_name, err.msg);
	}
	return NULL;
}

static int play_rows(struct compare *compare, struct err *reterr)
{
	struct work work = {.compare = compare};
	pthread_t threads[THREADS_MAX];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int n = 0, failed;

	/* If no thread can be created, the current thread runs all experiments. */
	while (n < THREADS_MAX && n + 1 < cpus &&
	       pthread_create(&threads[n], NULL, play_all, &work) == 0)
		n++;
	(void)play_all(&work);
	while (n > 0)
		(void)pthread_join(threads[--n], NULL);
	failed = atomic_load(&work.failed);
	return failed ? err_fail(reterr, failed, "%s", work.err.msg) : 0;
}

int compare_run(struct compare *compare, const struct compare_options *options, struct err *reterr)
{
	char all[256];
	int r;

	*compare = (struct compare){.options = options};
	setup_list_policies(",", all, sizeof(all));
	r = make_rows(compare, options->policies ? options->policies : all, reterr);
	return r < 0 ? r : play_rows(compare, reterr);
}

void compare_fini(struct compare *compare)
{
	for (int i = 0; i < compare->n_rows; i++) {
		setup_free(compare->rows[i].scenario);
		free(compare->rows[i].runs);
	}
	free(compare->rows);
}
