/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the scanner of OpenCL C sources. The result does not depend on a line before the source,
 * and the rectified source contains the source.
 */
#include "compute/cl/slice-text.h"
#include "tests/fuzz/fuzz.h"

/* The result does not depend on a line before the source. */
static void check_with_line_before(const char *text, size_t size, enum slice_text result)
{
	static const char line[] = "/* a */ // b\n";
	CLEANUP_FREE char *longer = malloc(sizeof(line) + size);

	FUZZ_CHECK(longer);
	memcpy(longer, line, sizeof(line) - 1);
	memcpy(longer + sizeof(line) - 1, text, size);
	FUZZ_CHECK(slice_text_check(longer, sizeof(line) - 1 + size) == result);
}

FUZZ(slice)
{
	CLEANUP_FREE char *text = fuzz_text(data, size), *rectified = NULL;
	enum slice_text result = slice_text_check(text, size);

	FUZZ_CHECK(result >= SLICE_TEXT_OK && result <= SLICE_TEXT_VARIABLE);
	FUZZ_CHECK(slice_text_reason(result));
	FUZZ_CHECK((result == SLICE_TEXT_INVALID) == (memchr(text, '\0', size) != NULL));
	check_with_line_before(text, size, result);
	rectified = slice_text_rectify(text, size, result);
	FUZZ_CHECK(rectified);
	FUZZ_CHECK(result == SLICE_TEXT_INVALID || strstr(rectified, text));
	return 0;
}
