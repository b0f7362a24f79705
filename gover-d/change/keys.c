/* SPDX-License-Identifier: MIT */
/* Compares a request with the first request that had its idempotency key. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "gover-d/auth/access.h"
#include "gover-d/change/keys.h"
#include "gover-d/store/save.h"

/* The key is stored, so its length and characters are limited. */
bool keys_valid(const char *given)
{
	size_t n;

	for (n = 0; given[n]; n++)
		if (given[n] <= ' ' || given[n] > '~')
			return false;
	return n > 0 && n < CLAIM_MAX;
}

/* The hash does not depend on the formatting of the body. */
static void write_hash(const json_t *body, char hash[SALE_KEYS_HASH_MAX])
{
	CLEANUP_FREE char *text = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);

	snprintf(hash, SALE_KEYS_HASH_MAX, "%016" PRIx64, hash_text(text));
}

struct sale_key keys_make(const struct control_key *key, int64_t offer, const char *vgpu)
{
	_Static_assert(ACCESS_NAME_MAX + 17 <= CLAIM_MAX, "a key has space for a name and a hash");
	struct sale_key sale = {.offer = offer};

	if (!key->given)
		return sale;
	if (snprintf(sale.key, sizeof(sale.key), "%s %s", key->owner, key->given) >= CLAIM_MAX)
		snprintf(sale.key, sizeof(sale.key), "%s %016" PRIx64, key->owner,
			 hash_text(key->given));
	write_hash(key->body, sale.body);
	(void)id_copy(sale.vgpu, vgpu);
	return sale;
}

/* If the hash of the first request is unknown, the offer and the vGPU decide. */
static bool are_equal(const struct sale_key *first, const struct sale_key *sale)
{
	return first->offer == sale->offer && strcmp(first->vgpu, sale->vgpu) == 0 &&
	       (first->body[0] == '\0' || strcmp(first->body, sale->body) == 0);
}

int keys_check(struct changes *changes, const struct sale_key *sale, const char *given,
	       struct err *reterr)
{
	struct sale_keys *keys = &changes->store->keys;
	const struct sale_key *first;
	const struct vgpu *vgpu;

	if (sale->key[0] == '\0')
		return 0;
	sale_keys_expire(keys, clock_now().wall_ms);
	first = sale_keys_find(keys, sale->key);
	if (!first)
		return 0;
	if (!are_equal(first, sale))
		return err_condition(reterr, CONTROL_E_KEY_USED,
				     "Idempotency-Key: %s was used for a different request", given);
	vgpu = host_find_vgpu(changes->host, first->vgpu, NULL);
	/* A later vGPU may have the same id. */
	if (!vgpu || vgpu->found || vgpu->contract.created_ms != first->created_ms)
		return err_condition(reterr, CONTROL_E_GONE,
				     "Idempotency-Key: vGPU %s, which was sold with key %s, was "
				     "removed (use a new key to sell it again)",
				     first->vgpu, given);
	return CONTROL_E_REPEATED;
}
