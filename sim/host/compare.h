/* SPDX-License-Identifier: MIT */
/* gover-sim compare: runs each scenario under each policy with each seed. */
#ifndef SIM_HOST_COMPARE_H
#define SIM_HOST_COMPARE_H

#include <stdbool.h>

#include "base/err.h"

#define COMPARE_SEEDS_MAX 1000

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

/*
 * Runs all experiments on all CPUs, prints the comparison to stdout and writes its files. -errno
 * with a message.
 */
int compare_run(const struct compare_options *options, struct err *reterr);

#endif
