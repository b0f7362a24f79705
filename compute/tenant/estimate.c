/* SPDX-License-Identifier: MIT */
/* A hash table with open addressing. Entries are claimed with a compare-and-swap, never freed. */

#include "compute/tenant/estimate.h"

#define ENTRIES 4096u /* a power of two */
#define PROBES	16u

static struct estimate table[ENTRIES];
static struct estimate shared = {.key = 1}; /* of all kinds that find no entry */

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return x ^ (x >> 32);
}

struct estimate *estimate_find(const void *object, uint64_t size)
{
	uint64_t class = size ? 64u - (uint64_t)__builtin_clzll(size) : 0;
	uint64_t key = mix((uint64_t)(uintptr_t)object + (class << 56));

	if (key == 0)
		key = 1;
	for (uint64_t i = 0; i < PROBES; i++) {
		struct estimate *entry = &table[(key + i) & (ENTRIES - 1)];
		uint64_t known = __atomic_load_n(&entry->key, __ATOMIC_RELAXED);

		if (known == key)
			return entry;
		if (known == 0 &&
		    (__atomic_compare_exchange_n(&entry->key, &known, key, false, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED) ||
		     known == key))
			return entry;
	}
	return &shared;
}

uint64_t estimate_predict(const struct estimate *estimate)
{
	uint64_t ns = __atomic_load_n(&estimate->ns, __ATOMIC_RELAXED);

	return ns ? ns : ESTIMATE_FIRST_NS;
}

bool estimate_begin_sample(struct estimate *estimate, uint32_t turn)
{
	if (__atomic_load_n(&estimate->samples, __ATOMIC_RELAXED) < ESTIMATE_SAMPLES)
		return true;
	if (__atomic_load_n(&estimate->turn, __ATOMIC_RELAXED) == turn)
		return false;
	__atomic_store_n(&estimate->turn, turn, __ATOMIC_RELAXED);
	return true;
}

bool estimate_is_new(const struct estimate *estimate)
{
	return __atomic_load_n(&estimate->ns, __ATOMIC_RELAXED) == 0;
}

void estimate_learn(struct estimate *estimate, uint64_t ns)
{
	uint64_t before = __atomic_load_n(&estimate->ns, __ATOMIC_RELAXED), after;
	uint32_t samples = __atomic_load_n(&estimate->samples, __ATOMIC_RELAXED);

	if (ns > ESTIMATE_MAX_NS)
		ns = ESTIMATE_MAX_NS;
	if (ns == 0)
		ns = 1;
	/* The mean of the first measurements, then a moving mean over about eight. */
	if (samples < 8)
		samples++;
	after = before == 0 ? ns
			    : (uint64_t)((int64_t)before +
					 ((int64_t)ns - (int64_t)before) / (int64_t)samples);
	__atomic_store_n(&estimate->ns, after ? after : 1, __ATOMIC_RELAXED);
	__atomic_store_n(&estimate->samples, samples, __ATOMIC_RELAXED);
}
