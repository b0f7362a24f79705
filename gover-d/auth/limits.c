/* SPDX-License-Identifier: MIT */
/*
 * Limits by address. Sets of a few places, found by a hash: who floods the table with addresses of
 * his own displaces the quiet, and what he displaces is a count that begins anew. A token cannot be
 * guessed in any number of tries; what this spares is work, and the log.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gover-d/auth/limits.h"

#define SETS   256
#define PLACES 4

struct place {
	uint8_t key[PEER_KEY_BYTES];
	uint64_t heard_ns;  /* 0: free */
	uint64_t second_ns; /* when the second of @requests began */
	unsigned int requests;
	unsigned int failures;
	uint64_t failed_ns, blocked_until_ns;
};

struct limits {
	struct place places[SETS][PLACES];
};

struct limits *limits_new(void)
{
	return calloc(1, sizeof(struct limits));
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

/* The place of this address; where it has none, that of who was heard of least lately. */
static struct place *find(struct limits *limits, const uint8_t key[PEER_KEY_BYTES], uint64_t now_ns)
{
	struct place *set = limits->places[set_of(key)], *oldest = set;

	for (struct place *p = set; p < set + PLACES; p++) {
		if (p->heard_ns && memcmp(p->key, key, PEER_KEY_BYTES) == 0) {
			p->heard_ns = now_ns;
			return p;
		}
		if (p->heard_ns < oldest->heard_ns)
			oldest = p;
	}
	*oldest = (struct place){.heard_ns = now_ns};
	memcpy(oldest->key, key, PEER_KEY_BYTES);
	return oldest;
}

bool limits_take_request(struct limits *limits, const uint8_t key[PEER_KEY_BYTES],
			 unsigned int per_s, uint64_t now_ns)
{
	struct place *place;

	if (per_s == 0)
		return true;
	place = find(limits, key, now_ns);
	if (now_ns - place->second_ns >= NS_PER_S) {
		place->second_ns = now_ns;
		place->requests = 0;
	}
	if (place->requests >= per_s)
		return false;
	place->requests++;
	return true;
}

unsigned int limits_fail_token(struct limits *limits, const uint8_t key[PEER_KEY_BYTES],
			       uint64_t now_ns, unsigned int *ret_begins_s)
{
	struct place *place = find(limits, key, now_ns);
	unsigned int seconds = 0, beyond;

	*ret_begins_s = 0;
	if (now_ns < place->blocked_until_ns)
		return (unsigned int)((place->blocked_until_ns - now_ns + NS_PER_S - 1) / NS_PER_S);
	if (now_ns - place->failed_ns >= LIMITS_FORGIVE_S * NS_PER_S)
		place->failures = 0;
	place->failed_ns = now_ns;
	place->failures++;
	if (place->failures >= LIMITS_FREE_TRIES) {
		beyond = place->failures - LIMITS_FREE_TRIES;
		seconds = beyond < 6 ? 1U << beyond : LIMITS_BACK_OFF_S;
		place->blocked_until_ns = now_ns + seconds * NS_PER_S;
	}
	*ret_begins_s = seconds;
	return 0;
}
