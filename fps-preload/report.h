/* SPDX-License-Identifier: MIT */
/*
 * Sends the counters of the shared page from a virtual machine to the daemon, as messages. Over
 * vsock it also receives the frame rate limit. One thread at a time calls these functions, about
 * once a second and not per frame (see shared-page.c). They never raise SIGPIPE, and only
 * report_finish() may wait.
 */
#ifndef FPS_PRELOAD_REPORT_H
#define FPS_PRELOAD_REPORT_H

#include <stdint.h>

#include "fps-preload/setup.h"
#include "fps-preload/wire.h"

/*
 * Called once, by the constructor, with transport SETUP_VSOCK or SETUP_PORT. Later calls of
 * report_poll() store the frame rate limit of the daemon in *limit_ns.
 */
void report_setup(const struct setup *setup, uint32_t *limit_ns);

/* Starts reporting @page under a new program id. @page must stay mapped. */
void report_start(const struct fps_page *page);

/*
 * Closes the channel and discards unsent data, for example in a forked child, where the channel
 * belongs to the parent. Async-signal-safe.
 */
void report_reset(void);

/*
 * Connects if necessary. If connected, receives the limit, and sends the rest of the current
 * message or a new message. Returns the number of nanoseconds until the next call.
 */
uint64_t report_poll(void);

/*
 * Called when the program exits: tries once to send the last counters. If another program has the
 * port open, tries to open it up to ten times, 1 ms apart.
 */
void report_finish(void);

#endif
