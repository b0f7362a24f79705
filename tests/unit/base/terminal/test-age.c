/* SPDX-License-Identifier: MIT */
/* Times relative to now. */
#include "base/cleanup.h"
#include "base/terminal/age.h"
#include "tests/unit/unit.h"

#define NOW_MS INT64_C(1795200608123) /* 2026-11-20T18:50:08.123Z */
#define DAY_MS INT64_C(86400000)

TEST(an_age_has_at_most_two_units)
{
	static const struct {
		int64_t ms;
		const char *age, *when;
	} rows[] = {
		{0, "0s", "0s ago"},
		{999, "0s", "0s ago"},
		{59999, "59s", "59s ago"},
		{60000, "1m", "1m ago"},
		{3599999, "59m", "59m ago"},
		{7980000, "2h13m", "2h13m ago"},
		{DAY_MS - 1, "23h59m", "23h59m ago"},
		{3 * DAY_MS + 4 * 3600000, "3d4h", "3d4h ago"},
		{10 * DAY_MS - 1, "9d23h", "9d23h ago"},
		{412 * DAY_MS + 4 * 3600000, "412d", "412d ago"},
		{-500, "0s", "0s ago"},
		{-12000, "0s", "in 12s"},
		{-89 * DAY_MS, "0s", "in 89d"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[AGE_MAX];

		age_format(rows[i].ms, text);
		assert_string_equal(text, rows[i].age);
		age_format_when(rows[i].ms, text);
		assert_string_equal(text, rows[i].when);
	}
}

TEST(an_age_in_a_sentence_has_spaces)
{
	static const struct {
		const char *time, *text;
	} rows[] = {
		{"2026-11-20T18:49:56.123Z", "12 s ago"},
		{"2026-11-20T16:37:08.123Z", "2 h 13 min ago"},
		{"2026-11-17T14:50:08.123Z", "3 d 4 h ago"},
		{"2026-11-20T18:50:20.123Z", "in 12 s"},
		{"2026-11-20T18:50:08.623Z", "0 s ago"},
		{"yesterday", "at an unknown time"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[AGE_MAX];

		age_tell(rows[i].time, NOW_MS, text);
		assert_string_equal(text, rows[i].text);
	}
}
