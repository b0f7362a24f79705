/* SPDX-License-Identifier: MIT */
/* The sum of n integers, modulo 2^32: a sum of each work-group, then of all by one work-group. */
static uint sum_group(__local uint *shared, uint value)
{
	uint me = get_local_id(0);

	shared[me] = value;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint width = LOCAL / 2; width > 0; width /= 2) {
		if (me < width)
			shared[me] += shared[me + width];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	return shared[0];
}

__kernel void reduce(__global const uint *in, __global uint *partial, uint n, uint salt)
{
	__local uint shared[LOCAL];
	uint step = get_num_groups(0) * LOCAL, sum = 0;

	for (uint i = get_group_id(0) * LOCAL + get_local_id(0); i < n; i += step)
		sum += in[i] * (2 * salt + 1);
	sum = sum_group(shared, sum);
	if (get_local_id(0) == 0)
		partial[get_group_id(0)] = sum;
}

__kernel void reduce_partial(__global const uint *partial, __global uint *total, uint n)
{
	__local uint shared[LOCAL];
	uint sum = 0;

	for (uint i = get_local_id(0); i < n; i += LOCAL)
		sum += partial[i];
	sum = sum_group(shared, sum);
	if (get_local_id(0) == 0)
		total[0] = sum;
}
