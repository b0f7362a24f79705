/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the messages of a guest. The messages must not depend on how the bytes are split. Every
 * byte must belong to a message, be counted as skipped, or wait in the buffer. The totals must
 * never decrease or become NaN.
 */
#include <math.h>

#include "base/clock.h"
#include "monitor/fps/reporter.h"
#include "tests/fuzz/fuzz.h"

struct result {
	struct fps_reporters reporters;
	struct fps_totals totals;
	uint64_t now_ns;
	uint64_t messages;
	uint64_t digest;
};

static void count_message(void *userdata, const struct fps_message *message)
{
	struct result *result = userdata;
	struct fps_totals before = result->totals;
	uint64_t word;

	for (size_t i = 0; i < FPS_MESSAGE_BYTES; i += sizeof(word)) {
		memcpy(&word, (const char *)message + i, sizeof(word));
		result->digest = result->digest * 31 + word;
	}
	result->messages++;
	result->now_ns += NS_PER_S / 2;
	if (!fps_reporters_count_message(&result->reporters, result, message, result->now_ns,
					 result->now_ns, &result->totals))
		FUZZ_CHECK(memcmp(&before, &result->totals, sizeof(before)) == 0);
	FUZZ_CHECK(result->totals.frames >= before.frames);
	FUZZ_CHECK(result->totals.frames - before.frames <= 400000);
	FUZZ_CHECK(result->totals.newest_ns <= result->now_ns);
	for (int b = 0; b < FPS_WIRE_BUCKETS; b++)
		FUZZ_CHECK(result->totals.frame_time[b] >= before.frame_time[b]);
	result->totals.reported_fps = result->totals.reporting = 0;
	FUZZ_CHECK(fps_reporters_sum_rates(&result->reporters, result->now_ns, &result->totals) <=
		   FPS_REPORTERS_MAX);
	FUZZ_CHECK(isfinite(result->totals.reported_fps) && result->totals.reported_fps >= 0);
}

/*
 * Passes the input to the parser in pieces of @cut bytes. Each piece ends at the end of the buffer,
 * so that AddressSanitizer finds an access behind the piece.
 */
static struct result feed(const uint8_t *bytes, size_t size, size_t cut, bool connectionless)
{
	struct result result = {.now_ns = 1000 * NS_PER_S,
				.reporters.connectionless = connectionless};
	struct fps_stream stream = {.n = 0};
	CLEANUP_FREE char *buffer = malloc(cut);
	size_t skipped = 0, fed = 0;

	FUZZ_CHECK(buffer);
	while (fed < size) {
		size_t n = size - fed < cut ? size - fed : cut;
		char *piece = buffer + cut - n;

		memcpy(piece, bytes + fed, n);
		skipped += fps_stream_feed(&stream, piece, n, count_message, &result);
		fed += n;
	}
	FUZZ_CHECK(result.messages * FPS_MESSAGE_BYTES + skipped + stream.n == size);
	fps_reporters_free(&result.reporters);
	FUZZ_CHECK(result.reporters.n == 0);
	return result;
}

/* The length of the input selects how the bytes are split, so that each length has one second run.
 */
FUZZ(message)
{
	static const size_t cuts[] = {1, 7, FPS_MESSAGE_BYTES - 1, FPS_MESSAGE_BYTES + 1};
	size_t i = size % ARRAY_SIZE(cuts);
	struct result whole = feed(data, size, size ? size : 1, false);
	struct result cut = feed(data, size, cuts[i], i % 2);

	FUZZ_CHECK(cut.messages == whole.messages && cut.digest == whole.digest);
	return 0;
}
