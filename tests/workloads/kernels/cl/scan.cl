/* SPDX-License-Identifier: MIT */
/*
 * Inclusive prefix sums of n integers in three launches: within each work-group, of the sums of the
 * work-groups (by one work-group), and the addition of both.
 */
static uint scan_group(__local uint *shared, uint value)
{
	uint me = get_local_id(0);

	shared[me] = value;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint reach = 1; reach < LOCAL; reach *= 2) {
		uint left = me >= reach ? shared[me - reach] : 0;

		barrier(CLK_LOCAL_MEM_FENCE);
		shared[me] += left;
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	return shared[me];
}

__kernel void scan_groups(__global const uint *in, __global uint *out, __global uint *sums, uint n,
			  uint salt)
{
	__local uint shared[LOCAL];
	uint i = get_group_id(0) * LOCAL + get_local_id(0);
	uint sum = scan_group(shared, i < n ? in[i] + salt % 16 : 0);

	if (i < n)
		out[i] = sum;
	if (get_local_id(0) == LOCAL - 1)
		sums[get_group_id(0)] = sum;
}

__kernel void scan_sums(__global uint *sums, uint groups)
{
	__local uint shared[LOCAL];
	uint carry = 0;

	for (uint first = 0; first < groups; first += LOCAL) {
		uint i = first + get_local_id(0);
		uint sum = carry + scan_group(shared, i < groups ? sums[i] : 0);

		if (i < groups)
			sums[i] = sum;
		carry += shared[LOCAL - 1];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
}

__kernel void scan_add(__global uint *out, __global const uint *sums, uint n)
{
	uint i = get_global_id(0);

	if (i < n && get_group_id(0) > 0)
		out[i] += sums[get_group_id(0) - 1];
}
