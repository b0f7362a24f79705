/* SPDX-License-Identifier: MIT */
/* Counts and paces presented frames. */
#ifndef FPS_PRELOAD_FRAME_H
#define FPS_PRELOAD_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "fps-preload/setup.h"

/*
 * Called once, by the constructor. Earlier frames are neither counted nor paced. Returns false if
 * the library must do nothing in this program: it is off, or see sandbox.h.
 */
bool frame_setup(const struct setup *setup);

/*
 * Call frame_begin() before the real function that presents, and frame_end() after each return of
 * it. Between them, the page shows that the thread is inside a present call. @begin is the return
 * value of frame_begin(). @frames is the number of windows presented (0: the function failed).
 * frame_end() returns true if it counted the frame: of two nested hooks only the inner hook counts.
 * Both functions preserve errno.
 */
uint64_t frame_begin(void);
bool frame_end(uint64_t begin, unsigned int frames);

#endif
