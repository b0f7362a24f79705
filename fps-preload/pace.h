/* SPDX-License-Identifier: MIT */
/*
 * Computes how long a program must wait after a frame, so that it does not exceed a given frame
 * rate. Pure functions.
 */
#ifndef FPS_PRELOAD_PACE_H
#define FPS_PRELOAD_PACE_H

#include <stdint.h>

#define PACE_MIN_FPS 1
#define PACE_MAX_FPS 1000

struct pace {
	uint64_t due_ns; /* scheduled end of the last frame; 0: no frame yet */
};

/* Parses a frame rate, 1 to 1000 with at most six decimals ("60", "59.94"), into a frame time.
 * Returns 0, -EINVAL or -ERANGE. */
int pace_parse(const char *text, uint64_t *ret_period_ns);

/*
 * Called after a frame was presented at @now_ns. Returns the time at which the frame may end, or 0
 * if the frame is late and must not wait. Each frame is scheduled to end one @period_ns after the
 * scheduled end of the last frame, so that the errors of single waits do not add up. After a long
 * delay, the next frames make up at most one period.
 */
uint64_t pace_next(struct pace *pace, uint64_t period_ns, uint64_t now_ns);

#endif
