/* SPDX-License-Identifier: MIT */
/* The times in requests. */
#include <errno.h>

#include "base/cleanup.h"
#include "gover-d/api/handler.h"
#include "tests/unit/unit.h"

#define BEGIN_MS INT64_C(1700000000000) /* 2023-11-14T22:13:20Z */

TEST(a_time_is_parsed_strictly)
{
	static const struct {
		const char *text;
		int64_t wall_ms; /* expected time; -1: the text is rejected */
	} cases[] = {
		{"0", 0},
		{"1700000000", BEGIN_MS},
		{"1700000000.25", BEGIN_MS + 250},
		{"2023-11-14T22:13:20Z", BEGIN_MS},
		{"2023-11-14t22:13:20.5z", BEGIN_MS + 500},
		{"2023-11-14T22:13:20.123456Z", BEGIN_MS + 123},
		{"2023-11-14T23:13:20+01:00", BEGIN_MS},
		{"2023-11-14T23:13:20 01:00", BEGIN_MS}, /* '+' in a URL is a space */
		{"2023-11-14T17:43:20-04:30", BEGIN_MS},
		{"2024-02-29T00:00:00Z", INT64_C(1709164800000)},
		{"2016-12-31T23:59:60Z", INT64_C(1483228799000)},
		{"", -1},
		{"now", -1},
		{"-1", -1},
		{"1e300", -1},
		{"nan", -1},
		{"2023-11-14", -1},
		{"2023-11-14T22:13:20", -1},
		{"2023-11-14 22:13:20Z", -1},
		{"2023-11-14T22:13Z", -1},
		{"2023-11-14T22:13:20.Z", -1},
		{"2023-11-14T22:13:20Zx", -1},
		{"2023-02-29T00:00:00Z", -1},
		{"2023-13-01T00:00:00Z", -1},
		{"2023-00-01T00:00:00Z", -1},
		{"2023-01-01T24:00:00Z", -1},
		{"2023-1-1T00:00:00Z", -1},
		{"1969-12-31T23:59:59Z", -1},
		{"1970-01-01T00:00:00+00:01", -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t wall_ms = -1;
		int r = api_time_parse(cases[i].text, &wall_ms);

		if (wall_ms != cases[i].wall_ms)
			print_error("\"%s\"\n", cases[i].text);
		assert_int_equal(r, cases[i].wall_ms < 0 ? -EINVAL : 0);
		assert_int_equal(wall_ms, cases[i].wall_ms);
	}
}
