/* SPDX-License-Identifier: MIT */
/* What the daemon orders: no more than so many frames a second. Judged in one place, whichever way
 * it came. Never for a frame; by one thread at a time. */
#ifndef FPS_PRELOAD_LIMIT_H
#define FPS_PRELOAD_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "fps-preload/message.h"

/* What of an answer has come so far. All zero at first. */
struct limit_stream {
	uint8_t bytes[FPS_LIMIT_BYTES];
	size_t n;
};

/* A frame shall take at least @period_ns, 0: as long as it likes. Stores that in @limit_ns; a
 * period that would stop the program, or that no limit has, is no order. */
void limit_set(uint64_t period_ns, uint32_t *limit_ns);

/* Obeys each answer that is whole with these bytes, in turn; passes over all that is none. */
void limit_receive(struct limit_stream *stream, const void *bytes, size_t size, uint32_t *limit_ns);

#endif
