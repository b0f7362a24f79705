/* SPDX-License-Identifier: MIT */
/*
 * Heap sort of indices, and proportional division with limits, exact in integers. An entry whose
 * proportional part exceeds its limit gets its limit. The rest is divided among the other entries
 * in proportion to their weights. Each of these entries is below its limit after rounding down, so
 * it can take one more step.
 */
#include "base/id.h"
#include "policy/share.h"

/* Returns true if item @a precedes item @b. Must be a strict total order. */
typedef bool sort_before_fn(const void *context, int a, int b);

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

/* qsort() is not suitable: it may allocate memory, and its comparison function gets no context. */
static void sort_indices(int *items, int n, sort_before_fn *before, const void *context)
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

/* Orders entries by limit / weight, the level at which an entry reaches its limit. */
static bool fills_before(const void *context, int a, int b)
{
	const struct share *shares = context;
	int64_t level_a = shares[a].limit * shares[b].weight;
	int64_t level_b = shares[b].limit * shares[a].weight;

	return level_a != level_b ? level_a < level_b : id_compare(shares[a].id, shares[b].id) < 0;
}

static bool rounds_up_before(const void *context, int a, int b)
{
	const struct share *shares = context;

	return shares[a].rest != shares[b].rest ? shares[a].rest > shares[b].rest
						: id_compare(shares[a].id, shares[b].id) < 0;
}

int share_divide(struct share *shares, int n, int total)
{
	int order[POLICY_VGPUS_MAX];
	int64_t weight = 0;
	int limit = 0, left, odd, full;

	for (int i = 0; i < n; i++) {
		order[i] = i;
		shares[i].steps = 0;
		weight += shares[i].weight;
		limit += shares[i].limit;
	}
	if (total > limit)
		total = limit;
	if (total <= 0)
		return 0;

	left = total;
	sort_indices(order, n, fills_before, shares);
	for (full = 0; full < n; full++) {
		struct share *share = &shares[order[full]];

		if (left * share->weight < share->limit * weight)
			break;
		share->steps = share->limit;
		left -= share->limit;
		weight -= share->weight;
	}
	odd = left;
	for (int i = full; i < n; i++) {
		struct share *share = &shares[order[i]];

		share->steps = (int)(left * share->weight / weight);
		share->rest = left * share->weight % weight;
		odd -= share->steps;
	}
	sort_indices(order + full, n - full, rounds_up_before, shares);
	for (int i = full; i < full + odd; i++)
		shares[order[i]].steps++;
	return total;
}
