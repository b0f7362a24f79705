/* SPDX-License-Identifier: MIT */
/*
 * The connection to the daemon and the page's memfd that is handed over on it; or, in a virtual
 * machine, the messages of guest.c in their stead. Called now and then by one thread at a time
 * (page.c sees to that), never for a frame. Never blocks, never raises SIGPIPE.
 */
#ifndef FPS_PRELOAD_CONNECTION_H
#define FPS_PRELOAD_CONNECTION_H

#include <stdint.h>

#include "fps-preload/owned-fd.h"
#include "fps-preload/setup.h"
#include "fps-preload/wire.h"

/* Where the daemon listens, and where to put the limit it orders; once, by the constructor. */
void connection_setup(const struct setup *setup, uint32_t *limit_ns);

/* Reports @page, which is that of @memfd (taken over), from now on. What was kept before, be it a
 * parent's, is dropped. */
void connection_start(const struct fps_page *page, struct owned_fd *memfd);

/* Drops memfd and connection: in a forked child both are its parent's. Async-signal-safe. */
void connection_reset(void);

/*
 * Sees whether the daemon is there and connects where it is not. Returns in how many nanoseconds to
 * look again; 0: the program has closed the memfd, a new page is needed.
 */
uint64_t connection_poll(void);

/* The program ends. Nothing of this is called again. */
void connection_finish(void);

#endif
