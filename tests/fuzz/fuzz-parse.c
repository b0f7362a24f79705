/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the parsers of numbers, flags and ids. An accepted value must be in its range, and must be
 * the same after it is printed and parsed again.
 */
#include <inttypes.h>
#include <math.h>

#include "base/parse.h"
#include "tests/fuzz/fuzz.h"

static void check_int(const char *text, int64_t min, int64_t max)
{
	int64_t value = -7, again = -7;
	char printed[32];

	if (parse_int(text, min, max, &value) < 0) {
		FUZZ_CHECK(value == -7);
		return;
	}
	FUZZ_CHECK(value >= min && value <= max);
	snprintf(printed, sizeof(printed), "%" PRId64, value);
	FUZZ_CHECK(parse_int(printed, min, max, &again) == 0 && again == value);
}

static void check_double(const char *text, double min, double max)
{
	double value = -7, again = -7;
	char printed[32];

	if (parse_double(text, min, max, &value) < 0) {
		FUZZ_CHECK(value >= -7 && value <= -7);
		return;
	}
	FUZZ_CHECK(isfinite(value) && value >= min && value <= max);
	snprintf(printed, sizeof(printed), "%.17g", value);
	FUZZ_CHECK(parse_double(printed, min, max, &again) == 0);
	FUZZ_CHECK(again >= value && again <= value);
}

FUZZ(parse)
{
	CLEANUP_FREE char *text = fuzz_text(data, size);
	bool flag;

	check_int(text, INT64_MIN, INT64_MAX);
	check_int(text, 0, 100);
	check_double(text, -HUGE_VAL, HUGE_VAL);
	check_double(text, 0, 1);
	(void)parse_bool(text, &flag);
	return 0;
}
