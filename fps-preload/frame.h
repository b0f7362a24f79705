/* SPDX-License-Identifier: MIT */
/* Counts and paces a presented frame. */
#ifndef FPS_PRELOAD_FRAME_H
#define FPS_PRELOAD_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "fps-preload/setup.h"

/* Called once, by the constructor. Earlier frames are neither counted nor paced. */
void frame_setup(const struct setup *setup);

/*
 * Called before and after the real function. frame_end() takes the return value of frame_begin()
 * and the number of windows presented (0: the function failed). A frame that passes through two
 * nested hooks is counted once: frame_end() returns true in the hook that counted it. Both
 * functions keep errno.
 */
uint64_t frame_begin(void);
bool frame_end(uint64_t begin, unsigned int frames);

#endif
