/* SPDX-License-Identifier: MIT */
/*
 * A bounded ring of records of any size, each in one piece. Not locked: its owner is. A record at
 * the front stays where it is until it is popped, whatever is pushed meanwhile.
 */
#ifndef DB_QUEUE_H
#define DB_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct queue {
	uint8_t *bytes;
	size_t size;
	size_t head, tail; /* equal: empty */
	size_t wrap;	   /* where the records before @head's turn end, while tail < head */
};

int queue_init(struct queue *queue, size_t size);
void queue_fini(struct queue *queue);

/* Room for a record of @size bytes, to be filled at once. NULL: full. */
uint8_t *queue_push(struct queue *queue, int kind, size_t size);
/* The oldest record. NULL: empty. */
const uint8_t *queue_front(const struct queue *queue, int *ret_kind);
/* Drops the oldest record; there is one. */
void queue_pop(struct queue *queue);

size_t queue_used(const struct queue *queue);

#endif
