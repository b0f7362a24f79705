/* SPDX-License-Identifier: MIT */
/*
 * A table from kernels to the ids of their kinds, which is read without locks at each launch. An
 * entry without an id is free. A kernel that finds no entry is its own kind.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "compute/cl/slice-kind.h"

#define ENTRIES 4096u /* a power of two */
#define PROBES	16u

static struct {
	cl_kernel handle; /* NULL: the entry was never used */
	const void *id;
} table[ENTRIES];
static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER; /* for changes */

static uint64_t hash(uint64_t from, const char *text)
{
	for (from ^= 14695981039346656037u; *text; text++)
		from = (from ^ (unsigned char)*text) * 1099511628211u;
	return from;
}

struct slice_kind *slice_kind_new(uintptr_t program, const char *name)
{
	struct slice_kind *kind = calloc(1, sizeof(*kind));
	uint64_t id = hash(program * 0x9e3779b97f4a7c15u, name);

	if (kind)
		kind->name = strdup(name);
	if (!kind || !kind->name) {
		free(kind);
		return NULL;
	}
	kind->program = program;
	/* Odd, unlike the addresses of other objects. */
	kind->id = (const void *)(uintptr_t)(id | 1);
	kind->parts_id = (const void *)(uintptr_t)((id | 1) ^ 2);
	(void)pthread_mutex_init(&kind->mutex, NULL);
	return kind;
}

void slice_kind_free(struct slice_kind *kind)
{
	if (!kind)
		return;
	(void)pthread_mutex_destroy(&kind->mutex);
	free(kind->name);
	free(kind);
}

static size_t entry_at(cl_kernel handle, size_t i)
{
	return (((uintptr_t)handle >> 4) * 2654435761u + i) % ENTRIES;
}

/* Returns the entry of a kernel, or ENTRIES. */
static size_t find_entry(cl_kernel handle)
{
	for (size_t i = 0; i < PROBES; i++) {
		size_t at = entry_at(handle, i);
		cl_kernel known = __atomic_load_n(&table[at].handle, __ATOMIC_ACQUIRE);

		if (known == handle)
			return at;
		if (!known)
			break;
	}
	return ENTRIES;
}

static size_t find_free(cl_kernel handle)
{
	for (size_t i = 0; i < PROBES; i++)
		if (!__atomic_load_n(&table[entry_at(handle, i)].id, __ATOMIC_RELAXED))
			return entry_at(handle, i);
	return ENTRIES;
}

void slice_kind_note(cl_kernel handle, const struct slice_kind *kind)
{
	size_t at;

	(void)pthread_mutex_lock(&table_mutex);
	at = find_entry(handle);
	if (at == ENTRIES)
		at = find_free(handle);
	if (at != ENTRIES) {
		__atomic_store_n(&table[at].id, kind->id, __ATOMIC_RELAXED);
		__atomic_store_n(&table[at].handle, handle, __ATOMIC_RELEASE);
	}
	(void)pthread_mutex_unlock(&table_mutex);
}

void slice_kind_forget(cl_kernel handle)
{
	size_t at;

	(void)pthread_mutex_lock(&table_mutex);
	at = find_entry(handle);
	if (at != ENTRIES)
		__atomic_store_n(&table[at].id, NULL, __ATOMIC_RELAXED);
	(void)pthread_mutex_unlock(&table_mutex);
}

const void *slice_kind_id(cl_kernel handle)
{
	size_t at = handle ? find_entry(handle) : ENTRIES;
	const void *id = at != ENTRIES ? __atomic_load_n(&table[at].id, __ATOMIC_RELAXED) : NULL;

	return id ? id : handle;
}
