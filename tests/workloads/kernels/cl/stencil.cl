/* SPDX-License-Identifier: MIT */
/* One step of heat flow on a grid of n * n points: five points in, one out. The border is cold. */
static float at(__global const float *grid, int x, int y, int n)
{
	return x >= 0 && y >= 0 && x < n && y < n ? grid[y * n + x] : 0.0f;
}

__kernel void stencil(__global const float *from, __global float *to, int n, uint salt)
{
	int x = get_group_id(0) * get_local_size(0) + get_local_id(0);
	int y = get_group_id(1) * get_local_size(1) + get_local_id(1);
	float here = at(from, x, y, n);
	float around = at(from, x - 1, y, n) + at(from, x + 1, y, n) + at(from, x, y - 1, n) +
		       at(from, x, y + 1, n);
	float power = (x + y) % 8 == 0 ? 0.125f * (float)(salt % 8) : 0.0f;

	if (x < n && y < n)
		to[y * n + x] = here + 0.2f * (around - 4.0f * here) + power;
}
