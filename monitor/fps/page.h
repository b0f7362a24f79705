/* SPDX-License-Identifier: MIT */
/* What a page of FPS counters says, and how much of it is believed. Pure: the page is only read. */
#ifndef MONITOR_FPS_PAGE_H
#define MONITOR_FPS_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/fps/fps.h"

/* No present path is faster: an empty eglSwapBuffers on a pbuffer reaches about 6,000 a second. */
#define FPS_PLAUSIBLE 100000

/* What all lanes of a page say together. */
struct fps_counters {
	uint64_t frames;
	uint64_t last_ns;
	uint64_t longest_gap_ns;
	uint64_t gpu_time_ns, gpu_frames;
	uint32_t frame_time[FPS_WIRE_BUCKETS]; /* modulo 2^32, as differences are */
};

/* Reads @page while its program goes on writing it. */
void fps_page_read(const struct fps_page *page, struct fps_counters *ret_counters);

/* Could an honest program get from @before to @after in @elapsed_ns? (The GPU's time is judged
 * apart: a wrong one costs nobody his frames.) */
bool fps_page_plausible(const struct fps_counters *before, const struct fps_counters *after,
			uint64_t elapsed_ns);

/* Adds what the GPU took for @gpu_frames frames, where that can be while @drawn were presented in
 * @elapsed_ns: no more than all the time there was for each lane. */
void fps_gpu_time_add(struct fps_totals *totals, uint64_t drawn, uint64_t gpu_frames,
		      uint64_t gpu_time_ns, uint64_t elapsed_ns);

/* Adds what came between two readings, taken at @from_ns and @now_ns. */
void fps_page_add(struct fps_totals *totals, const struct fps_counters *before,
		  const struct fps_counters *after, uint64_t from_ns, uint64_t now_ns);

#endif
