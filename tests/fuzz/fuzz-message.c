/* SPDX-License-Identifier: MIT */
/* What a guest may write to the daemon: the messages are the same however their bytes come, no byte
 * is lost, and whatever they say the totals never go back and stay numbers. */
#include <math.h>

#include "base/clock.h"
#include "monitor/fps/reporter.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct heard {
	struct fps_reporters reporters;
	struct fps_totals totals;
	uint64_t now_ns;
	uint64_t messages;
	uint64_t digest;
};

static void hear(void *userdata, const struct fps_message *message)
{
	struct heard *heard = userdata;
	struct fps_totals before = heard->totals;
	uint64_t word;

	for (size_t i = 0; i < FPS_MESSAGE_BYTES; i += sizeof(word)) {
		memcpy(&word, (const char *)message + i, sizeof(word));
		heard->digest = heard->digest * 31 + word;
	}
	heard->messages++;
	heard->now_ns += NS_PER_S / 2;
	if (!fps_reporters_count_message(&heard->reporters, heard, message, heard->now_ns,
					 heard->now_ns, &heard->totals))
		FUZZ_CHECK(memcmp(&before, &heard->totals, sizeof(before)) == 0);
	FUZZ_CHECK(heard->totals.frames >= before.frames);
	FUZZ_CHECK(heard->totals.frames - before.frames <= 400000);
	FUZZ_CHECK(heard->totals.newest_ns <= heard->now_ns);
	for (int b = 0; b < FPS_WIRE_BUCKETS; b++)
		FUZZ_CHECK(heard->totals.frame_time[b] >= before.frame_time[b]);
	heard->totals.reported_fps = heard->totals.reporting = 0;
	FUZZ_CHECK(fps_reporters_sum_rates(&heard->reporters, heard->now_ns, &heard->totals) <=
		   FPS_REPORTERS_MAX);
	FUZZ_CHECK(isfinite(heard->totals.reported_fps) && heard->totals.reported_fps >= 0);
}

/* Feeds pieces of @cut bytes. */
static struct heard feed(const uint8_t *bytes, size_t size, size_t cut, bool fleeting)
{
	struct heard heard = {.now_ns = 1000 * NS_PER_S, .reporters.fleeting = fleeting};
	struct fps_stream stream = {.n = 0};
	size_t skipped = 0, fed = 0;

	while (fed < size) {
		size_t n = size - fed < cut ? size - fed : cut;
		CLEANUP_FREE char *piece = fuzz_text(bytes + fed, n);

		skipped += fps_stream_feed(&stream, piece, n, hear, &heard);
		fed += n;
	}
	FUZZ_CHECK(heard.messages * FPS_MESSAGE_BYTES + skipped + stream.n == size);
	fps_reporters_free(&heard.reporters);
	FUZZ_CHECK(heard.reporters.n == 0);
	return heard;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t cuts[] = {1, 7, 615, 617};
	struct heard whole = feed(data, size, size ? size : 1, false);

	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		struct heard cut = feed(data, size, cuts[i], i % 2);

		FUZZ_CHECK(cut.messages == whole.messages && cut.digest == whole.digest);
	}
	return 0;
}
