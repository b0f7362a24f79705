/* SPDX-License-Identifier: MIT */
/* gover-sim run: one experiment of one policy. */
#ifndef SIM_HOST_RUN_H
#define SIM_HOST_RUN_H

#include <stdbool.h>

#include "base/err.h"

#define RUN_SETS_MAX 64

struct run_options {
	const char *scenario;		/* a path */
	const char *policy;		/* NULL: the scenario's */
	const char *sets[RUN_SETS_MAX]; /* KEY=VALUE */
	int n_sets;
	int seed;	 /* -1: the scenario's */
	const char *out; /* a folder; NULL: none */
	bool json;
};

/* Plays it and says what it came to, on stdout. -errno with a sentence. */
int run_run(const struct run_options *options, struct err *reterr);

#endif
