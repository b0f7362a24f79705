/* SPDX-License-Identifier: MIT */
/* Times and spans as people type them. Strict; the present is handed in. */
#ifndef GOVER_CTL_VERB_WHEN_H
#define GOVER_CTL_VERB_WHEN_H

#include <stdint.h>

/*
 * "now", "-1h30m" (back from @now_ms), unix seconds "1763664596", or RFC 3339
 * "2026-11-20T18:49:56[.123]Z" with Z or an offset such as +01:00. 0, -EINVAL or -ERANGE.
 */
int when_parse(const char *text, int64_t now_ms, int64_t *ret_ms);

/* "90", "90s", "5m", "1h30m", "2d" in seconds, at least 1. 0, -EINVAL or -ERANGE. */
int when_parse_span(const char *text, int64_t *ret_s);

#endif
