/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the page of a compute client. The input is a client that writes words of its page between
 * the readings of the arbiter: a byte for the word, eight for the value, two for the time to the
 * next reading. Whatever it writes, totals never decrease, and every value is within its bounds.
 */
#include "base/clock.h"
#include "compute/channel/reading.h"
#include "tests/fuzz/fuzz.h"

#define CLIENT_BEGIN_NS	  (1000 * NS_PER_S)
#define CLIENT_STEP_BYTES 11
#define CLIENT_STEPS_MAX  200

union client_page {
	struct compute_page page;
	uint64_t words[sizeof(struct compute_page) / sizeof(uint64_t)];
};

static void check_reading(const struct compute_reading *before,
			  const struct compute_reading *reading, uint64_t now_ns)
{
	uint64_t age_ns = now_ns - CLIENT_BEGIN_NS;
	uint64_t units_max = (age_ns / 1000 + 1) * COMPUTE_UNITS_PER_US_MAX;

	FUZZ_CHECK(reading->units >= before->units && reading->units <= units_max);
	FUZZ_CHECK(reading->submissions >= before->submissions &&
		   reading->submissions <= units_max);
	FUZZ_CHECK(reading->sampled >= before->sampled && reading->sampled <= units_max);
	FUZZ_CHECK(reading->busy_ns >= before->busy_ns && reading->busy_ns <= age_ns);
	FUZZ_CHECK(reading->build_ns >= before->build_ns);
	FUZZ_CHECK(reading->memory_refused >= before->memory_refused);
	FUZZ_CHECK(reading->kernels_whole >= before->kernels_whole);
	FUZZ_CHECK(reading->wants_ns <= now_ns && reading->submit_ns <= now_ns &&
		   reading->finish_ns <= now_ns);
	FUZZ_CHECK(reading->ends_ns >= now_ns &&
		   reading->ends_ns <= now_ns + COMPUTE_IN_FLIGHT_MAX_NS);
	FUZZ_CHECK(reading->in_flight_ns <= COMPUTE_IN_FLIGHT_MAX_NS);
	FUZZ_CHECK(reading->in_flight || reading->in_flight_ns == 0);
	FUZZ_CHECK(reading->memory_bytes <= COMPUTE_MEMORY_MAX_BYTES);
}

FUZZ(compute_page)
{
	union client_page page = {.words = {0}};
	struct compute_reading reading, before;
	uint64_t now_ns = CLIENT_BEGIN_NS, value;
	uint16_t elapsed_ms;

	compute_reading_begin(&reading, &page.page, now_ns);
	for (int i = 0; i < CLIENT_STEPS_MAX && size >= CLIENT_STEP_BYTES; i++) {
		memcpy(&value, data + 1, sizeof(value));
		memcpy(&elapsed_ms, data + 9, sizeof(elapsed_ms));
		page.words[data[0] % ARRAY_SIZE(page.words)] = value;
		data += CLIENT_STEP_BYTES;
		size -= CLIENT_STEP_BYTES;
		now_ns += elapsed_ms * NS_PER_MS;
		before = reading;
		compute_reading_take(&reading, &page.page, now_ns);
		check_reading(&before, &reading, now_ns);
	}
	return 0;
}
