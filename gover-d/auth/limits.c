/* SPDX-License-Identifier: MIT */
/*
 * A hash table of fixed size. The key is an address or a token. The hash of a key selects a set of
 * SLOTS slots, and the key can use only these slots. If other keys take the slot of a key, the
 * counts of that key start again at zero. This is harmless: the limits only save work and log
 * lines, and a token is too long to be guessed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "gover-d/auth/limits.h"

#define SETS  256
#define SLOTS 4

struct slot {
	uint8_t key[PEER_KEY_BYTES];
	uint64_t active_ns; /* time of the last request; 0: the slot is free */
	uint64_t second_ns; /* start of the second in which @requests are counted */
	unsigned int requests;
	unsigned int failures;
	uint64_t failed_ns, blocked_until_ns;
};

struct limits {
	struct slot slots[SETS][SLOTS];
};

struct limits *limits_new(void)
{
	return xcalloc(1, sizeof(struct limits));
}

struct limits *limits_free(struct limits *limits)
{
	free(limits);
	return NULL;
}

static unsigned int set_of(const uint8_t key[PEER_KEY_BYTES])
{
	uint32_t hash = 2166136261U; /* FNV-1a */

	for (int i = 0; i < PEER_KEY_BYTES; i++)
		hash = (hash ^ key[i]) * 16777619U;
	return (hash ^ hash >> 16) % SETS;
}

/*
 * Returns the slot of @key. If @key has no slot yet, it gets the least recently active slot of its
 * set.
 */
static struct slot *find(struct limits *limits, const uint8_t key[PEER_KEY_BYTES], uint64_t now_ns)
{
	struct slot *set = limits->slots[set_of(key)], *oldest = set;

	for (struct slot *p = set; p < set + SLOTS; p++) {
		if (p->active_ns && memcmp(p->key, key, PEER_KEY_BYTES) == 0) {
			p->active_ns = now_ns;
			return p;
		}
		if (p->active_ns < oldest->active_ns)
			oldest = p;
	}
	*oldest = (struct slot){.active_ns = now_ns};
	memcpy(oldest->key, key, PEER_KEY_BYTES);
	return oldest;
}

bool limits_take_request(struct limits *limits, const uint8_t key[PEER_KEY_BYTES],
			 unsigned int per_s, uint64_t now_ns)
{
	struct slot *slot;

	if (per_s == 0)
		return true;
	slot = find(limits, key, now_ns);
	if (now_ns - slot->second_ns >= NS_PER_S) {
		slot->second_ns = now_ns;
		slot->requests = 0;
	}
	if (slot->requests >= per_s)
		return false;
	slot->requests++;
	return true;
}

unsigned int limits_fail_token(struct limits *limits, const uint8_t key[PEER_KEY_BYTES],
			       uint64_t now_ns, unsigned int *ret_begins_s)
{
	struct slot *slot = find(limits, key, now_ns);
	unsigned int seconds = 0, excess;

	*ret_begins_s = 0;
	if (now_ns < slot->blocked_until_ns)
		return (unsigned int)((slot->blocked_until_ns - now_ns + NS_PER_S - 1) / NS_PER_S);
	if (now_ns - slot->failed_ns >= LIMITS_FORGIVE_S * NS_PER_S)
		slot->failures = 0;
	slot->failed_ns = now_ns;
	slot->failures++;
	if (slot->failures >= LIMITS_FREE_TRIES) {
		excess = slot->failures - LIMITS_FREE_TRIES;
		seconds = excess < 6 ? 1U << excess : LIMITS_BACK_OFF_S;
		slot->blocked_until_ns = now_ns + seconds * NS_PER_S;
	}
	*ret_begins_s = seconds;
	return 0;
}
