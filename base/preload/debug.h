/* SPDX-License-Identifier: MIT */
/*
 * Debug lines on stderr, for the libraries in customers' programs. They are printed only with
 * GOVER_FPS_DEBUG=1 or GOVER_CL_DEBUG=1.
 */
#ifndef BASE_PRELOAD_DEBUG_H
#define BASE_PRELOAD_DEBUG_H

/*
 * Call once, before the first line. @library: what each line begins with, a string constant. NULL:
 * nothing is printed.
 */
void debug_enable(const char *library);
/* Prints one line. Allocates nothing and preserves errno. */
void debug_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
