/* SPDX-License-Identifier: MIT */
/* C = A * B + salt on square matrices of n * n floats, by tiles of SIDE * SIDE in local memory. */
__kernel void matmul(__global const float *a, __global const float *b, __global float *c, uint n,
		     uint salt)
{
	__local float tile_a[SIDE][SIDE];
	__local float tile_b[SIDE][SIDE];
	uint x = get_local_id(0), y = get_local_id(1);
	uint column = get_group_id(0) * SIDE + x;
	uint row = get_group_id(1) * SIDE + y;
	float sum = 0.0f;

	for (uint first = 0; first < n; first += SIDE) {
		tile_a[y][x] = row < n && first + x < n ? a[row * n + first + x] : 0.0f;
		tile_b[y][x] = first + y < n && column < n ? b[(first + y) * n + column] : 0.0f;
		barrier(CLK_LOCAL_MEM_FENCE);
		for (uint k = 0; k < SIDE; k++)
			sum += tile_a[y][k] * tile_b[k][x];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (row < n && column < n)
		c[row * n + column] = sum + (float)(salt % 16);
}
