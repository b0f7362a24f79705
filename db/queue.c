/* SPDX-License-Identifier: MIT */
/*
 * Each list is a ring. An empty ring restarts at its first record, so that only a few pages are
 * used while the writer is fast. Unused pages need no memory.
 */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "db/queue.h"

void queue_init(struct queue *queue)
{
	for (int kind = 0; kind < RECORD_KINDS; kind++) {
		struct record_bounds bounds = record_bounds((enum record_kind)kind);

		queue->lists[kind] = (struct queue_list){
			.records = xmalloc(bounds.queued_max * bounds.size),
			.numbers = xmalloc(bounds.queued_max * sizeof(uint64_t)),
		};
	}
}

void queue_fini(struct queue *queue)
{
	for (int kind = 0; kind < RECORD_KINDS; kind++) {
		free(queue->lists[kind].records);
		free(queue->lists[kind].numbers);
	}
}

bool queue_push(struct queue *queue, enum record_kind kind, const void *record)
{
	struct record_bounds bounds = record_bounds(kind);
	struct queue_list *list = &queue->lists[kind];
	size_t at = (list->head + list->n) % bounds.queued_max;

	if (list->n == bounds.queued_max)
		return false;
	memcpy(list->records + at * bounds.size, record, bounds.size);
	list->numbers[at] = queue->pushed++;
	list->n++;
	return true;
}

const void *queue_front(const struct queue *queue, enum record_kind *ret_kind, size_t *ret_n)
{
	const struct queue_list *oldest = NULL;
	struct record_bounds bounds;
	size_t n = 1;

	for (int kind = 0; kind < RECORD_KINDS; kind++) {
		const struct queue_list *list = &queue->lists[kind];

		if (list->n == 0 ||
		    (oldest && list->numbers[list->head] > oldest->numbers[oldest->head]))
			continue;
		oldest = list;
		*ret_kind = (enum record_kind)kind;
	}
	if (!oldest)
		return NULL;
	bounds = record_bounds(*ret_kind);
	while (n < oldest->n && oldest->head + n < bounds.queued_max &&
	       oldest->numbers[oldest->head + n] == oldest->numbers[oldest->head] + n)
		n++;
	*ret_n = n;
	return oldest->records + oldest->head * bounds.size;
}

void queue_pop(struct queue *queue, enum record_kind kind, size_t n)
{
	struct queue_list *list = &queue->lists[kind];

	list->n -= n;
	list->head = list->n == 0 ? 0 : (list->head + n) % record_bounds(kind).queued_max;
}

bool queue_presses(const struct queue *queue)
{
	for (int kind = 0; kind < RECORD_KINDS; kind++) {
		if (queue->lists[kind].n > record_bounds((enum record_kind)kind).queued_max / 2)
			return true;
	}
	return false;
}
