/* SPDX-License-Identifier: MIT */
/* Times, spans and ranges in command line arguments. */
#ifndef GOVER_CTL_SHARED_TIME_ARG_H
#define GOVER_CTL_SHARED_TIME_ARG_H

#include <stdint.h>

#include "base/clock.h"
#include "gover-ctl/shared/ctl.h"

/*
 * Parses a time: "now", "-1h30m" (relative to @now_ms), unix seconds "1763664596", or RFC 3339
 * "2026-11-20T18:49:56[.123]Z" with Z or an offset such as +01:00. Returns 0, -EINVAL or -ERANGE.
 */
int time_arg_parse(const char *text, int64_t now_ms, int64_t *ret_ms);

/*
 * Parses a span: "90", "90s", "5m", "1h30m" or "2d". *ret_s is in seconds, at least 1. Returns 0,
 * -EINVAL or -ERANGE.
 */
int time_arg_parse_span(const char *text, int64_t *ret_s);

/* Both times in the form of RFC 3339. */
struct time_range {
	char from[CLOCK_TEXT_MAX], to[CLOCK_TEXT_MAX];
};

/*
 * Returns the range of --from and --to. By default the range ends now and begins @span_s before its
 * end. If a time is invalid, prints an error and returns CTL_USAGE.
 */
enum ctl_exit time_arg_get_range(const struct args *args, const char *verb, int64_t span_s,
				 struct time_range *ret_range);

#endif
