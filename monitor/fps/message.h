/* SPDX-License-Identifier: MIT */
/* Parses and checks the messages of programs in virtual machines, and encodes the limit message.
 * Pure functions. */
#ifndef MONITOR_FPS_MESSAGE_H
#define MONITOR_FPS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fps-preload/message.h"

/* The part of a message received so far; zero-initialised. */
struct fps_stream {
	uint8_t bytes[FPS_MESSAGE_BYTES];
	size_t n;
};

typedef void (*fps_message_fn)(void *userdata, const struct fps_message *message);

/*
 * Adds received bytes and calls @take for each complete message. Returns the number of bytes
 * skipped because they belong to no message, such as a partial message of a killed program.
 */
size_t fps_stream_feed(struct fps_stream *stream, const void *bytes, size_t size,
		       fps_message_fn take, void *userdata);

/* Returns true if the numbers of a program's first message are consistent. */
bool fps_message_possible(const struct fps_message *message);

/*
 * Returns true if a program that has sent @before can plausibly send @after @elapsed_ns later. The
 * caller checks the sequence number.
 */
bool fps_message_follows(const struct fps_message *before, const struct fps_message *after,
			 uint64_t elapsed_ns);

/* Encodes a limit message with the minimum frame time @period_ns. */
void fps_limit_encode(uint64_t period_ns, uint8_t ret_bytes[FPS_LIMIT_BYTES]);

#endif
