/* SPDX-License-Identifier: MIT */
/* What the benchmarks share: an end with a sentence where they cannot go on, and the median. */
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void must(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-r));
	exit(1);
}

static inline int figures_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts them. */
static inline double median(double *figures, size_t n)
{
	qsort(figures, n, sizeof(*figures), figures_compare);
	return figures[n / 2];
}

#endif
