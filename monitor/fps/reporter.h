/* SPDX-License-Identifier: MIT */
/*
 * The programs of one virtual machine that report frames (reporters). A reporter is identified by
 * the random id in its messages, so that its counters continue after a reconnection. Parses and
 * checks the messages, and encodes the limit of the frame rate. Pure functions: time is a
 * parameter.
 */
#ifndef MONITOR_FPS_REPORTER_H
#define MONITOR_FPS_REPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fps-preload/message.h"
#include "monitor/fps/totals.h"

#define FPS_REPORTERS_MAX 32 /* maximum reporters per virtual machine */

struct fps_reporter;

/* The reporters of one virtual machine; zero-initialised. */
struct fps_reporters {
	struct fps_reporter *first; /* list of reporters, newest message first */
	int n;
	bool connectionless; /* virtio-serial port: a silent reporter has probably exited */
};

/*
 * Adds the new frames of a message received on connection @via to @totals. Returns false if the
 * message is ignored, because it is too frequent, out of sequence or implausible, or because too
 * many programs report. If a new reporter started before @tick_ns (the last tick), only its later
 * frames are counted.
 */
bool fps_reporters_count_message(struct fps_reporters *all, const void *via,
				 const struct fps_message *message, uint64_t tick_ns,
				 uint64_t now_ns, struct fps_totals *totals);

/* Call when the connection @via has ended, which means that its program has exited. */
void fps_reporters_disconnect(struct fps_reporters *all, const void *via);

/* Call once per tick: adds the current rates to @totals and frees reporters that have been silent
 * for long. Returns the number of active reporters. */
int fps_reporters_sum_rates(struct fps_reporters *all, uint64_t now_ns, struct fps_totals *totals);

void fps_reporters_free(struct fps_reporters *all);

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

/* Encodes a limit message with the minimum frame time @period_ns. */
void fps_limit_encode(uint64_t period_ns, uint8_t ret_bytes[FPS_LIMIT_BYTES]);

#endif
