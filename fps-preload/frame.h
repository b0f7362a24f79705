/* SPDX-License-Identifier: MIT */
/* What is done for a presented frame: it is counted once, and paced. */
#ifndef FPS_PRELOAD_FRAME_H
#define FPS_PRELOAD_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "fps-preload/setup.h"

/* By the constructor, once; frames before it are passed on and not counted. */
void frame_setup(const struct setup *setup);

/* Around the real function, which presents @frames windows (0: it failed): frame_end() gets what
 * frame_begin() returned, so that a frame which was presented through two hooks, one inside the
 * other, counts once: then it returns whether it did. Keeps errno. */
uint64_t frame_begin(void);
bool frame_end(uint64_t begin, unsigned int frames);

#endif
