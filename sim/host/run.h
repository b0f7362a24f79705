/* SPDX-License-Identifier: MIT */
/* gover-sim run: runs one experiment with one policy. */
#ifndef SIM_HOST_RUN_H
#define SIM_HOST_RUN_H

#include <stdbool.h>

#include "base/err.h"

#define RUN_SETS_MAX 64

struct run_options {
	const char *scenario;		/* path */
	const char *policy;		/* name of a policy; NULL: the policy of the scenario */
	const char *sets[RUN_SETS_MAX]; /* KEY=VALUE */
	int n_sets;
	int seed;	 /* seed; -1: the seed of the scenario */
	const char *out; /* output folder; NULL: no files */
	bool json;
};

/* Runs the experiment and prints its summary to stdout. -errno with a message. */
int run_run(const struct run_options *options, struct err *reterr);

#endif
