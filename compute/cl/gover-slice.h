/* SPDX-License-Identifier: MIT */
/*
 * Kernel slicing for programs under libgover-cl.so whose kernels the layer cannot change: programs
 * from binaries or SPIR-V. The kernel gets one more argument of the type uint4, and the program
 * declares it. The layer then cuts long launches into parts, and sets the argument for each part:
 *
 *	s0, s1	the group number of the part's first work-group, in dimension 0 and 1
 *	s2, s3	the numbers of work-groups of the whole launch
 *
 * The kernel adds s0 and s1 to get_group_id(), and uses s2 and s3 instead of get_num_groups(). The
 * global number of a work-item in dimension 0 is
 *	(get_group_id(0) + slice.s0) * get_local_size(0) + get_local_id(0)
 *
 * The program itself sets the argument to { 0, 0, groups, groups }, with which it also runs without
 * the layer. It sets the size of work-groups at each launch. Only one thread at a time may launch
 * the same kernel object. SliVER (2023) 3.3 describes kernels with such arguments.
 */
#ifndef GOVER_SLICE_H
#define GOVER_SLICE_H

#include <CL/cl.h>

#define GOVER_SLICE_FUNCTION "clSetKernelSliceArgumentGOVER"

/*
 * Declares the argument @index of @kernel. Returns CL_SUCCESS, CL_INVALID_KERNEL or
 * CL_INVALID_ARG_INDEX; CL_INVALID_OPERATION without the layer.
 */
static inline cl_int gover_slice_declare(cl_platform_id platform, cl_kernel kernel, cl_uint index)
{
	typedef cl_int(CL_API_CALL * declare_fn)(cl_kernel, cl_uint);
	declare_fn declare = (declare_fn)clGetExtensionFunctionAddressForPlatform(
		platform, GOVER_SLICE_FUNCTION);

	return declare ? declare(kernel, index) : CL_INVALID_OPERATION;
}

#endif
