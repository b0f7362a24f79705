/* SPDX-License-Identifier: MIT */
/*
 * Frame rate limits: limit_ functions receive the limit that the daemon sets, and pace_ functions
 * compute how long a program must wait after a frame. limit_ functions are called by one thread at
 * a time, not per frame.
 */
#ifndef FPS_PRELOAD_LIMIT_H
#define FPS_PRELOAD_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "fps-preload/message.h"

/* The part of a limit message received so far. Must be zero-initialised. */
struct limit_stream {
	uint8_t bytes[FPS_LIMIT_BYTES];
	size_t n;
};

/*
 * Stores @period_ns, the minimum time of a frame, in *limit_ns. Allowed are 0 (no limit) and 1 ms
 * to 1 s; any other value is ignored.
 */
void limit_set(uint64_t period_ns, uint32_t *limit_ns);

/*
 * Adds received bytes and applies each complete message in order. Skips bytes that belong to no
 * message.
 */
void limit_receive(struct limit_stream *stream, const void *bytes, size_t size, uint32_t *limit_ns);

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
