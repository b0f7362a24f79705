/* SPDX-License-Identifier: MIT */
/* Debug lines on stderr, printed only with GOVER_FPS_DEBUG=1. */
#ifndef FPS_PRELOAD_DEBUG_H
#define FPS_PRELOAD_DEBUG_H

#include <stdbool.h>

void debug_enable(bool on); /* called once, by the constructor */
void debug_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
