/* SPDX-License-Identifier: MIT */
/* Heap sort of indices. */
#include "base/id.h"
#include "policy/sort.h"

static void sift_down(int *items, int n, int root, sort_before_fn *before, const void *context)
{
	for (int child = 2 * root + 1; child < n; child = 2 * root + 1) {
		int item = items[root];

		if (child + 1 < n && before(context, items[child], items[child + 1]))
			child++;
		if (!before(context, item, items[child]))
			return;
		items[root] = items[child];
		items[child] = item;
		root = child;
	}
}

void sort_indices(int *items, int n, sort_before_fn *before, const void *context)
{
	for (int root = n / 2 - 1; root >= 0; root--)
		sift_down(items, n, root, before, context);
	for (int last = n - 1; last > 0; last--) {
		int item = items[0];

		items[0] = items[last];
		items[last] = item;
		sift_down(items, last, 0, before, context);
	}
}

static bool id_before(const void *context, int a, int b)
{
	const struct policy_gpu *gpu = context;

	return id_compare(gpu->vgpus[a].id, gpu->vgpus[b].id) < 0;
}

void sort_by_id(const struct policy_gpu *gpu, int *vgpus, int n)
{
	sort_indices(vgpus, n, id_before, gpu);
}

void sort_all_by_id(const struct policy_gpu *gpu, int ret_vgpus[POLICY_VGPUS_MAX])
{
	for (int i = 0; i < gpu->n_vgpus; i++)
		ret_vgpus[i] = i;
	sort_by_id(gpu, ret_vgpus, gpu->n_vgpus);
}
