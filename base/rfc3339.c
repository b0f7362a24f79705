/* SPDX-License-Identifier: MIT */
/* Strict parsing of times. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/rfc3339.h"

/*
 * Parses exactly @n digits at *@at and moves *@at past these digits. Returns false if there are
 * fewer digits or the value is not in @min..@max.
 */
static bool take_digits(const char **at, int n, int min, int max, int *ret_value)
{
	int value = 0;

	for (int i = 0; i < n; i++, (*at)++) {
		if (**at < '0' || **at > '9')
			return false;
		value = 10 * value + (**at - '0');
	}
	*ret_value = value;
	return value >= min && value <= max;
}

static bool take(const char **at, const char *any_of)
{
	if (**at == '\0' || !strchr(any_of, **at))
		return false;
	(*at)++;
	return true;
}

static bool take_date_time(const char **at, struct tm *tm)
{
	return take_digits(at, 4, 1970, 9999, &tm->tm_year) && take(at, "-") &&
	       take_digits(at, 2, 1, 12, &tm->tm_mon) && take(at, "-") &&
	       take_digits(at, 2, 1, 31, &tm->tm_mday) && take(at, "Tt") &&
	       take_digits(at, 2, 0, 23, &tm->tm_hour) && take(at, ":") &&
	       take_digits(at, 2, 0, 59, &tm->tm_min) && take(at, ":") &&
	       take_digits(at, 2, 0, 60, &tm->tm_sec);
}

/* Parses an optional fraction of a second with any number of digits into milliseconds. */
static bool take_fraction(const char **at, int *ms)
{
	int weight = 100;

	if (!take(at, "."))
		return true;
	if (**at < '0' || **at > '9')
		return false;
	for (; **at >= '0' && **at <= '9'; (*at)++, weight /= 10)
		*ms += weight * (**at - '0');
	return true;
}

static bool take_offset(const char **at, int *offset_s)
{
	bool west = **at == '-';
	int hours, minutes;

	if (take(at, "Zz"))
		return true;
	/* An unescaped '+' in a URL arrives as a space. */
	if (!take(at, "+- ") || !take_digits(at, 2, 0, 23, &hours) || !take(at, ":") ||
	    !take_digits(at, 2, 0, 59, &minutes))
		return false;
	*offset_s = (west ? -60 : 60) * (60 * hours + minutes);
	return true;
}

int rfc3339_parse(const char *text, int64_t *ret_wall_ms)
{
	const char *at = text;
	struct tm tm = {.tm_isdst = 0};
	int ms = 0, offset_s = 0, mday;
	int64_t wall_ms;

	if (!take_date_time(&at, &tm) || !take_fraction(&at, &ms) || !take_offset(&at, &offset_s) ||
	    *at != '\0')
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	mday = tm.tm_mday;
	if (tm.tm_sec == 60) /* leap second: unix time repeats the previous second */
		tm.tm_sec = 59;
	wall_ms = (int64_t)timegm(&tm) * 1000 + ms - (int64_t)offset_s * 1000;
	if (tm.tm_mday != mday || wall_ms < 0)
		return -EINVAL;
	*ret_wall_ms = wall_ms;
	return 0;
}
