/* SPDX-License-Identifier: MIT */
/*
 * The two clocks. Only the edges of a program call clock_now(); everything inside gets the instant
 * as a parameter, so that every decision can be replayed.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_S  1000000000ULL
#define NS_PER_MS 1000000ULL

struct instant {
	uint64_t mono_ns; /* CLOCK_MONOTONIC: for differences */
	int64_t wall_ms;  /* CLOCK_REALTIME: for people and the history; may step */
};

/* Reads both clocks. */
struct instant clock_now(void);

#define CLOCK_TEXT_MAX 25 /* "2026-11-20T18:49:56.123Z" and its NUL */

/* Writes @wall_ms, from 1970 on, as RFC 3339 in UTC with milliseconds. */
void clock_format(int64_t wall_ms, char text[CLOCK_TEXT_MAX]);

#endif
