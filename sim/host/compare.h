/* SPDX-License-Identifier: MIT */
/* gover-sim compare: many experiments side by side. */
#ifndef SIM_HOST_COMPARE_H
#define SIM_HOST_COMPARE_H

#include <stdbool.h>

#include "base/err.h"

#define COMPARE_SEEDS_MAX 1000

struct compare_options {
	char *const *scenarios; /* paths */
	int n_scenarios;
	const char *policies; /* "NAME[:KEY=VALUE]...", separated by commas; NULL: all there are */
	const char *const *sets; /* KEY=VALUE, of all */
	int n_sets;
	int seeds, first_seed; /* first_seed -1: each scenario's own */
	const char *out;       /* a folder; NULL: none */
	bool plot;	       /* draw it too; needs @out */
	bool json;
};

/* Plays all of them on all CPUs and prints the table. -errno with a sentence. */
int compare_run(const struct compare_options *options, struct err *reterr);

#endif
