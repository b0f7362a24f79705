/* SPDX-License-Identifier: MIT */
/* The acceleration of n bodies (x, y, z, mass) by each other, tile by tile in local memory. */
__kernel void nbody(__global const float4 *bodies, __global float4 *acceleration, uint n, uint salt)
{
	__local float4 tile[LOCAL];
	uint me = get_local_id(0);
	uint i = get_group_id(0) * LOCAL + me;
	float4 mine = i < n ? bodies[i] : (float4)(0.0f);
	float softening = 0.01f * (float)(1 + salt % 4);
	float3 sum = (float3)(0.0f);

	for (uint t = 0; t < get_num_groups(0); t++) {
		tile[me] = t * LOCAL + me < n ? bodies[t * LOCAL + me] : (float4)(0.0f);
		barrier(CLK_LOCAL_MEM_FENCE);
		for (uint k = 0; k < LOCAL; k++) {
			float3 d = tile[k].xyz - mine.xyz;
			float inverse = rsqrt(d.x * d.x + d.y * d.y + d.z * d.z + softening);

			sum += d * (tile[k].w * inverse * inverse * inverse);
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (i < n)
		acceleration[i] = (float4)(sum, 0.0f);
}
