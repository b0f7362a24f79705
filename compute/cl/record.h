/* SPDX-License-Identifier: MIT */
/*
 * Tables of the layer's records of objects of the program, by handle. A record counts the
 * references that the program and other records hold.
 */
#ifndef COMPUTE_CL_RECORD_H
#define COMPUTE_CL_RECORD_H

#include <pthread.h>

#define RECORD_BUCKETS 256

/* The first member of a record. */
struct record {
	struct record *next;
	const void *handle;
	unsigned int references;
};

struct record_table {
	pthread_mutex_t mutex;
	struct record *buckets[RECORD_BUCKETS];
};

/* Adds a record with one reference. */
void cl_record_add(struct record_table *table, struct record *record, const void *handle);

/* Returns the record, or NULL. It exists as long as the caller may use the object. */
struct record *cl_record_find(struct record_table *table, const void *handle);

/* Adds a reference, if there is such a record. */
void cl_record_retain(struct record_table *table, const void *handle);

/*
 * Gives a reference back, before the target releases the object: afterwards a new object may have
 * the same handle. If it was the last one, returns the record, which is no longer in the table and
 * belongs to the caller. Otherwise returns NULL.
 */
struct record *cl_record_release(struct record_table *table, const void *handle);

#endif
