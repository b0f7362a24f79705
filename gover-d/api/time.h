/* SPDX-License-Identifier: MIT */
/* Parses times in query strings. */
#ifndef GOVER_D_API_TIME_H
#define GOVER_D_API_TIME_H

#include <stdint.h>

/*
 * Parses a time up to the year 9999: RFC 3339 with any offset, or decimal seconds since 1970.
 * -EINVAL: another form or a later time.
 */
int api_time_parse(const char *text, int64_t *ret_wall_ms);

#endif
