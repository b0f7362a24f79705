/* SPDX-License-Identifier: MIT */
/* Idempotency keys: a repeated request with its key gets the same reply and is not executed again.
 * The replies of the newest API_KEYS_KEPT keys are stored; beyond that, and over a restart, the
 * contract stores its key. Each caller has its own keys.
 */
#ifndef GOVER_D_API_KEYS_H
#define GOVER_D_API_KEYS_H

#include "gover-d/api/handler.h"

#define API_KEYS_KEPT 256

struct api_keys;
struct api_keys *api_keys_free(struct api_keys *keys); /* NULL is fine; returns NULL */

/* -EINVAL: the key is invalid; the reply is set. */
int api_keys_check(struct api_request *request);

/* The stored form of the key, with its caller; "": the request has no key. */
void api_keys_own(const struct api_request *request, char key[CLAIM_MAX]);

/* Hash of a body, independent of its formatting; "" without memory. */
void api_keys_hash(const json_t *object, char hash[BODY_HASH_MAX]);

/* True if the key is stored: the reply is the stored one, or 422 for a different body. */
bool api_keys_replay(struct api *api, struct api_request *request, const char *hash);
/* Stores the reply of @request, if it has a key. */
void api_keys_keep(struct api *api, const struct api_request *request);
/* Replies that the key was used for a different request. */
void api_keys_refuse(struct api_request *request);

#endif
