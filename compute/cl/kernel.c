/* SPDX-License-Identifier: MIT */
/* Launches of kernels: the work units of the application. */
#include <stddef.h>

#include "compute/cl/slice-kind.h"
#include "compute/cl/slice.h"
#include "compute/cl/submit.h"
#include "compute/cl/target.h"

static uint64_t work_items(cl_uint dimensions, const size_t *global)
{
	uint64_t n = 1;

	if (dimensions > 3) /* an error, and @global may be shorter */
		return 0;
	for (cl_uint i = 0; global && i < dimensions; i++)
		n *= global[i];
	return n;
}

/* Apart from launch(), so that launch() needs no stack and jumps to the target. */
static __attribute__((noinline)) cl_int launch_in_turn(cl_command_queue queue, cl_kernel kernel,
						       cl_uint dimensions, const size_t *offset,
						       const size_t *global, const size_t *local,
						       cl_uint n, const cl_event *list,
						       cl_event *event)
{
	const struct slice_call call = {queue, kernel, dimensions, offset, global,
					local, n,      list,	   event,  slice_kind_id(kernel)};
	uint64_t items = work_items(dimensions, global);
	cl_int result;

	if (slice_is_wanted(&call, items) && slice_launch(&call, items, &result))
		return result;
	SUBMIT(queue, call.id, items, true, n, list, event,
	       target.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, n,
					     list, event));
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
				 const size_t *offset, const size_t *global, const size_t *local,
				 cl_uint n, const cl_event *list, cl_event *event)
{
	if (submit_passes_freely())
		return target.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global,
						     local, n, list, event);
	return launch_in_turn(queue, kernel, dimensions, offset, global, local, n, list, event);
}

static cl_int CL_API_CALL launch_task(cl_command_queue queue, cl_kernel kernel, cl_uint n,
				      const cl_event *list, cl_event *event)
{
	SUBMIT(queue, slice_kind_id(kernel), 1, true, n, list, event,
	       target.clEnqueueTask(queue, kernel, n, list, event));
}

/* A function of the program that runs on the device's queue: no work unit. */
static cl_int CL_API_CALL launch_native(cl_command_queue queue, void(CL_CALLBACK *function)(void *),
					void *arguments, size_t size, cl_uint n_memory,
					const cl_mem *memory, const void **locations, cl_uint n,
					const cl_event *list, cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_NATIVE, queue, size, n, list, event,
			target.clEnqueueNativeKernel(queue, function, arguments, size, n_memory,
						     memory, locations, n, list, event));
}

void kernel_install(cl_icd_dispatch *table)
{
	INSTALL(table, clEnqueueNDRangeKernel, launch);
	INSTALL(table, clEnqueueTask, launch_task);
	INSTALL(table, clEnqueueNativeKernel, launch_native);
}
