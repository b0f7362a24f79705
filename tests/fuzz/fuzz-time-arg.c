/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes time arguments of gover-ctl. An accepted time must be in range, and the daemon must read
 * the same time.
 */
#include "gover-ctl/shared/time-arg.h"
#include "gover-d/api/handler.h"
#include "tests/fuzz/fuzz.h"

#define NOW_MS	      INT64_C(1763664596123)
#define CENTURY_S     INT64_C(3153600000)
#define YEAR_10000_MS INT64_C(253402300800000)
#define DAY_MS	      INT64_C(86400000)

static void check_span(const char *text)
{
	int64_t s = -1, ago_ms = -1;
	CLEANUP_FREE char *back = NULL;

	if (time_arg_parse_span(text, &s) < 0) {
		FUZZ_CHECK(s == -1);
		return;
	}
	FUZZ_CHECK(s >= 1 && s <= CENTURY_S);
	FUZZ_CHECK(asprintf(&back, "-%s", text) > 0);
	if (time_arg_parse(back, NOW_MS, &ago_ms) == 0)
		FUZZ_CHECK(ago_ms == NOW_MS - s * 1000);
	else
		FUZZ_CHECK(NOW_MS < s * 1000);
}

FUZZ(time_arg)
{
	CLEANUP_FREE char *text = fuzz_text(data, size);
	int64_t ms = -1, daemon_ms = -1;

	check_span(text);
	if (time_arg_parse(text, NOW_MS, &ms) < 0) {
		FUZZ_CHECK(ms == -1);
		return 0;
	}
	FUZZ_CHECK(ms >= 0 && ms < YEAR_10000_MS + DAY_MS);
	if (api_time_parse(text, &daemon_ms) == 0)
		FUZZ_CHECK(daemon_ms == ms);
	return 0;
}
