/* SPDX-License-Identifier: MIT */
/* The functions that the layer calls: those of the next layer or of the loader. */
#ifndef COMPUTE_CL_TARGET_H
#define COMPUTE_CL_TARGET_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <string.h>

/* Written by clInitLayer(), constant afterwards. A function that the loader does not have is NULL.
 */
extern cl_icd_dispatch target;

/* Removes the parentheses of a macro argument. */
#define UNPACK(...) __VA_ARGS__

/* Replaces a function in the table of the layer, if the target has it. */
#define INSTALL(table, function, hook)            \
	do {                                      \
		if ((table)->function)            \
			(table)->function = hook; \
	} while (0)

/* Answers a query of the program with @n bytes of @from. */
static inline cl_int target_answer(const void *from, size_t n, size_t size, void *value,
				   size_t *ret_size)
{
	if (value && size < n)
		return CL_INVALID_VALUE;
	if (value && n > 0)
		memcpy(value, from, n);
	if (ret_size)
		*ret_size = n;
	return CL_SUCCESS;
}

/* Each file of hooks replaces its functions in @table, which is a copy of the target's. */
void submit_install(cl_icd_dispatch *table);
void kernel_install(cl_icd_dispatch *table);
void transfer_install(cl_icd_dispatch *table);
void memory_install(cl_icd_dispatch *table);

#endif
