/* SPDX-License-Identifier: MIT */
/*
 * Limits of requests per second for each token, client with a certificate, or address, and of
 * invalid tokens for each address. The table has a fixed size, so a new row may replace a less
 * recently active one. Pure: the caller passes the time.
 */
#ifndef GOVER_D_AUTH_LIMITS_H
#define GOVER_D_AUTH_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#define PEER_KEY_BYTES 16 /* size of the key of a caller: see struct peer */

/*
 * LIMITS_FREE_TRIES invalid tokens block an address for 1 s. Each further invalid token doubles the
 * time, up to LIMITS_BACK_OFF_S. The count is reset after LIMITS_FORGIVE_S without an invalid
 * token.
 */
#define LIMITS_FREE_TRIES 10
#define LIMITS_BACK_OFF_S 60
#define LIMITS_FORGIVE_S  600

struct limits;
struct limits *limits_new(void);
struct limits *limits_free(struct limits *limits); /* accepts NULL; returns NULL */

/*
 * Counts a request. Returns false if the caller with this key has already sent @per_s requests in
 * this second. @per_s 0: no limit.
 */
bool limits_take_request(struct limits *limits, const uint8_t key[PEER_KEY_BYTES],
			 unsigned int per_s, uint64_t now_ns);

/*
 * Counts an invalid token. If the token starts a block of the address, *ret_begins_s is the
 * duration of the block, else 0. Returns 0 or, if the address was already blocked, the remaining
 * seconds of the block; the token is then not counted.
 */
unsigned int limits_fail_token(struct limits *limits, const uint8_t key[PEER_KEY_BYTES],
			       uint64_t now_ns, unsigned int *ret_begins_s);

#endif
