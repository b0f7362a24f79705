/* SPDX-License-Identifier: MIT */
/* Frame times counted in buckets a sixteenth of an octave wide, for their 99th percentile. */
#ifndef SIM_MODEL_FRAMETIME_H
#define SIM_MODEL_FRAMETIME_H

#include <stdint.h>

#define FRAMETIME_MIN_LOG2 14 /* 16 us: all below count there */
#define FRAMETIME_OCTAVES  24 /* up to 4.6 minutes: all above count there */
#define FRAMETIME_BUCKETS  (FRAMETIME_OCTAVES * 16)

struct frametime {
	uint32_t count;
	uint32_t buckets[FRAMETIME_BUCKETS];
};

void frametime_add(struct frametime *times, uint64_t ns);

/* The time that 99 of 100 frames did not pass, within 3 %, in ms; 0 where there are none. */
double frametime_p99_ms(const struct frametime *times);

/* Forgets all. */
void frametime_clear(struct frametime *times);

#endif
