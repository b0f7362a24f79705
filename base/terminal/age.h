/* SPDX-License-Identifier: MIT */
/* Times relative to now: "3d4h" in a table, "12 s ago" in a sentence. */
#ifndef BASE_TERMINAL_AGE_H
#define BASE_TERMINAL_AGE_H

#include <stdint.h>

#define AGE_MAX 64

/* Formats an age: "12s", "5m", "2h13m", "3d4h", "12d"; "0s" if it is negative. */
void age_format(int64_t ms, char text[AGE_MAX]);

/* Formats an age as "3d4h ago", and a negative age as "in 12s". */
void age_format_when(int64_t ms, char text[AGE_MAX]);

/*
 * Formats the age of @time at @now_ms: "12 s ago", "2 h 13 min ago", "in 12 s". A time of another
 * form is "at an unknown time".
 */
void age_tell(const char *time, int64_t now_ms, char text[AGE_MAX]);

#endif
