/* SPDX-License-Identifier: MIT */
/* Helpers shared by the benchmarks: exit on error, CPU time, sorting and median. */
#ifndef TESTS_BENCH_FIGURES_H
#define TESTS_BENCH_FIGURES_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

/* Exits with an error message about @what if @r is negative. */
static inline void must(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-r));
	exit(1);
}

/* Returns the CPU time of this process. */
static inline uint64_t figures_cpu_ns(void)
{
	struct timespec now;

	must(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), "clock");
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Comparison function for qsort() of doubles. */
static inline int figures_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts @figures and returns the median. */
static inline double median(double *figures, size_t n)
{
	qsort(figures, n, sizeof(*figures), figures_compare);
	return figures[n / 2];
}

#endif
