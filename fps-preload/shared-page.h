/* SPDX-License-Identifier: MIT */
/* Adds presented frames to the page of counters that this process shares with the daemon. */
#ifndef FPS_PRELOAD_SHARED_PAGE_H
#define FPS_PRELOAD_SHARED_PAGE_H

#include <stdint.h>

/*
 * Call before and after the real function that presents. The page then shows that the thread is
 * inside a present call, unless no frame of the process was counted yet. Of two nested calls, the
 * end of the inner call ends both: a thread that left a call with longjmp() is shown correctly
 * after its next present. A call that its thread left by exiting ends with the thread.
 */
void shared_page_begin_present(void);
void shared_page_end_present(void);

/*
 * Counts @frames frames, one per window, that the calling thread presented at @now_ns. Costs a few
 * plain stores. Locks, allocations and system calls occur only in the first frame of a process or
 * thread and once a second, when the connection is polled. Keeps errno.
 */
void shared_page_count_frames(uint64_t now_ns, unsigned int frames);

/* Adds the GPU time of one frame that the calling thread presented. */
void shared_page_count_gpu_time(uint64_t gpu_ns);

#endif
