/* SPDX-License-Identifier: MIT */
/* Internal to compare.c and compare-print.c. */
#ifndef SIM_HOST_COMPARE_INTERNAL_H
#define SIM_HOST_COMPARE_INTERNAL_H

#include "sim/host/compare.h"
#include "sim/host/setup.h"
#include "sim/experiment/summary.h"

#define COMPARE_NAME_MAX 128

/* One scenario under one policy. */
struct compare_row {
	char scenario_name[COMPARE_NAME_MAX], policy_name[COMPARE_NAME_MAX];
	struct scenario *scenario;
	struct setup_strategy strategy;
	struct experiment_summary *runs; /* one per seed */
};

struct compare {
	const struct compare_options *options;
	struct compare_row *rows;
	int n_rows;
};

uint64_t compare_seed(const struct compare *compare, const struct compare_row *row, int run);

/* Prints the table or its JSON on stdout. -EIO, -ENOMEM. */
int compare_print(const struct compare *compare, struct err *reterr);

/* Writes runs.csv, compare.json, compare.gp and, with --plot, compare.png. */
int compare_write(const struct compare *compare, struct err *reterr);

#endif
