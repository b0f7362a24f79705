/* SPDX-License-Identifier: MIT */
/*
 * The stored list of idempotency keys. The contracts file contains it, so that a sale and its key
 * are stored by the same write. change/keys.h has the rule for repeated requests.
 *
 * A key is valid for SALE_KEYS_VALID_MS of the wall clock after its sale. A key that is no longer
 * valid is dropped, and does not become valid again when the clock is set back. A clock that is set
 * back drops no key: the other keys are valid for that much longer.
 */
#ifndef GOVER_D_STORE_SALE_KEYS_H
#define GOVER_D_STORE_SALE_KEYS_H

#include <jansson.h>

#include "gover-d/model/contract.h"

#define SALE_KEYS_SINCE	   11  /* first version of the file with "keys" */
#define SALE_KEYS_MAX	   256 /* the oldest key is dropped */
#define SALE_KEYS_VALID_MS (24 * INT64_C(3600000))
#define SALE_KEYS_HASH_MAX 17 /* size of a hash of 64 bits in hex, with NUL */

struct sale_key {
	char key[CLAIM_MAX]; /* name of the caller, space, key of the request or its hash */
	/* hash of the body; "": not known, because an earlier release stored the claim */
	char body[SALE_KEYS_HASH_MAX];
	int64_t offer; /* the claimed offer; 0: the vGPU was not sold through an offer */
	char vgpu[ID_MAX];
	int64_t created_ms; /* time of the sale, which is contract.created_ms of the vGPU */
};

/* All zero: an empty list. */
struct sale_keys {
	struct sale_key *list; /* in the order of the sales */
	size_t n;
};

void sale_keys_fini(struct sale_keys *keys);
struct sale_keys sale_keys_copy(const struct sale_keys *keys);
/* Drops the keys that are no longer valid. */
void sale_keys_expire(struct sale_keys *keys, int64_t now_ms);
/* Adds @key, which replaces an equal key. If the list is full, drops the oldest key. */
void sale_keys_add(struct sale_keys *keys, const struct sale_key *key);
/* Returns the entry of @key; NULL: unknown. */
const struct sale_key *sale_keys_find(const struct sale_keys *keys, const char *key);

/* Adds the member "keys" to @root. */
void sale_keys_encode(const struct sale_keys *keys, json_t *root);
/* Decodes this member, which @root must contain. -EINVAL with a message; @keys is then partial. */
int sale_keys_decode(const json_t *root, struct sale_keys *keys, struct err *reterr);

/*
 * Before version SALE_KEYS_SINCE, a vGPU in the file has the key of its sale: "claim_key" and, from
 * version 5 on, "claim_body". Removes these members from @object, and writes them into @ret_key,
 * whose key is "" if the sale had none. -EINVAL with a message.
 */
int sale_keys_take_old(json_t *object, int version, struct sale_key *ret_key, struct err *reterr);
/* Adds @n keys of such a file, in the order of their times. Sorts @list. */
void sale_keys_add_old(struct sale_keys *keys, struct sale_key *list, size_t n);

#endif
