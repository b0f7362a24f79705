/* SPDX-License-Identifier: MIT */
/* Times and ranges in command line arguments. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/parse.h"
#include "gover-ctl/verb/time-arg.h"

#define YEAR_9999_S INT64_C(253402300799)
#define SPAN_MAX_S  INT64_C(3153600000) /* maximum span: a hundred years */

static int64_t unit_seconds(char unit)
{
	switch (unit) {
	case 's':
		return 1;
	case 'm':
		return 60;
	case 'h':
		return 3600;
	case 'd':
		return 86400;
	default:
		return 0;
	}
}

/* Parses a number and its unit and advances @text. A number without a unit is in seconds. */
static int take_part(const char **text, int64_t *ret_s)
{
	char digits[16];
	size_t n = strspn(*text, "0123456789");
	char unit = (*text)[n];
	int64_t value;
	int r;

	if (n == 0)
		return -EINVAL;
	if (n >= sizeof(digits))
		return -ERANGE;
	snprintf(digits, sizeof(digits), "%.*s", (int)n, *text);
	r = parse_int(digits, 0, SPAN_MAX_S, &value);
	if (r < 0)
		return r;
	if (unit != '\0' && unit_seconds(unit) == 0)
		return -EINVAL;
	*ret_s = value * (unit ? unit_seconds(unit) : 1);
	*text += n + (unit != '\0');
	return 0;
}

int time_arg_parse_span(const char *text, int64_t *ret_s)
{
	int64_t sum = 0, part;

	if (text[0] == '\0')
		return -EINVAL;
	while (*text) {
		int r = take_part(&text, &part);

		if (r < 0)
			return r;
		sum += part;
		if (sum > SPAN_MAX_S)
			return -ERANGE;
	}
	if (sum < 1)
		return -ERANGE;
	*ret_s = sum;
	return 0;
}

/* Returns the value of @count digits at @text, or -1 if these are not all digits. */
static int digits_at(const char *text, int count)
{
	int value = 0;

	for (int i = 0; i < count; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = value * 10 + (text[i] - '0');
	}
	return value;
}

/* Converts "Z", "+01:00" or "-05:30" to seconds east of UTC. */
static int parse_offset(const char *text, int64_t *ret_s)
{
	int hours, minutes;

	if (strcmp(text, "Z") == 0 || strcmp(text, "z") == 0) {
		*ret_s = 0;
		return 0;
	}
	if ((text[0] != '+' && text[0] != '-') || strlen(text) != 6 || text[3] != ':')
		return -EINVAL;
	hours = digits_at(text + 1, 2);
	minutes = digits_at(text + 4, 2);
	if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
		return -EINVAL;
	*ret_s = (text[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
	return 0;
}

/* Converts "2026-11-20T18:49:56" as UTC. Returns -EINVAL also for a date that does not exist. */
static int parse_date(const char *text, int64_t *ret_s)
{
	static const char shape[] = "0000-00-00T00:00:00";
	struct tm tm = {0}, back;
	time_t s;

	for (size_t i = 0; shape[i]; i++) {
		bool fits = shape[i] == '0'   ? text[i] >= '0' && text[i] <= '9'
			    : shape[i] == 'T' ? text[i] && strchr("Tt ", text[i])
					      : text[i] == shape[i];

		if (!fits)
			return -EINVAL;
	}
	tm.tm_year = digits_at(text, 4) - 1900;
	tm.tm_mon = digits_at(text + 5, 2) - 1;
	tm.tm_mday = digits_at(text + 8, 2);
	tm.tm_hour = digits_at(text + 11, 2);
	tm.tm_min = digits_at(text + 14, 2);
	tm.tm_sec = digits_at(text + 17, 2);
	back = tm;
	s = timegm(&back);
	if (back.tm_mon != tm.tm_mon || back.tm_mday != tm.tm_mday || back.tm_hour != tm.tm_hour ||
	    back.tm_min != tm.tm_min || back.tm_sec != tm.tm_sec)
		return -EINVAL;
	*ret_s = s;
	return 0;
}

static int parse_rfc3339(const char *text, int64_t *ret_ms)
{
	int64_t s, offset, ms = 0;
	int r = parse_date(text, &s);

	if (r < 0)
		return r;
	text += strlen("2026-11-20T18:49:56");
	if (*text == '.') {
		size_t n = strspn(text + 1, "0123456789");
		char fraction[4] = "000";

		if (n == 0)
			return -EINVAL;
		memcpy(fraction, text + 1, n < 3 ? n : 3);
		ms = digits_at(fraction, 3);
		text += n + 1;
	}
	r = parse_offset(text, &offset);
	if (r < 0)
		return r;
	*ret_ms = (s - offset) * 1000 + ms;
	return 0;
}

int time_arg_parse(const char *text, int64_t now_ms, int64_t *ret_ms)
{
	int64_t s, ms = now_ms;
	int r = 0;

	if (text[0] == '-') {
		r = time_arg_parse_span(text + 1, &s);
		if (r == 0)
			ms = now_ms - s * 1000;
	} else if (strcmp(text, "now") != 0) {
		r = parse_int(text, 0, YEAR_9999_S, &s);
		if (r == 0)
			ms = s * 1000;
		else if (r == -EINVAL)
			r = parse_rfc3339(text, &ms);
	}
	if (r == 0 && ms < 0)
		r = -ERANGE;
	if (r == 0)
		*ret_ms = ms;
	return r;
}

static enum ctl_exit take_time(const struct args *args, enum option_id id, int64_t now_ms,
			       int64_t *ret_ms)
{
	if (!args_has(args, id) || time_arg_parse(args->values[id], now_ms, ret_ms) == 0)
		return CTL_DONE;
	return ctl_fail(CTL_USAGE,
			"--%s '%s': not allowed (allowed: RFC 3339 such as 2026-11-20T18:49:56Z, "
			"unix seconds, relative to now such as -1h, -90m, -2d)",
			args_get_option(id)->name, args->values[id]);
}

enum ctl_exit time_arg_get_range(const struct args *args, const char *verb, int64_t span_s,
				 struct time_range *ret_range)
{
	int64_t now_ms = clock_now().wall_ms, to_ms = now_ms, from_ms;
	enum ctl_exit r = take_time(args, OPTION_TO, now_ms, &to_ms);

	from_ms = to_ms > span_s * 1000 ? to_ms - span_s * 1000 : 0;
	if (r == CTL_DONE)
		r = take_time(args, OPTION_FROM, now_ms, &from_ms);
	if (r != CTL_DONE)
		return r;
	if (from_ms >= to_ms)
		return ctl_fail(CTL_USAGE, "%s: --from must be before --to", verb);
	clock_format(from_ms, ret_range->from);
	clock_format(to_ms, ret_range->to);
	return CTL_DONE;
}
