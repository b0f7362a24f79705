/* SPDX-License-Identifier: MIT */
/* A line on stderr for who debugs the preload; silence otherwise. */
#ifndef FPS_PRELOAD_DEBUG_H
#define FPS_PRELOAD_DEBUG_H

#include <stdbool.h>

void debug_enable(bool on); /* by the constructor, once */
void debug_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
