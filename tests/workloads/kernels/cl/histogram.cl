/* SPDX-License-Identifier: MIT */
/* A histogram of 256 bins, first in local memory of each work-group, then in global memory. */
__kernel void histogram_clear(__global uint *bins)
{
	if (get_global_id(0) < 256)
		bins[get_global_id(0)] = 0;
}

__kernel void histogram(__global const uint *in, __global uint *bins, uint n, uint salt)
{
	__local uint mine[256];

	for (uint i = get_local_id(0); i < 256; i += get_local_size(0))
		mine[i] = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint i = get_global_id(0); i < n; i += get_global_size(0))
		atomic_inc(&mine[(in[i] + salt) & 255]);
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint i = get_local_id(0); i < 256; i += get_local_size(0))
		atomic_add(&bins[i], mine[i]);
}
