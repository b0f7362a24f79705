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
/*
 * Prints one line, unless system calls are not allowed (sandbox.h). Allocates nothing and preserves
 * errno.
 */
void debug_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For sandbox_start(): prints the last line. Makes no other system call than write(). */
void debug_log_end(const char *why, const char *detail);

#endif
