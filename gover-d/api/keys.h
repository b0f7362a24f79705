/* SPDX-License-Identifier: MIT */
/*
 * Idempotency keys: a request with the key of an earlier request gets the same reply and is not
 * executed again. The replies of the newest API_KEYS_KEPT keys are stored in memory. A contract
 * contains the key of the request that created it, so the key is still known after a restart. Each
 * caller has its own keys.
 */
#ifndef GOVER_D_API_KEYS_H
#define GOVER_D_API_KEYS_H

#include "gover-d/api/handler.h"
#include "gover-d/model/contract.h"

#define API_KEYS_KEPT 256

struct api_keys;
struct api_keys *api_keys_free(struct api_keys *keys); /* accepts NULL; returns NULL */

/* True if @key has 1 to 127 printable characters without spaces. */
bool api_keys_valid(const char *key);
/* Checks the key of @request, if there is one. -EINVAL: the key is invalid; the reply is set. */
int api_keys_check(struct api_request *request);

/*
 * Writes the stored form of the key, which contains the name of the caller, into @key; "" if the
 * request has no key.
 */
void api_keys_own(const struct api_request *request, char key[CLAIM_MAX]);

/* Writes a hash of @object into @hash. The hash does not depend on the formatting of the body. */
void api_keys_hash(const json_t *object, char hash[BODY_HASH_MAX]);

/*
 * Returns false if the key of @request is not stored. Otherwise returns true and sets the reply:
 * the stored reply, or 422 if @hash differs from that of the first request.
 */
bool api_keys_replay(struct api *api, struct api_request *request, const char *hash);
/*
 * Stores the reply of @request, if it has a key. An error of the server is not stored, because it
 * may not occur when the request is repeated. @hash: hash of the body.
 */
void api_keys_keep(struct api *api, const struct api_request *request, const char *hash);
/* Sets the reply 422: the key was used for a different request. */
void api_keys_refuse(struct api_request *request);

#endif
