/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the parser of limit messages, with any bytes in pieces of any size. Only complete messages
 * with a valid limit may change the limit.
 */
#include <endian.h>

#include "base/preload/debug.c"
#include "fps-preload/limit.c"
#include "tests/fuzz/fuzz.h"

static bool is_limit(const uint8_t bytes[FPS_LIMIT_BYTES])
{
	return memcmp(bytes, "govr-max\1\0\0\0\0\0\0\0", 16) == 0 &&
	       memcmp(bytes + 24, "max-end.", 8) == 0;
}

static uint32_t last_limit(const uint8_t *bytes, size_t size)
{
	uint32_t limit = 1;
	uint64_t period;

	for (size_t at = 0; at + FPS_LIMIT_BYTES <= size;) {
		if (!is_limit(bytes + at)) {
			at++;
			continue;
		}
		memcpy(&period, bytes + at + 16, sizeof(period));
		period = le64toh(period);
		if (period == 0 || (period >= 1000000 && period <= 1000000000))
			limit = (uint32_t)period;
		at += FPS_LIMIT_BYTES;
	}
	return limit;
}

FUZZ(limit)
{
	const size_t cuts[] = {size, 1, 7, 31, 33, 256};
	const uint32_t expected = last_limit(data, size);

	for (size_t i = size == 0; i < ARRAY_SIZE(cuts); i++) {
		struct limit_stream stream = {.n = 0};
		uint32_t limit = 1;

		for (size_t fed = 0; fed < size;) {
			size_t n = size - fed < cuts[i] ? size - fed : cuts[i];
			CLEANUP_FREE char *piece = fuzz_text(data + fed, n);

			limit_receive(&stream, piece, n, &limit);
			fed += n;
			FUZZ_CHECK(stream.n < FPS_LIMIT_BYTES);
		}
		FUZZ_CHECK(limit == expected);
	}
	return 0;
}
