/* SPDX-License-Identifier: MIT */
/* SplitMix64 (Steele, Lea, Flood 2014): a random generator that accepts every seed. */
#ifndef SIM_MODEL_RANDOM_H
#define SIM_MODEL_RANDOM_H

#include <stdint.h>

#define RANDOM_STEP 0x9e3779b97f4a7c15u

static inline uint64_t random_mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static inline uint64_t random_next(uint64_t *state)
{
	*state += RANDOM_STEP;
	return random_mix(*state);
}

#endif
