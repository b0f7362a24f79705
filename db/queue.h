/* SPDX-License-Identifier: MIT */
/*
 * The records that wait for the writer thread: a bounded list of structs for each kind of record.
 * All memory is allocated at the start. The caller must lock the queue. A record does not move
 * until it is popped, even if other records are pushed.
 */
#ifndef DB_QUEUE_H
#define DB_QUEUE_H

#include "db/record.h"

struct queue {
	struct queue_list {
		char *records;
		uint64_t *numbers; /* in the order of all pushed records */
		size_t head;	   /* index of the oldest record */
		size_t n;
	} lists[RECORD_KINDS];
	uint64_t pushed; /* number of all records that were pushed */
};

void queue_init(struct queue *queue);
void queue_fini(struct queue *queue);

/* Copies @record. Returns false if the list of its kind is full. */
bool queue_push(struct queue *queue, enum record_kind kind, const void *record);

/*
 * Returns the oldest record, or NULL if the queue is empty. *ret_n records of its kind, which
 * follow in memory, were pushed one after another.
 */
const void *queue_front(const struct queue *queue, enum record_kind *ret_kind, size_t *ret_n);
/* Removes the @n oldest records of a kind. */
void queue_pop(struct queue *queue, enum record_kind kind, size_t n);

/* Returns true if a list is more than half full. */
bool queue_presses(const struct queue *queue);

#endif
