/* SPDX-License-Identifier: MIT */
/* Reads the counters of a shared page and checks their plausibility. */
#ifndef MONITOR_FPS_PAGE_H
#define MONITOR_FPS_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/fps/totals.h"

/*
 * Maximum plausible frames per second. A program that only calls eglSwapBuffers() on a pbuffer
 * reaches about 6,000.
 */
#define FPS_PLAUSIBLE 100000

/*
 * Returns true if the counters of a program can plausibly change from @before to @after in
 * @elapsed_ns. GPU time is checked separately, so that a wrong GPU time does not invalidate the
 * frames.
 */
bool fps_page_plausible(const struct fps_counters *before, const struct fps_counters *after,
			uint64_t elapsed_ns);

/*
 * Adds the GPU time of @gpu_frames frames. @drawn frames were presented in @elapsed_ns. Ignores an
 * implausible GPU time, for example more than @elapsed_ns for each thread.
 */
void fps_gpu_time_add(struct fps_totals *totals, uint64_t drawn, uint64_t gpu_frames,
		      uint64_t gpu_time_ns, uint64_t elapsed_ns);

/* Adds the difference between the reading at @from_ns and the reading at @now_ns to the totals. */
void fps_page_add(struct fps_totals *totals, const struct fps_counters *before,
		  const struct fps_counters *after, uint64_t from_ns, uint64_t now_ns);

#endif
