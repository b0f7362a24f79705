/* SPDX-License-Identifier: MIT */
/*
 * The connection to the daemon, which passes it the memfd of the shared page. In a virtual machine,
 * report.c sends messages instead. One thread at a time calls these functions, about once a second
 * and not per frame (see shared-page.c). They never block and never raise SIGPIPE.
 */
#ifndef FPS_PRELOAD_CONNECTION_H
#define FPS_PRELOAD_CONNECTION_H

#include <stdint.h>

#include "fps-preload/owned-fd.h"
#include "fps-preload/setup.h"
#include "fps-preload/wire.h"

/* Called once, by the constructor. The daemon's limit on the frame rate goes to *limit_ns. */
void connection_setup(const struct setup *setup, uint32_t *limit_ns);

/* Reports @page, whose memfd is @memfd (consumed), from now on. Drops an earlier page, such as one
 * inherited by fork(). */
void connection_start(const struct fps_page *page, struct owned_fd *memfd);

/* Closes memfd and connection, which in a forked child belong to the parent. Async-signal-safe. */
void connection_reset(void);

/*
 * Connects, checks an existing connection and receives the limit. Returns after how many
 * nanoseconds to call again; 0 if the host program has closed the memfd, so that a new page is
 * needed.
 */
uint64_t connection_poll(void);

/* Called when the program exits, after all other functions. */
void connection_finish(void);

#endif
