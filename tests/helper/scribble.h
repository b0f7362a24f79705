/* SPDX-License-Identifier: MIT */
/*
 * Random words in the page of a compute client. The values include the greatest ones, times in the
 * future, and counters that go back. The same seed gives the same words.
 */
#ifndef TESTS_HELPER_SCRIBBLE_H
#define TESTS_HELPER_SCRIBBLE_H

#include <stdint.h>

#include "compute/channel/wire.h"

struct scribble {
	uint64_t random; /* the seed; not 0 */
};

/* xorshift64* */
static inline uint64_t scribble_random(struct scribble *scribble)
{
	scribble->random ^= scribble->random >> 12;
	scribble->random ^= scribble->random << 25;
	scribble->random ^= scribble->random >> 27;
	return scribble->random * 2685821657736338717ull;
}

static inline uint64_t scribble_value(struct scribble *scribble, uint64_t old, uint64_t now_ns)
{
	switch (scribble_random(scribble) % 12) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return UINT64_MAX;
	case 3:
		return INT64_MAX;
	case 4:
		return (uint64_t)INT64_MAX + 1;
	case 5:
		return now_ns;
	case 6:
		return now_ns + scribble_random(scribble) % 10000000000u;
	case 7:
		return old - 1 - scribble_random(scribble) % 1000000;
	case 8:
		return old + scribble_random(scribble) % 1000000;
	case 9:
		return old + (1ull << scribble_random(scribble) % 64);
	case 10:
		return scribble_random(scribble) % 16;
	default:
		return scribble_random(scribble);
	}
}

/* Writes one random word of 32 or 64 bits; mostly one that has a meaning. */
static inline void scribble_word(struct scribble *scribble, struct compute_page *page,
				 uint64_t now_ns)
{
	size_t range = scribble_random(scribble) % 16 ? sizeof(*page) : COMPUTE_PAGE_BYTES;
	char *at = (char *)page + scribble_random(scribble) % (range / 8) * 8;

	if (scribble_random(scribble) % 4 == 0) {
		uint32_t *word = (uint32_t *)(void *)at;

		__atomic_store_n(word, (uint32_t)scribble_value(scribble, *word, now_ns),
				 __ATOMIC_SEQ_CST);
	} else {
		uint64_t *word = (uint64_t *)(void *)at;

		__atomic_store_n(word, scribble_value(scribble, *word, now_ns), __ATOMIC_SEQ_CST);
	}
}

#endif
