/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The interface between the BPF program and gover-d: an array with one row of counters for each
 * vGPU, which the daemon maps, and a table that assigns a row to each control group of a vGPU. Only
 * the BPF program writes the rows. Only the daemon writes the table.
 */
#ifndef MONITOR_BPF_COUNT_H
#define MONITOR_BPF_COUNT_H

#include <stdint.h>

#include "fps-preload/wire.h" /* FPS_WIRE_BUCKETS */

#define FPS_BPF_ROWS 1024 /* maximum number of vGPUs */

/* Maximum presenting threads. The frames of further threads are counted without frame times. */
#define FPS_BPF_THREADS 4096

/* Counters of one vGPU since the program was loaded. */
struct fps_bpf_row {
	uint64_t frames;
	uint64_t last_ns; /* CLOCK_MONOTONIC of the newest frame */
	uint64_t longest_gap_ns;
	int64_t threads; /* number of running threads that have presented a frame */
	uint64_t frame_time[FPS_WIRE_BUCKETS];
};

/* Like fps_wire_bucket(), without the clz instruction, which BPF does not have. */
static inline unsigned int fps_bpf_bucket(uint64_t frame_time_ns)
{
	uint64_t units = frame_time_ns / FPS_WIRE_BUCKET0_NS;
	unsigned int octave = 0;

	if (units == 0)
		return 0;
	if (units >= 1u << FPS_WIRE_BUCKETS / 4)
		return FPS_WIRE_BUCKETS - 1;
	for (unsigned int step = 8; step > 0; step /= 2) {
		if (units >> step == 0)
			continue;
		units >>= step;
		octave += step;
	}
	/* The constants are 100 us times 2^(1/4), 2^(2/4) and 2^(3/4), in ns and rounded up. */
	return 4 * octave + (frame_time_ns >= 118921ull << octave) +
	       (frame_time_ns >= 141422ull << octave) + (frame_time_ns >= 168180ull << octave);
}

#endif
