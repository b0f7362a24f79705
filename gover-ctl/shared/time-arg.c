/* SPDX-License-Identifier: MIT */
/* Times and ranges in command line arguments. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/rfc3339.h"
#include "gover-ctl/shared/time-arg.h"

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

/* A space may separate date and time. */
static int parse_date(const char *text, int64_t *ret_ms)
{
	static const size_t date = 10; /* length of "2026-11-20" */
	char copy[64];

	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	strcpy(copy, text);
	if (strlen(copy) > date && copy[date] == ' ')
		copy[date] = 'T';
	return rfc3339_parse(copy, ret_ms);
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
			r = parse_date(text, &ms);
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
