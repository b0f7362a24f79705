/* SPDX-License-Identifier: MIT */
/* Parses times in the form of RFC 3339. clock_format() writes them. */
#ifndef BASE_RFC3339_H
#define BASE_RFC3339_H

#include <stdint.h>

/*
 * Parses a time from 1970 to 9999 with any fraction and offset, such as "2026-11-20T18:49:56.123Z",
 * into milliseconds since 1970. -EINVAL: another form, an earlier time, or a day that does not
 * exist.
 */
int rfc3339_parse(const char *text, int64_t *ret_wall_ms);

#endif
