/* SPDX-License-Identifier: MIT */
/*
 * The messages that take the page's counts out of a virtual machine, and the limit that comes back
 * where the way is vsock. Called now and then by one thread at a time (page.c sees to that), never
 * for a frame. Never blocks, never raises SIGPIPE.
 */
#ifndef FPS_PRELOAD_REPORT_H
#define FPS_PRELOAD_REPORT_H

#include <stdint.h>

#include "fps-preload/setup.h"
#include "fps-preload/wire.h"

/* Where to, SETUP_VSOCK or SETUP_PORT, and where to put the limit that the daemon orders; once, by
 * the constructor. */
void report_setup(const struct setup *setup, uint32_t *limit_ns);

/* Reports @page, which is never unmapped, from now on, as a new program. */
void report_start(const struct fps_page *page);

/* Drops the connection and all that was to be sent: in a forked child they are its parent's.
 * Async-signal-safe. */
void report_reset(void);

/* Does what can be done at once: connects, hears the daemon, sends the rest of a message, or the
 * next one. Returns in how many nanoseconds to call again. */
uint64_t report_poll(void);

/* The program ends: tries once to send the last counts. */
void report_finish(void);

#endif
