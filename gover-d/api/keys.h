/* SPDX-License-Identifier: MIT */
/*
 * Idempotency keys: a request that is told again with its key is answered as before and not done
 * again. What was answered is remembered for the newest API_KEYS_KEPT; beyond that, and over a
 * restart, the contract that was made remembers its key. Each who asks has keys of his own: those
 * of others are not in his way, and tell him nothing.
 */
#ifndef GOVER_D_API_KEYS_H
#define GOVER_D_API_KEYS_H

#include "gover-d/api/internal.h"

#define API_KEYS_KEPT 256

struct api_keys;
struct api_keys *api_keys_free(struct api_keys *keys); /* NULL is fine; returns NULL */

/* -EINVAL: there is a key, and it is none, and the reply says so. */
int api_keys_check(struct api_request *request);

/* The key as it is remembered, which says whose it is; "": the request has none. */
void api_keys_own(const struct api_request *request, char key[CLAIM_MAX]);

/* Of what a body says, however it is written; "" without memory. */
void api_keys_hash(const json_t *object, char hash[BODY_HASH_MAX]);

/* True where the key is remembered: the reply is the one from then, or a refusal where the body was
 * another. */
bool api_keys_replay(struct api *api, struct api_request *request, const char *hash);
/* Remembers the reply that stands in @request, where that has a key. */
void api_keys_keep(struct api *api, const struct api_request *request);
/* Answers that the key was used for another request. */
void api_keys_refuse(struct api_request *request);

#endif
