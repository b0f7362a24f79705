/* SPDX-License-Identifier: MIT */
/* The page of counters, and the frame that is counted in it. */
#ifndef FPS_PRELOAD_SHARED_PAGE_H
#define FPS_PRELOAD_SHARED_PAGE_H

#include <stdint.h>

/*
 * The calling thread has presented @frames frames, each of another window, at @now_ns. A few plain
 * stores; no lock, allocation or system call, but for a process's and a thread's first frame and a
 * look at the link once a second. Keeps errno.
 */
void shared_page_count_frames(uint64_t now_ns, unsigned int frames);

/* The GPU took so long for one of the frames that the calling thread has presented. */
void shared_page_count_gpu_time(uint64_t gpu_ns);

#endif
