/* SPDX-License-Identifier: MIT */
/* A long kernel with little memory: each work-item takes steps of a linear congruence. */
__kernel void long_steps(__global const uint *seeds, __global uint *out, uint n, uint steps, uint salt)
{
	uint i = get_global_id(0);
	uint x;

	if (i >= n)
		return;
	x = seeds[i] + salt;
	for (uint step = 0; step < steps; step++)
		x = x * 1664525u + 1013904223u;
	out[i] = x;
}
