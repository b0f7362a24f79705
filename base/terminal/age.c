/* SPDX-License-Identifier: MIT */
/* Formats ages, and times relative to now. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/rfc3339.h"
#include "base/terminal/age.h"

#define MINUTE_S 60
#define HOUR_S	 3600
#define DAY_S	 86400
#define AHEAD_MS 1000 /* a time up to this far in the future counts as now */

/*
 * Formats whole seconds with at most two units, and from ten days on with one. @gap is between a
 * number and its unit.
 */
static void format_units(int64_t s, const char *gap, const char *minute, char text[AGE_MAX])
{
	const struct {
		int64_t below, unit, second_unit;
		const char *name, *second_name;
	} scales[] = {
		{MINUTE_S, 1, 0, "s", NULL},
		{HOUR_S, MINUTE_S, 0, minute, NULL},
		{DAY_S, HOUR_S, MINUTE_S, "h", minute},
		{10 * DAY_S, DAY_S, HOUR_S, "d", "h"},
		{INT64_MAX, DAY_S, 0, "d", NULL},
	};
	size_t i = 0;

	while (s >= scales[i].below && i + 1 < ARRAY_SIZE(scales))
		i++;
	if (scales[i].second_name)
		snprintf(text, AGE_MAX, "%lld%s%s%s%lld%s%s", (long long)(s / scales[i].unit), gap,
			 scales[i].name, gap,
			 (long long)(s % scales[i].unit / scales[i].second_unit), gap,
			 scales[i].second_name);
	else
		snprintf(text, AGE_MAX, "%lld%s%s", (long long)(s / scales[i].unit), gap,
			 scales[i].name);
}

void age_format(int64_t ms, char text[AGE_MAX])
{
	format_units(ms < 0 ? 0 : ms / 1000, "", "m", text);
}

/* Formats a time relative to now. @gap and @minute as in format_units(). */
static void format_when(int64_t ms, const char *gap, const char *minute, char text[AGE_MAX])
{
	char units[AGE_MAX];

	if (ms < 0 && ms >= -AHEAD_MS)
		ms = 0;
	format_units((ms < 0 ? -ms : ms) / 1000, gap, minute, units);
	snprintf(text, AGE_MAX, ms < 0 ? "in %.27s" : "%.27s ago", units);
}

void age_format_when(int64_t ms, char text[AGE_MAX])
{
	format_when(ms, "", "m", text);
}

void age_tell(const char *time, int64_t now_ms, char text[AGE_MAX])
{
	int64_t then_ms;

	if (rfc3339_parse(time, &then_ms) == 0)
		format_when(now_ms - then_ms, " ", "min", text);
	else
		snprintf(text, AGE_MAX, "at an unknown time");
}
