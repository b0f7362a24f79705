/* SPDX-License-Identifier: MIT */
/* gover-sim compare: runs each scenario under each policy with each seed. */
#ifndef SIM_HOST_COMPARE_H
#define SIM_HOST_COMPARE_H

#include <stdbool.h>

#include "base/err.h"
#include "sim/host/setup.h"
#include "sim/experiment/summary.h"

#define COMPARE_SEEDS_MAX 1000
#define COMPARE_NAME_MAX  128

struct compare_options {
	char *const *scenarios; /* paths */
	int n_scenarios;
	/* policies, each as "NAME[:KEY=VALUE]...", separated by commas; NULL: all policies */
	const char *policies;
	const char *const *sets; /* settings for all runs, each as "KEY=VALUE" */
	int n_sets;
	int seeds, first_seed; /* first_seed: first seed; -1: the seed of each scenario */
	const char *out;       /* output folder; NULL: no files */
	bool plot;	       /* draw a diagram; out is required */
	bool json;
};

/* One scenario under one policy. */
struct compare_row {
	char scenario_name[COMPARE_NAME_MAX], policy_name[COMPARE_NAME_MAX];
	struct scenario *scenario;
	struct setup_strategy strategy;
	struct experiment_summary *runs; /* results, one per seed */
};

struct compare {
	const struct compare_options *options;
	struct compare_row *rows;
	int n_rows;
};

/*
 * Runs all experiments on all CPUs. -errno with a message. The caller must call compare_fini(),
 * also after an error. @options must outlive @compare.
 */
int compare_run(struct compare *compare, const struct compare_options *options, struct err *reterr);
void compare_fini(struct compare *compare);

/* Returns the seed of run number @run of @row. */
uint64_t compare_seed(const struct compare *compare, const struct compare_row *row, int run);

#endif
