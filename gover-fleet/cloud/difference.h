/* SPDX-License-Identifier: MIT */
/* Compares the wanted state of a GPU with its provider in Placement. Pure. */
#ifndef GOVER_FLEET_CLOUD_DIFFERENCE_H
#define GOVER_FLEET_CLOUD_DIFFERENCE_H

#include <stdbool.h>

#include "gover-fleet/cloud/placement.h"
#include "gover-fleet/model/wanted.h"

/* What a provider contains, all read at one generation. */
struct seen {
	struct placement_inventories inventories;
	struct placement_traits traits;
	struct placement_usages usages;
};

/* The content that a provider must get. The generations are not set. */
struct difference {
	struct placement_inventories inventories;
	struct placement_traits traits;
	bool write_inventories, write_traits;
	/*
	 * True: write the traits before the inventories. The write that stops sales comes first, so
	 * that no slot is schedulable in between.
	 */
	bool traits_first;
};

/*
 * Computes the difference. @wanted NULL: the GPU is not wanted, and no slot of it may be sold. A
 * class that is not wanted is removed, or reserved as a whole while it has allocations. Traits of
 * others are kept. Returns 0, or -E2BIG if there are too many classes or traits, or a total above
 * PLACEMENT_TOTAL_MAX.
 */
int difference_compute(const struct wanted_gpu *wanted, const struct seen *seen,
		       struct difference *ret_difference);

/*
 * Returns the index of the only class in @difference->inventories that differs from @seen, or -1:
 * several classes differ, or one was added or removed.
 */
int difference_only_class(const struct difference *difference, const struct seen *seen);

/* Like difference_compute(), but keeps the traits, and sets each total to the allocated units. */
void difference_withdraw(const struct seen *seen, struct difference *ret_difference);

#endif
