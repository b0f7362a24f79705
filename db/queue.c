/* SPDX-License-Identifier: MIT */
/*
 * The ring of records. An empty ring restarts at its first byte, so that only a few pages of the
 * ring are used while the writer is fast. Unused pages need no memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "db/queue.h"

struct head {
	uint32_t size; /* size of the record in bytes, with this header */
	int32_t kind;
};

int queue_init(struct queue *queue, size_t size)
{
	*queue = (struct queue){.bytes = malloc(size), .size = size};
	return queue->bytes ? 0 : -ENOMEM;
}

void queue_fini(struct queue *queue)
{
	free(queue->bytes);
	*queue = (struct queue){0};
}

static size_t front(const struct queue *queue)
{
	return queue->tail < queue->head && queue->head == queue->wrap ? 0 : queue->head;
}

uint8_t *queue_push(struct queue *queue, int kind, size_t size)
{
	struct head head = {.size = (uint32_t)(sizeof(head) + size), .kind = kind};
	size_t at = queue->tail;

	/* The tail must not reach the head, because equal positions mean that the ring is empty. */
	if (queue->tail < queue->head) {
		if (queue->head - queue->tail <= head.size)
			return NULL;
	} else if (queue->size - queue->tail < head.size) {
		if (queue->head <= head.size)
			return NULL;
		queue->wrap = queue->tail;
		at = 0;
	}
	memcpy(queue->bytes + at, &head, sizeof(head));
	queue->tail = at + head.size;
	return queue->bytes + at + sizeof(head);
}

const uint8_t *queue_front(const struct queue *queue, int *ret_kind)
{
	size_t at = front(queue);
	struct head head;

	if (at == queue->tail)
		return NULL;
	memcpy(&head, queue->bytes + at, sizeof(head));
	*ret_kind = head.kind;
	return queue->bytes + at + sizeof(head);
}

void queue_pop(struct queue *queue)
{
	size_t at = front(queue);
	struct head head;

	memcpy(&head, queue->bytes + at, sizeof(head));
	queue->head = at + head.size;
	if (queue->head == queue->tail)
		queue->head = queue->tail = 0;
}

size_t queue_used(const struct queue *queue)
{
	if (queue->tail >= queue->head)
		return queue->tail - queue->head;
	return queue->wrap - queue->head + queue->tail;
}
