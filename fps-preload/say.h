/* SPDX-License-Identifier: MIT */
/* A line on stderr for who debugs the preload; silence otherwise. */
#ifndef FPS_PRELOAD_SAY_H
#define FPS_PRELOAD_SAY_H

#include <stdbool.h>

void say_enable(bool on); /* by the constructor, once */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
