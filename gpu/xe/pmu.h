/* SPDX-License-Identifier: MIT */
/*
 * The counters of ticks of a GPU: its PMU, or the folder counters/ of gover-sim, which cannot have
 * a PMU. A function has one group of events, kept open: one read() gives all its counters.
 *
 * Source: Linux, drivers/gpu/drm/xe/xe_pmu.c. Event numbers and bits are read from sysfs (events/,
 * format/). An open event keeps the device awake.
 */
#ifndef GPU_XE_PMU_H
#define GPU_XE_PMU_H

#include <linux/perf_event.h>
#include <sys/types.h>

#include "gpu/xe/layout.h"
#include "gpu/xe/usage.h"

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

#endif
