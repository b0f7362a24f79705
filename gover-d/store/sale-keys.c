/* SPDX-License-Identifier: MIT */
/* The list of idempotency keys, and its form in the contracts file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "gover-d/store/sale-keys.h"
#include "gover-d/util/json.h"

#define OLD_KEY_SINCE  2 /* first version with "claim_key" in the entry of a vGPU */
#define OLD_BODY_SINCE 5 /* first version with "claim_body" there */

/* 2^53: a double can represent every whole number up to this value. */
#define EXACT_MAX 9007199254740992.0

void sale_keys_fini(struct sale_keys *keys)
{
	free(keys->list);
	*keys = (struct sale_keys){.n = 0};
}

struct sale_keys sale_keys_copy(const struct sale_keys *keys)
{
	struct sale_keys copy = {.n = keys->n};

	copy.list = xcalloc(SALE_KEYS_MAX, sizeof(*copy.list));
	for (size_t i = 0; i < keys->n; i++)
		copy.list[i] = keys->list[i];
	return copy;
}

static void drop(struct sale_keys *keys, size_t at)
{
	keys->n--;
	memmove(&keys->list[at], &keys->list[at + 1], (keys->n - at) * sizeof(keys->list[0]));
}

void sale_keys_expire(struct sale_keys *keys, int64_t now_ms)
{
	for (size_t i = keys->n; i-- > 0;)
		if (now_ms - keys->list[i].created_ms >= SALE_KEYS_VALID_MS)
			drop(keys, i);
}

void sale_keys_add(struct sale_keys *keys, const struct sale_key *key)
{
	const struct sale_key *equal = sale_keys_find(keys, key->key);

	if (!keys->list)
		keys->list = xcalloc(SALE_KEYS_MAX, sizeof(*keys->list));
	if (equal)
		drop(keys, (size_t)(equal - keys->list));
	else if (keys->n == SALE_KEYS_MAX)
		drop(keys, 0);
	keys->list[keys->n++] = *key;
}

const struct sale_key *sale_keys_find(const struct sale_keys *keys, const char *key)
{
	for (size_t i = 0; i < keys->n; i++)
		if (strcmp(keys->list[i].key, key) == 0)
			return &keys->list[i];
	return NULL;
}

/* --- the contracts file --- */

#define KEY_AT(member) offsetof(struct sale_key, member)

static const struct json_decode_field fields[] = {
	{"key", JSON_DECODE_TEXT, 0, CLAIM_MAX - 1, KEY_AT(key), 1 << 0},
	{"body", JSON_DECODE_TEXT, 0, SALE_KEYS_HASH_MAX - 1, KEY_AT(body), 1 << 1},
	{"offer", JSON_DECODE_INT64, 0, EXACT_MAX, KEY_AT(offer), 1 << 2},
	{"vgpu", JSON_DECODE_ID, 0, 0, KEY_AT(vgpu), 1 << 3},
	{"created_ms", JSON_DECODE_INT64, 0, EXACT_MAX, KEY_AT(created_ms), 1 << 4},
	{.name = NULL},
};

static const struct json_decode_field old_fields[] = {
	{"claim_key", JSON_DECODE_TEXT, 0, CLAIM_MAX - 1, KEY_AT(key), 1 << 0},
	{"claim_body", JSON_DECODE_TEXT, 0, SALE_KEYS_HASH_MAX - 1, KEY_AT(body), 1 << 1},
	{.name = NULL},
};

void sale_keys_encode(const struct sale_keys *keys, json_t *root)
{
	json_t *list = json_array();

	for (size_t i = 0; i < keys->n; i++) {
		const struct sale_key *key = &keys->list[i];

		json_array_append_new(list,
				      json_pack("{s:o, s:s, s:I, s:s, s:I}", "key",
						json_encode_text(key->key), "body", key->body,
						"offer", (json_int_t)key->offer, "vgpu", key->vgpu,
						"created_ms", (json_int_t)key->created_ms));
	}
	json_object_set_new(root, "keys", list);
}

static int take_key(void *userdata, json_t *object, struct err *reterr)
{
	struct sale_keys *keys = userdata;
	struct sale_key key = {.offer = 0};
	int r = json_decode_all(object, fields, &key, reterr);

	if (r < 0)
		return r;
	if (key.key[0] == '\0' || sale_keys_find(keys, key.key))
		return err_fail(reterr, EINVAL, "key: \"%s\" is empty or a duplicate", key.key);
	sale_keys_add(keys, &key);
	return 0;
}

int sale_keys_decode(const json_t *root, struct sale_keys *keys, struct err *reterr)
{
	return json_decode_list(root, "keys", SALE_KEYS_MAX, take_key, keys, reterr);
}

int sale_keys_take_old(json_t *object, int version, struct sale_key *ret_key, struct err *reterr)
{
	unsigned int expected = (version >= OLD_KEY_SINCE ? old_fields[0].bit : 0) |
				(version >= OLD_BODY_SINCE ? old_fields[1].bit : 0),
		     found;
	struct sale_key key = {.key = ""};
	json_t *old = json_object();
	int r;

	for (size_t i = 0; old_fields[i].name; i++) {
		if (!(expected & old_fields[i].bit))
			continue;
		(void)json_object_set(old, old_fields[i].name,
				      json_object_get(object, old_fields[i].name));
		(void)json_object_del(object, old_fields[i].name);
	}
	r = json_decode_object(old, old_fields, expected, expected, &key, &found, reterr);
	json_decref(old);
	if (r < 0)
		return r;
	*ret_key = key;
	return 0;
}

static int compare_times(const void *a, const void *b)
{
	const struct sale_key *x = a, *y = b;

	return (x->created_ms > y->created_ms) - (x->created_ms < y->created_ms);
}

void sale_keys_add_old(struct sale_keys *keys, struct sale_key *list, size_t n)
{
	if (n > 0)
		qsort(list, n, sizeof(*list), compare_times);
	for (size_t i = 0; i < n; i++)
		sale_keys_add(keys, &list[i]);
}
