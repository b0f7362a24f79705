/* SPDX-License-Identifier: MIT */
/*
 * Busy and allotted time of functions, from counters of ticks. Pure.
 *
 * For each engine and function the driver counts active ticks and total ticks. The total ticks of a
 * function count only its part of the round: time x quantum / round, whether it ran or not (Linux,
 * drivers/gpu/drm/xe/xe_guc_engine_activity.c, get_engine_total_ticks()). So active / total of one
 * function exceeds 1 in spare time, and only the sum of the total ticks of all functions is a
 * measure of time. A share of the GPU is active / sum of total over all functions.
 *
 * The GPU serves all engines of one function at a time. So the function uses its slice while any of
 * its engines is active, and its share is that of its busiest engine.
 */
#ifndef GPU_XE_USAGE_H
#define GPU_XE_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#define XE_ENGINES_MAX 40

/* Counters of one function; the same engines for all functions of a GPU. */
struct xe_counts {
	int n_engines;
	uint64_t active[XE_ENGINES_MAX], total[XE_ENGINES_MAX];
};

struct xe_usage {
	bool valid; /* the counters could be read at the last two instants */
	bool known; /* @last is set */
	struct xe_counts last;
	double busy_ns, sched_ns; /* cumulative, in time of the whole GPU */
};

/* Total ticks of all functions in a nanosecond, by engine. Zero-initialised. */
struct xe_rate {
	bool known;
	double ticks_per_ns[XE_ENGINES_MAX];
};

/*
 * Adds the time since the last call, @dt_ns, to @n functions, which are all functions of the GPU.
 * @counts has the counters of each function now; n_engines is 0 if they could not be read. @rate is
 * measured while all functions can be read, and used when a function is new or cannot be read.
 * Returns false if no total ticks were counted: then the counters do not grow.
 */
bool xe_usage_advance(struct xe_usage *const *usages, const struct xe_counts *counts, int n,
		      double dt_ns, struct xe_rate *rate);

#endif
