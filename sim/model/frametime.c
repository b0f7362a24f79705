/* SPDX-License-Identifier: MIT */
/* A histogram of frame times. Adding a frame costs only a few instructions. */
#include <string.h>

#include "base/clock.h"
#include "sim/model/frametime.h"

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int log2, bucket;

	if (ns < 1ULL << FRAMETIME_MIN_LOG2)
		return 0;
	log2 = 63 - (unsigned int)__builtin_clzll(ns);
	bucket = (log2 - FRAMETIME_MIN_LOG2) * 16 + (unsigned int)(ns >> (log2 - 4) & 15);
	return bucket < FRAMETIME_BUCKETS ? bucket : FRAMETIME_BUCKETS - 1;
}

static double middle_of_ms(unsigned int bucket)
{
	uint64_t octave_ns = 1ULL << (FRAMETIME_MIN_LOG2 + bucket / 16);

	return (double)octave_ns * (1 + (bucket % 16 + 0.5) / 16) / (double)NS_PER_MS;
}

void frametime_add(struct frametime *times, uint64_t ns)
{
	times->count++;
	times->buckets[bucket_of(ns)]++;
}

double frametime_p99_ms(const struct frametime *times)
{
	uint32_t above = 0; /* number of frames in this bucket and all higher buckets */

	if (times->count == 0)
		return 0;
	for (unsigned int b = FRAMETIME_BUCKETS; b-- > 0;) {
		above += times->buckets[b];
		if (above > times->count / 100)
			return middle_of_ms(b);
	}
	return 0;
}

void frametime_clear(struct frametime *times)
{
	if (times->count > 0)
		memset(times, 0, sizeof(*times));
}
