/* SPDX-License-Identifier: MIT */
/* A small kernel: one multiplication and one addition per element. */
__kernel void many(__global const uint *from, __global uint *to, uint n, uint value)
{
	uint i = get_global_id(0);

	if (i < n)
		to[i] = from[i] * 3 + value;
}
