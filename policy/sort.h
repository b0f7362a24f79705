/* SPDX-License-Identifier: MIT */
/* Sorts indices in place. qsort() is not suitable: it may allocate memory, and its comparison
 * function gets no context pointer. */
#ifndef POLICY_SORT_H
#define POLICY_SORT_H

#include "policy/policy.h"

/* Returns true if item @a precedes item @b. Must be a strict total order. */
typedef bool sort_before_fn(const void *context, int a, int b);

/* O(n log n) */
void sort_indices(int *items, int n, sort_before_fn *before, const void *context);

/* Sorts @n indices of vGPUs by id. */
void sort_by_id(const struct policy_gpu *gpu, int *vgpus, int n);

/* Sets @ret_vgpus to the indices of all vGPUs, sorted by id. */
void sort_all_by_id(const struct policy_gpu *gpu, int ret_vgpus[POLICY_VGPUS_MAX]);

#endif
