/* SPDX-License-Identifier: MIT */
/*
 * A bounded ring of contiguous records of any size. The caller must lock the ring. The oldest
 * record does not move until it is popped, even if other records are pushed.
 */
#ifndef DB_QUEUE_H
#define DB_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct queue {
	uint8_t *bytes;
	size_t size;
	size_t head; /* offset of the oldest record */
	size_t tail; /* offset of the free space; equal to head if the ring is empty */
	size_t wrap; /* if tail < head: end of the records that begin at head; otherwise unused */
};

int queue_init(struct queue *queue, size_t size);
void queue_fini(struct queue *queue);

/* Returns space for a record of @size bytes, which the caller fills, or NULL if the queue is
 * full. */
uint8_t *queue_push(struct queue *queue, int kind, size_t size);
/* Returns the oldest record, or NULL if the queue is empty. */
const uint8_t *queue_front(const struct queue *queue, int *ret_kind);
/* Removes the oldest record. The queue must not be empty. */
void queue_pop(struct queue *queue);

size_t queue_used(const struct queue *queue);

#endif
