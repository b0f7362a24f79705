/* SPDX-License-Identifier: MIT */
/* Prints a comparison, and writes it to files. */
#ifndef SIM_HOST_COMPARE_PRINT_H
#define SIM_HOST_COMPARE_PRINT_H

#include "sim/host/compare.h"

/* Prints the comparison on stdout, as a table or as JSON. -EIO, -ENOMEM. */
int compare_print(const struct compare *compare, struct err *reterr);

/* Writes runs.csv, compare.json, compare.gp and, with --plot, compare.png. */
int compare_write(const struct compare *compare, struct err *reterr);

#endif
