/* SPDX-License-Identifier: MIT */
/*
 * Weighted max-min in whole steps. Each step goes to the entry with the smallest
 * (steps + 1/2) / weight (Webster's rule), so that rounding favours neither large nor small
 * weights.
 */
#include "base/id.h"
#include "policy/baseline/waterfill.h"

static bool goes_first(const struct waterfill_entry *a, const struct waterfill_entry *b)
{
	int64_t level_a = (2 * (int64_t)a->steps + 1) * b->weight;
	int64_t level_b = (2 * (int64_t)b->steps + 1) * a->weight;

	if (level_a != level_b)
		return level_a < level_b;
	if (!a->id || !b->id)
		return a->id != NULL;
	return id_compare(a->id, b->id) < 0;
}

int waterfill_allocate(struct waterfill_entry *fills, int n, int extra)
{
	int given = 0;

	while (given < extra) {
		struct waterfill_entry *lowest = NULL;

		for (int i = 0; i < n; i++)
			if (fills[i].steps < fills[i].limit &&
			    (!lowest || goes_first(&fills[i], lowest)))
				lowest = &fills[i];
		if (!lowest)
			break;
		lowest->steps++;
		given++;
	}
	return given;
}
