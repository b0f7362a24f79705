/* SPDX-License-Identifier: MIT */
/* Hash tables of records. */
#include <stddef.h>
#include <stdint.h>

#include "compute/cl/record.h"

/* Returns the link to the record, or to NULL. The caller holds the lock. */
static struct record **link_of(struct record_table *table, const void *handle)
{
	uintptr_t hash = ((uintptr_t)handle >> 4) * 2654435761u >> 8;
	struct record **link = &table->buckets[hash % RECORD_BUCKETS];

	while (*link && (*link)->handle != handle)
		link = &(*link)->next;
	return link;
}

void cl_record_add(struct record_table *table, struct record *record, const void *handle)
{
	struct record **link;

	record->handle = handle;
	record->references = 1;
	record->next = NULL;
	(void)pthread_mutex_lock(&table->mutex);
	link = link_of(table, handle);
	record->next = *link;
	*link = record;
	(void)pthread_mutex_unlock(&table->mutex);
}

struct record *cl_record_find(struct record_table *table, const void *handle)
{
	struct record *record;

	(void)pthread_mutex_lock(&table->mutex);
	record = *link_of(table, handle);
	(void)pthread_mutex_unlock(&table->mutex);
	return record;
}

void cl_record_retain(struct record_table *table, const void *handle)
{
	struct record *record;

	(void)pthread_mutex_lock(&table->mutex);
	record = *link_of(table, handle);
	if (record)
		record->references++;
	(void)pthread_mutex_unlock(&table->mutex);
}

struct record *cl_record_release(struct record_table *table, const void *handle)
{
	struct record **link, *record;

	(void)pthread_mutex_lock(&table->mutex);
	link = link_of(table, handle);
	record = *link;
	if (record && --record->references == 0)
		*link = record->next;
	else
		record = NULL;
	(void)pthread_mutex_unlock(&table->mutex);
	return record;
}
