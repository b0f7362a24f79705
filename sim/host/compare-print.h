/* SPDX-License-Identifier: MIT */
/* Prints a comparison, and writes its files. */
#ifndef SIM_HOST_COMPARE_PRINT_H
#define SIM_HOST_COMPARE_PRINT_H

#include "sim/host/compare.h"

/* Prints the comparison to stdout, as a table or as JSON. -EIO. */
int compare_print(const struct compare *compare, struct err *reterr);

/*
 * Writes runs.csv, compare.json and compare.gp and, with --plot, compare.png. -errno with a
 * message.
 */
int compare_write(const struct compare *compare, struct err *reterr);

#endif
