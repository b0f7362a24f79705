/* SPDX-License-Identifier: MIT */
/* A histogram of frame times, for their 99th percentile. Each bucket is 1/16 octave wide. */
#ifndef SIM_MODEL_FRAMETIME_H
#define SIM_MODEL_FRAMETIME_H

#include <stdint.h>

/* the first bucket starts at 2^14 ns (16 us), and also counts shorter times */
#define FRAMETIME_MIN_LOG2 14
/* the last bucket ends at 2^38 ns (4.6 minutes), and also counts longer times */
#define FRAMETIME_OCTAVES 24
#define FRAMETIME_BUCKETS (FRAMETIME_OCTAVES * 16)

struct frametime {
	uint32_t count;
	uint32_t buckets[FRAMETIME_BUCKETS];
};

void frametime_add(struct frametime *times, uint64_t ns);

/* Returns the 99th percentile in ms, with an error of at most 3 %. 0: no frames. */
double frametime_p99_ms(const struct frametime *times);

void frametime_clear(struct frametime *times);

#endif
