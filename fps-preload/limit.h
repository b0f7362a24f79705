/* SPDX-License-Identifier: MIT */
/* Receives the frame rate limit that the daemon sets. Called by one thread at a time, not per
 * frame. */
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

#endif
