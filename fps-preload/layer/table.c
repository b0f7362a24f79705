/* SPDX-License-Identifier: MIT */
/* Lists whose entries are reused but never freed, so that each frame can search them without a
 * lock. */
#include <stdlib.h>

#include "fps-preload/layer/table.h"

/*
 * Each Vulkan object starts with a pointer to the loader's dispatch table, which all objects of an
 * instance or device share.
 */
static const void *key_of(const void *handle)
{
	return *(const void *const *)handle;
}

struct next *table_take(struct table *table)
{
	struct next *next = __atomic_load_n(&table->first, __ATOMIC_ACQUIRE);

	for (; next; next = next->following)
		if (!__atomic_exchange_n(&next->taken, true, __ATOMIC_ACQUIRE))
			return next;
	next = calloc(1, sizeof(*next));
	if (!next)
		return NULL;
	next->taken = true;
	next->following = __atomic_load_n(&table->first, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&table->first, &next->following, next, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		continue;
	return next;
}

void table_publish(struct next *next, const void *handle)
{
	__atomic_store_n(&next->key, key_of(handle), __ATOMIC_RELEASE);
}

void table_drop(struct next *next)
{
	__atomic_store_n(&next->key, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&next->taken, false, __ATOMIC_RELEASE);
}

struct next *table_find(const struct table *table, const void *handle)
{
	const void *key = handle ? key_of(handle) : NULL;
	struct next *next = key ? __atomic_load_n(&table->first, __ATOMIC_ACQUIRE) : NULL;

	while (next && __atomic_load_n(&next->key, __ATOMIC_ACQUIRE) != key)
		next = next->following;
	return next;
}
