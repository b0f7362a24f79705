/* SPDX-License-Identifier: MIT */
/* gover-sim compare: runs each scenario under each policy with each seed. */
#ifndef SIM_HOST_COMPARE_H
#define SIM_HOST_COMPARE_H

#include "sim/host/run.h"

#define COMPARE_SEEDS_MAX 1000

struct compare_options {
	char *const *scenarios; /* paths */
	int n_scenarios;
	/* policies, each as "NAME[:KEY=VALUE]...", separated by commas; NULL: all policies */
	const char *policies;
	int seeds;
	bool plot; /* draw a diagram; an output folder is required */
	/* sets, first seed and output; its scenario and policy are not used */
	const struct run_options *run;
};

/*
 * Runs all experiments on all CPUs, prints the comparison to stdout and writes its files. -errno
 * with a message.
 */
int compare_run(const struct compare_options *options, struct err *reterr);

#endif
