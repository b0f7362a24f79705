/* SPDX-License-Identifier: MIT */
/*
 * The counters of ticks of a GPU: its PMU, or the folder counters/ of gover-sim, which cannot have
 * a PMU. A function has one group of events, kept open: one read() gives all its counters.
 *
 * Source: Linux, drivers/gpu/drm/xe/xe_pmu.c. Event numbers and bits are read from sysfs (events/,
 * format/). An open event keeps the device awake.
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
#ifndef GPU_XE_PMU_H
#define GPU_XE_PMU_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpu/xe/layout.h"

#define XE_ENGINES_MAX 40

/* Counters of one function; the same engines for all functions of a GPU. */
struct xe_counts {
	int n_engines;
	uint64_t active[XE_ENGINES_MAX], total[XE_ENGINES_MAX];
};

/* The system calls, so that a test can replace the kernel. Each returns a negative errno. */
struct xe_perf {
	/* Opens an event on @cpu in the group @group_fd (-1: a new group), and writes its id. */
	int (*open)(const struct perf_event_attr *attr, int cpu, int group_fd, uint64_t *ret_id);
	ssize_t (*read)(int fd, void *buffer, size_t size);
	int (*close)(int fd);
};

extern const struct xe_perf xe_perf_kernel;

struct xe_pmu; /* the PMU of a GPU */

/*
 * Opens the counters of the device. Returns -ENOENT if the kernel counts no ticks of functions,
 * -EACCES if the permission is missing (CAP_PERFMON, or kernel.perf_event_paranoid <= 0).
 */
int xe_pmu_open(const struct xe_place *place, const struct xe_perf *perf, struct xe_pmu **ret_pmu);
void xe_pmu_close(struct xe_pmu *pmu);

/* Opens the events of function @vf (0: the physical function). Returns a negative errno. */
int xe_pmu_add(struct xe_pmu *pmu, int vf);
void xe_pmu_remove(struct xe_pmu *pmu, int vf);
/* Reads the counters of function @vf. n_engines is 0 after an error. */
int xe_pmu_read(struct xe_pmu *pmu, int vf, struct xe_counts *ret_counts);

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
