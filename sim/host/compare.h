/* SPDX-License-Identifier: MIT */
/* gover-sim compare: runs many experiments and prints their summaries side by side. */
#ifndef SIM_HOST_COMPARE_H
#define SIM_HOST_COMPARE_H

#include <stdbool.h>

#include "base/err.h"

#define COMPARE_SEEDS_MAX 1000

struct compare_options {
	char *const *scenarios; /* paths */
	int n_scenarios;
	const char *policies; /* "NAME[:KEY=VALUE]...", separated by commas; NULL: all policies */
	const char *const *sets; /* KEY=VALUE, for all runs */
	int n_sets;
	int seeds, first_seed; /* first_seed -1: as in each scenario */
	const char *out;       /* folder; NULL: none */
	bool plot;	       /* draw a diagram; requires out */
	bool json;
};

/* Runs all experiments on all CPUs and prints the table. -errno with a message. */
int compare_run(const struct compare_options *options, struct err *reterr);

#endif
