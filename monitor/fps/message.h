/* SPDX-License-Identifier: MIT */
/* The messages of programs in virtual machines: cut out of a stream of bytes, and judged; and what
 * is answered. Pure. */
#ifndef MONITOR_FPS_MESSAGE_H
#define MONITOR_FPS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fps-preload/message.h"

/* What of a message has come so far. All zero at first. */
struct fps_stream {
	uint8_t bytes[FPS_MESSAGE_BYTES];
	size_t n;
};

typedef void (*fps_message_fn)(void *userdata, const struct fps_message *message);

/*
 * Calls @take for each message that is whole with these bytes. Returns how many bytes were passed
 * over as they belong to none: half a message of a killed program, or anything a stranger writes.
 */
size_t fps_stream_feed(struct fps_stream *stream, const void *bytes, size_t size,
		       fps_message_fn take, void *userdata);

/* As a program's first one: are its numbers possible together? */
bool fps_message_possible(const struct fps_message *message);

/* Could an honest program get from @before to @after, @elapsed_ns of ours later? Its sequence is
 * the caller's to look at. */
bool fps_message_follows(const struct fps_message *before, const struct fps_message *after,
			 uint64_t elapsed_ns);

/* The answer as it travels: a frame shall take @period_ns at least. */
void fps_limit_encode(uint64_t period_ns, uint8_t ret_bytes[FPS_LIMIT_BYTES]);

#endif
