/* SPDX-License-Identifier: MIT */
/*
 * The monotonic clocks and the wall clock. Only main loops and I/O code call clock_now(); all other
 * code gets the instant as a parameter, so that every decision can be replayed.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_S  1000000000ULL
#define NS_PER_MS 1000000ULL

struct instant {
	uint64_t mono_ns; /* time of CLOCK_MONOTONIC, for differences between instants */
	uint64_t boot_ns; /* time of CLOCK_BOOTTIME: never jumps and includes suspends */
	/*
	 * time since 1970 (CLOCK_REALTIME), for output and the history; can jump. At least 1: 0
	 * means that there is no time, and files contain no time before 1970.
	 */
	int64_t wall_ms;
};

struct instant clock_now(void);

#define CLOCK_TEXT_MAX 25 /* size of the text "2026-11-20T18:49:56.123Z" with its NUL */

/* Writes @wall_ms (>= 0) in RFC 3339 format: UTC with milliseconds. */
void clock_format(int64_t wall_ms, char text[CLOCK_TEXT_MAX]);

#endif
