/* SPDX-License-Identifier: MIT */
/*
 * The values of one vGPU in one period, from its readings to the policy, the history and REST. A
 * value is meaningful only if its valid bit is set.
 */
#ifndef BASE_SAMPLE_H
#define BASE_SAMPLE_H

#include <stdbool.h>

struct sample {
	/* length of the period by the clock of the GPU; 0: no reading, or no earlier reading */
	double dt_s;
	bool busy_valid; /* load and util are valid */
	double load;	 /* busy time / dt_s, fraction of the GPU */
	/* Busy time / allotted time. With hard caps it may exceed 1 slightly. With guarantees it is
	 * above 1 if the vGPU uses spare time. */
	double util;
	bool fps_valid;
	double fps; /* frames or units of work per second */
	bool p99_valid;
	double frame_p99_ms; /* 99th percentile of the frame times */
};

#endif
