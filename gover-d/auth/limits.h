/* SPDX-License-Identifier: MIT */
/*
 * How much an address may ask, and how many wrong tokens it may try. A table of fixed size: who
 * was heard of least lately is forgotten. Pure: time is handed in. Must never grow.
 */
#ifndef GOVER_D_AUTH_LIMITS_H
#define GOVER_D_AUTH_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "gover-d/auth/peer.h"

/* So many wrong tokens are free, the next cost a second, two, four ... and at most a minute; ten
 * minutes without one make good. */
#define LIMITS_FREE_TRIES 10
#define LIMITS_BACK_OFF_S 60
#define LIMITS_FORGIVE_S  600

struct limits;
/* NULL: no memory. */
struct limits *limits_new(void);
struct limits *limits_free(struct limits *limits); /* NULL is fine; returns NULL */

/* A request comes: false where the address has had @per_s of them in this second (0: no limit). */
bool limits_take_request(struct limits *limits, const uint8_t key[PEER_KEY_BYTES],
			 unsigned int per_s, uint64_t now_ns);

/*
 * A wrong token came. 0: it is one of those that are counted; *ret_begins_s: for how long the next
 * are not, 0 where they are. Otherwise the seconds left of such a time, and nothing was counted.
 */
unsigned int limits_fail_token(struct limits *limits, const uint8_t key[PEER_KEY_BYTES],
			       uint64_t now_ns, unsigned int *ret_begins_s);

#endif
