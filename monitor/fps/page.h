/* SPDX-License-Identifier: MIT */
/* Reads the counters of a shared page and checks their plausibility. Pure functions. */
#ifndef MONITOR_FPS_PAGE_H
#define MONITOR_FPS_PAGE_H

#include <stdint.h>

#include "monitor/fps/totals.h"

/*
 * Maximum plausible frames per second. A program that only calls eglSwapBuffers() on a pbuffer
 * reaches about 6,000.
 */
#define FPS_PLAUSIBLE 100000

/* Maximum time from the presentation of a frame until its GPU time is known. */
#define FPS_GPU_LATE_NS 10000000000ull

/* The readings of one page. */
struct fps_reading {
	struct fps_counters counted; /* counters at the last reading */
	uint64_t at_ns;		     /* time of the last reading */
	uint64_t spare;		     /* frames that may be counted besides those of the rate */
	struct fps_phase phase;	     /* of the counted frames */
	double partial_frames;	     /* part of the next frame that had passed then, 0..1 */
	uint32_t presents_begun[FPS_WIRE_LANES]; /* at the last reading */
	enum fps_present present;		 /* of the program at the last reading */
};

/* Begins to read a page: all frames since its creation are new. */
void fps_reading_begin(struct fps_reading *reading, uint64_t now_ns);

/* Reads the page without counting its frames. */
void fps_reading_skip(struct fps_reading *reading, const struct fps_page *page);

/*
 * Reads the page, and adds what is new since the last reading to @totals (NULL: it is not counted).
 * Ignores the new frames if the counters are implausible: counters that decrease, or more than
 * FPS_PLAUSIBLE frames per second. Apart from this rate, at most FPS_PLAUSIBLE frames are counted
 * at once.
 */
void fps_reading_take(struct fps_reading *reading, const struct fps_page *page, uint64_t now_ns,
		      struct fps_totals *totals);

/* Adds the state of the program at the last reading to @totals. */
void fps_reading_add_state(const struct fps_reading *reading, struct fps_totals *totals);

/*
 * Adds the GPU time of @gpu_frames frames. @drawn frames were presented in @elapsed_ns. Ignores an
 * implausible GPU time, for example more than @elapsed_ns and FPS_GPU_LATE_NS for each thread or
 * for each frame.
 */
void fps_gpu_time_add(struct fps_totals *totals, uint64_t drawn, uint64_t gpu_frames,
		      uint64_t gpu_time_ns, uint64_t elapsed_ns);

#endif
