/* SPDX-License-Identifier: MIT */
/*
 * Limits by address: requests per second, and invalid tokens. The counts are in a table of fixed
 * size, which drops the least recently active address. Pure: the caller passes the time.
 */
#ifndef GOVER_D_AUTH_LIMITS_H
#define GOVER_D_AUTH_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "gover-d/auth/peer.h"

/* After this many invalid tokens an address is blocked for 1, 2, 4, ... up to LIMITS_BACK_OFF_S
 * seconds. LIMITS_FORGIVE_S seconds without an invalid token reset the count. */
#define LIMITS_FREE_TRIES 10
#define LIMITS_BACK_OFF_S 60
#define LIMITS_FORGIVE_S  600

struct limits;
/* NULL: out of memory. */
struct limits *limits_new(void);
struct limits *limits_free(struct limits *limits); /* NULL is fine; returns NULL */

/*
 * Counts a request. Returns false if the address already sent @per_s requests in this second.
 * @per_s: 0 for no limit.
 */
bool limits_take_request(struct limits *limits, const uint8_t key[PEER_KEY_BYTES],
			 unsigned int per_s, uint64_t now_ns);

/*
 * Counts an invalid token and returns 0. If the address becomes blocked by it, *ret_begins_s is the
 * length of the block, else 0. If the address was already blocked, returns the seconds left and
 * counts nothing.
 */
unsigned int limits_fail_token(struct limits *limits, const uint8_t key[PEER_KEY_BYTES],
			       uint64_t now_ns, unsigned int *ret_begins_s);

#endif
