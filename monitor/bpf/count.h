/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the program in the kernel and gover-d share: a row of counters for each vGPU, in an array
 * that the daemon maps, and the table that says which control group has which row. The kernel's
 * side alone writes the rows, the daemon alone the table.
 */
#ifndef MONITOR_BPF_COUNT_H
#define MONITOR_BPF_COUNT_H

#include <stdint.h>

#include "fps-preload/wire.h" /* the buckets of frame time are the same everywhere */

#define FPS_BPF_ROWS	1024 /* vGPUs at once */
#define FPS_BPF_THREADS 4096 /* that present; further ones' frames have no frame time */

/* Of one vGPU since the program was loaded; never decreases but for @threads. */
struct fps_bpf_row {
	uint64_t frames;
	uint64_t last_ns; /* CLOCK_MONOTONIC of the newest */
	uint64_t longest_gap_ns;
	int64_t threads; /* that have presented and still live */
	uint64_t frame_time[FPS_WIRE_BUCKETS];
};

/* As fps_wire_bucket(), which needs an instruction that the kernel's machine lacks. */
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
	/* 100 us times 2^(1/4), 2^(2/4), 2^(3/4), rounded up. */
	return 4 * octave + (frame_time_ns >= 118921ull << octave) +
	       (frame_time_ns >= 141422ull << octave) + (frame_time_ns >= 168180ull << octave);
}

#endif
