/* SPDX-License-Identifier: MIT */
/* A ring of decisions, ascending by id. Must never grow: the oldest gives its place to the newest.
 */
#include <stdlib.h>

#include "gover-d/decisions.h"

struct decisions {
	int64_t last_id;
	size_t first, n; /* in ring: the oldest, how many */
	struct decision ring[DECISIONS_KEPT];
};

struct decisions *decisions_new(int64_t last_id)
{
	/* Pages of it that were never filled cost no memory. */
	struct decisions *decisions = calloc(1, sizeof(*decisions));

	if (decisions)
		decisions->last_id = last_id;
	return decisions;
}

static size_t slot(const struct decisions *decisions, size_t index)
{
	return (decisions->first + index) % DECISIONS_KEPT;
}

static void drop_oldest(struct decisions *decisions)
{
	json_decref(decisions->ring[decisions->first].numbers);
	json_decref(decisions->ring[decisions->first].moves);
	decisions->first = slot(decisions, 1);
	decisions->n--;
}

struct decisions *decisions_free(struct decisions *decisions)
{
	if (!decisions)
		return NULL;
	while (decisions->n > 0)
		drop_oldest(decisions);
	free(decisions);
	return NULL;
}

const struct decision *decisions_add(struct decisions *decisions, const struct decision *decision)
{
	struct decision *kept;

	if (decisions->n == DECISIONS_KEPT)
		drop_oldest(decisions);
	kept = &decisions->ring[slot(decisions, decisions->n++)];
	*kept = *decision;
	if (kept->id <= decisions->last_id)
		kept->id = decisions->last_id + 1;
	decisions->last_id = kept->id;
	return kept;
}

const struct decision *decisions_after(const struct decisions *decisions, int64_t after)
{
	size_t low = 0, high = decisions->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (decisions->ring[slot(decisions, middle)].id <= after)
			low = middle + 1;
		else
			high = middle;
	}
	return low < decisions->n ? &decisions->ring[slot(decisions, low)] : NULL;
}

int64_t decisions_last_id(const struct decisions *decisions)
{
	return decisions->last_id;
}

void decisions_go_on_after(struct decisions *decisions, int64_t last_id)
{
	if (decisions->last_id < last_id)
		decisions->last_id = last_id;
}
