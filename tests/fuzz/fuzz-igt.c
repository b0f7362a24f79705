/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the parser for the output of intel_gpu_top. Each sample must be within its range. The
 * samples must not depend on how the input is split into pieces.
 */
#include "monitor/igt.h"
#include "tests/fuzz/fuzz.h"

/* Feeds the input to the parser in pieces of @cut bytes. Returns the number of samples. */
static int feed(struct igt_parser *parser, const char *bytes, size_t size, size_t cut,
		struct igt_sample *ret_sample)
{
	int samples = 0;

	igt_parser_reset(parser);
	while (size > 0) {
		size_t n = size < cut ? size : cut;
		/* AddressSanitizer detects a read beyond this copy. */
		CLEANUP_FREE char *piece = fuzz_text(bytes, n);

		samples += igt_parser_feed(parser, piece, n, ret_sample);
		bytes += n;
		size -= n;
	}
	return samples;
}

FUZZ(igt)
{
	static const size_t cuts[] = {1, 3, 64};
	const char *bytes = (const char *)data;
	struct igt_parser *parser;
	struct igt_sample sample = {.util_pct = -1};
	int samples;

	parser = igt_parser_new();
	samples = feed(parser, bytes, size, size, &sample);
	FUZZ_CHECK(samples == 0 ||
		   (sample.util_pct >= 0 && sample.util_pct <= 100 && sample.actual_mhz >= 0));
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		struct igt_sample cut = {.util_pct = -1};

		FUZZ_CHECK(feed(parser, bytes, size, cuts[i], &cut) == samples);
		FUZZ_CHECK(cut.util_pct >= sample.util_pct && cut.util_pct <= sample.util_pct);
	}
	igt_parser_free(parser);
	return 0;
}
