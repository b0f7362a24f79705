/* SPDX-License-Identifier: MIT */
/*
 * The part of a program's next frame that has passed, judged by the mean time between its newest
 * frames. With it, a frame rate over a short time is not wrong by a whole frame.
 * Pure functions: time is a parameter.
 */
#ifndef MONITOR_FPS_PHASE_H
#define MONITOR_FPS_PHASE_H

#include <stdint.h>

/* Zero-initialised. */
struct fps_phase {
	uint64_t newest_ns;   /* CLOCK_MONOTONIC of the newest frame; 0: none */
	uint64_t interval_ns; /* mean time between frames; 0: unknown */
};

/*
 * Returns the part of the next frame that has passed at @now_ns, 0..1. @frames new frames were
 * presented since the last call, the newest at @newest_ns, which is not after @now_ns. The part is
 * 0 until the time between two frames is known, and stays 1 if the next frame takes longer than the
 * frames before it. More than a second between two frames is a pause: the time is unknown after it.
 */
double fps_phase_take(struct fps_phase *phase, uint64_t frames, uint64_t newest_ns,
		      uint64_t now_ns);

#endif
