/* SPDX-License-Identifier: MIT */
/*
 * Breadth-first search, one level a launch. The edges of node i are edges[first[i]] up to
 * edges[first[i + 1] - 1]. Work-items that reach the same node write the same value.
 */
#define UNREACHED 0xffffffffu

__kernel void bfs_start(__global uint *levels, __global uint *found, uint n, uint source)
{
	uint i = get_global_id(0);

	if (i < n) {
		levels[i] = i == source ? 0 : UNREACHED;
		found[i] = 0;
	}
}

__kernel void bfs_level(__global const uint *first, __global const uint *edges,
			__global uint *levels, __global uint *found, uint n, uint level)
{
	uint i = get_global_id(0);

	if (i >= n || levels[i] != level)
		return;
	for (uint e = first[i]; e < first[i + 1]; e++) {
		if (levels[edges[e]] == UNREACHED) {
			levels[edges[e]] = level + 1;
			found[level] = 1;
		}
	}
}
