/* SPDX-License-Identifier: MIT */
/* Idempotency keys in a ring of fixed size. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "gover-d/api/keys.h"

struct api_keys {
	struct kept {
		/* name of the caller, space, key of the request; "": unused entry */
		char key[CLAIM_MAX];
		char hash[BODY_HASH_MAX];
		struct api_reply reply; /* holds a reference to the text of the reply */
	} kept[API_KEYS_KEPT];
	size_t n; /* number of keys stored so far; n % API_KEYS_KEPT is the next entry to use */
};

struct api_keys *api_keys_free(struct api_keys *keys)
{
	for (size_t i = 0; keys && i < API_KEYS_KEPT; i++)
		api_text_unref(keys->kept[i].reply.text);
	free(keys);
	return NULL;
}

/* The key is stored with a contract, so its length and characters are limited. */
bool api_keys_valid(const char *key)
{
	size_t n;

	for (n = 0; key[n]; n++)
		if (key[n] <= ' ' || key[n] > '~')
			return false;
	return n > 0 && n < CLAIM_MAX;
}

int api_keys_check(struct api_request *request)
{
	if (!request->idempotency_key || api_keys_valid(request->idempotency_key))
		return 0;
	problem_reply(
		request, 400,
		"Idempotency-Key: invalid (allowed: 1 to 127 printable characters without spaces)");
	return -EINVAL;
}

void api_keys_own(const struct api_request *request, char key[CLAIM_MAX])
{
	_Static_assert(ACCESS_NAME_MAX + 17 <= CLAIM_MAX, "a key has space for a name and a hash");
	const char *given = request->idempotency_key;

	key[0] = '\0';
	if (given && snprintf(key, CLAIM_MAX, "%s %s", request->principal.name, given) >= CLAIM_MAX)
		snprintf(key, CLAIM_MAX, "%s %016" PRIx64, request->principal.name,
			 hash_text(given));
}

void api_keys_hash(const json_t *object, char hash[BODY_HASH_MAX])
{
	CLEANUP_FREE char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);

	snprintf(hash, BODY_HASH_MAX, "%016" PRIx64, hash_text(text));
}

void api_keys_refuse(struct api_request *request)
{
	problem_reply(request, 422, "Idempotency-Key: %s was used for a different request",
		      request->idempotency_key);
}

static struct kept *find(struct api_keys *keys, const char *key)
{
	for (size_t i = 0; keys && i < API_KEYS_KEPT; i++)
		if (strcmp(keys->kept[i].key, key) == 0)
			return &keys->kept[i];
	return NULL;
}

bool api_keys_replay(struct api *api, struct api_request *request, const char *hash)
{
	const struct kept *kept;
	char key[CLAIM_MAX];

	api_keys_own(request, key);
	kept = find(api->keys, key);
	if (!kept)
		return false;
	if (strcmp(kept->hash, hash) != 0) {
		api_keys_refuse(request);
		return true;
	}
	api_request_reply_empty(request, kept->reply.status);
	request->reply = kept->reply;
	api_text_ref(request->reply.text);
	return true;
}

void api_keys_keep(struct api *api, const struct api_request *request, const char *hash)
{
	struct kept *kept;

	if (!request->idempotency_key || !request->reply.text || request->reply.status >= 500)
		return;
	if (!api->keys)
		api->keys = xcalloc(1, sizeof(*api->keys));
	kept = &api->keys->kept[api->keys->n++ % API_KEYS_KEPT];
	api_text_unref(kept->reply.text);
	api_keys_own(request, kept->key);
	snprintf(kept->hash, sizeof(kept->hash), "%s", hash);
	kept->reply = request->reply;
	api_text_ref(kept->reply.text);
}
