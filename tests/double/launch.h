/* SPDX-License-Identifier: MIT */
/*
 * A launch of a kernel: its size, its time and a copy of its arguments. Kernels with certain names
 * and arguments compute results when the launch completes; all others only take time.
 *	kernel void double_fill(global uint *out, uint value, ...)	out[i] = value
 *	kernel void double_copy(global uint *out, global uint *in, ...)	out[i] = in[i]
 *	kernel void double_add(global uint *out, global uint *a, global uint *b, ...)
 *	kernel void double_increment(global uint *out, ...)		out[i]++
 *	kernel void double_ids(global ulong *out, ...)	out[6 * n + 0..5] = the three global and the
 *							three group indices of item n
 * i is get_global_id(0). n counts the items of the launch with dimension 0 fastest. An item outside
 * of a buffer does nothing.
 */
#ifndef TESTS_DOUBLE_LAUNCH_H
#define TESTS_DOUBLE_LAUNCH_H

#include "tests/double/object.h"

#define LAUNCH_GROUP 1024 /* the most work-items of a work-group */

struct range {
	cl_uint dimensions;
	size_t offset[3], global[3], local[3]; /* 0, 1, 1 beyond the dimensions */
};

struct launch {
	cl_kernel kernel; /* held */
	struct range range;
	uint64_t ns;
	struct argument *arguments; /* a copy; holds its buffers */
};

/* Copies the arguments of @kernel. Returns CL_SUCCESS, or the error of clEnqueueNDRangeKernel(). */
cl_int launch_new(cl_kernel kernel, const struct range *range, struct launch **ret_launch);
void launch_free(struct launch *launch);

/* Applies the results to memory. */
void launch_run(const struct launch *launch);

#endif
