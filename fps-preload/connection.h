/* SPDX-License-Identifier: MIT */
/*
 * The connection to the daemon. The library sends the memfd of the shared page over this
 * connection. In a virtual machine, report.c sends messages instead. One thread at a time calls
 * these functions, about once a second and not per frame (see shared-page.c). They never block and
 * never raise SIGPIPE.
 */
#ifndef FPS_PRELOAD_CONNECTION_H
#define FPS_PRELOAD_CONNECTION_H

#include <stdint.h>

#include "base/preload/owned-fd.h"
#include "fps-preload/setup.h"
#include "fps-preload/wire.h"

/*
 * Called once, by the constructor. Later calls of connection_poll() store the frame rate limit of
 * the daemon in *limit_ns.
 */
void connection_setup(const struct setup *setup, uint32_t *limit_ns);

/*
 * Starts reporting @page. Takes ownership of @memfd, the memfd of @page. Stops reporting an earlier
 * page, for example a page that was inherited through fork().
 */
void connection_start(const struct fps_page *page, struct owned_fd *memfd);

/*
 * Closes the memfd and the connection, for example in a forked child, where both belong to the
 * parent. Async-signal-safe.
 */
void connection_reset(void);

/*
 * Connects to the daemon or, if connected, checks the connection and receives the limit. Returns
 * the number of nanoseconds until the next call. Returns 0 if the host program has closed the
 * memfd, so that a new page is needed.
 */
uint64_t connection_poll(void);

/* Called when the program exits, after all other functions. */
void connection_finish(void);

#endif
