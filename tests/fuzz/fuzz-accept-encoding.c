/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the header Accept-Encoding. Gzip is accepted only if the header names it or contains "*".
 * Empty elements and a rejected gzip at the end have the effect that RFC 9110 defines. The bytes
 * are also compressed, and must be the same after decompression.
 */
#include "gover-d/api/encoding.h"
#include "gover-d/util/gzip.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROUND_TRIP_MIN 200 /* bytes */

static bool accepts_with(const char *before, const char *text, const char *after)
{
	CLEANUP_FREE char *longer = NULL;

	FUZZ_CHECK(asprintf(&longer, "%s%s%s", before, text, after) > 0);
	return api_accepts_gzip(longer);
}

static void check_header(const char *text)
{
	bool accepts = api_accepts_gzip(text);

	FUZZ_CHECK(!accepts || strcasestr(text, "gzip") || strchr(text, '*'));
	FUZZ_CHECK(accepts_with(", ", text, "") == accepts);
	FUZZ_CHECK(accepts_with("", text, " ,") == accepts);
	FUZZ_CHECK(!accepts_with("", text, ", gzip;q=0"));
	FUZZ_CHECK(!accepts_with("", text, "=")); /* never a part of an element */
}

static void check_round_trip(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *packed = NULL;
	CLEANUP_FREE char *text = NULL;
	size_t length = 0;

	/* short inputs are for the header only, because a decompression takes longer than the rest
	 */
	if (size < ROUND_TRIP_MIN || gzip_pack((const char *)data, size, &packed, &length) < 0)
		return;
	FUZZ_CHECK(length < size);
	text = unpack(packed, length);
	FUZZ_CHECK(text && memcmp(text, data, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = fuzz_text(data, size);

	check_header(text);
	check_round_trip(data, size);
	return 0;
}
