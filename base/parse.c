/* SPDX-License-Identifier: MIT */
/* Strict parsers of numbers and booleans. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

int parse_int(const char *text, int64_t min, int64_t max, int64_t *ret_value)
{
	const char *digits = text[0] == '-' ? text + 1 : text;
	long long value;
	char *end;

	if (digits[0] == '\0' || digits[strspn(digits, "0123456789")] != '\0')
		return -EINVAL;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno == ERANGE || value < min || value > max)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

int parse_double(const char *text, double min, double max, double *ret_value)
{
	double value;
	char *end;

	/* strtod() would also accept "nan", "inf", "0x1p3" and leading spaces. */
	if (text[0] == '\0' || text[0] == '+' || text[strspn(text, "0123456789.eE+-")] != '\0')
		return -EINVAL;
	errno = 0;
	value = strtod(text, &end);
	if (end == text || *end != '\0')
		return -EINVAL;
	if (errno == ERANGE || !isfinite(value) || value < min || value > max)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

int parse_bool(const char *text, bool *ret_value)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {
		{"on", true},  {"off", false}, {"yes", true},
		{"no", false}, {"true", true}, {"false", false},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i].word) == 0) {
			*ret_value = words[i].value;
			return 0;
		}
	}
	return -EINVAL;
}
