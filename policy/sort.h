/* SPDX-License-Identifier: MIT */
/* Sorting a few indices in place: libc's qsort may allocate, and has no context for the comparison.
 */
#ifndef POLICY_SORT_H
#define POLICY_SORT_H

#include "policy/policy.h"

/* True where item @a stands before item @b; a strict total order. */
typedef bool (*sort_before_fn)(const void *context, int a, int b);

/* Sorts @n items, O(n log n). */
void sort_indices(int *items, int n, sort_before_fn before, const void *context);

/* Sorts @n indices of vGPUs by id. */
void sort_by_id(const struct policy_gpu *gpu, int *vgpus, int n);

#endif
