/* SPDX-License-Identifier: MIT */
/* When may the next frame end, so that a program makes N frames a second? Pure arithmetic. */
#ifndef FPS_PRELOAD_PACE_H
#define FPS_PRELOAD_PACE_H

#include <stdint.h>

#define PACE_MIN_FPS 1
#define PACE_MAX_FPS 1000

struct pace {
	uint64_t due_ns; /* when the last frame was to end; 0: none yet */
};

/* "60", "59.94": 1 to 1000, at most six decimals, as the length of a frame. -EINVAL, -ERANGE. */
int pace_parse(const char *text, uint64_t *ret_period_ns);

/*
 * A frame has been presented at @now_ns. Returns the instant to wait for, or 0 when it is late
 * already. The deadlines stand on a grid of @period_ns, so that no error adds up; a late frame may
 * be made up for by one shorter one, and what is lost beyond one period is forgotten.
 */
uint64_t pace_next(struct pace *pace, uint64_t period_ns, uint64_t now_ns);

#endif
