/* SPDX-License-Identifier: MIT */
/*
 * Launches of kernels: the work units of the application. cl_khr_command_buffer, which the loader's
 * table does not contain, submits work too, and a command buffer counts as one work unit.
 * gover-slice.h is our own extension.
 */
#include <stddef.h>
#include <string.h>

#include "compute/cl/slice.h"
#include "compute/cl/submit.h"
#include "compute/cl/target.h"

#include "compute/cl/gover-slice.h" /* after target.h, which selects the version */

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
					local, n,      list,	   event,  slice_id(kernel)};
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
	SUBMIT(queue, slice_id(kernel), 1, true, n, list, event,
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

typedef cl_int(CL_API_CALL *enqueue_fn)(cl_uint n_queues, cl_command_queue *queues, void *commands,
					cl_uint n, const cl_event *list, cl_event *event);

/* The function of the last query. A function of the loader works for all platforms. */
static enqueue_fn enqueue_commands;

/* Counts on the first queue only: a command buffer of PoCL or NVIDIA has one queue. */
static cl_int CL_API_CALL launch_commands(cl_uint n_queues, cl_command_queue *queues,
					  void *commands, cl_uint n, const cl_event *list,
					  cl_event *event)
{
	enqueue_fn enqueue = __atomic_load_n(&enqueue_commands, __ATOMIC_ACQUIRE);
	struct submission s;

	/* Without queues, the command buffer uses those of its creation, which are not recorded. */
	if (n_queues == 0 || !queues ||
	    !submit_begin(&s, queues[0], commands, 0, true, n, list, event))
		return enqueue(n_queues, queues, commands, n, list, event);
	return submit_end(&s, enqueue(n_queues, queues, commands, n, list, s.event));
}

static void *replace(const char *name, void *found)
{
	if (!found && name && slice_is_on() && strcmp(name, GOVER_SLICE_FUNCTION) == 0)
		return (void *)slice_declare;
	if (!found || !name || strcmp(name, "clEnqueueCommandBufferKHR") != 0)
		return found;
	__atomic_store_n(&enqueue_commands, (enqueue_fn)found, __ATOMIC_RELEASE);
	return (void *)launch_commands;
}

static void *CL_API_CALL get_address(const char *name)
{
	return replace(name, target.clGetExtensionFunctionAddress(name));
}

static void *CL_API_CALL get_address_for(cl_platform_id platform, const char *name)
{
	return replace(name, target.clGetExtensionFunctionAddressForPlatform(platform, name));
}

void kernel_install(cl_icd_dispatch *table)
{
	INSTALL(table, clEnqueueNDRangeKernel, launch);
	INSTALL(table, clEnqueueTask, launch_task);
	INSTALL(table, clEnqueueNativeKernel, launch_native);
	INSTALL(table, clGetExtensionFunctionAddress, get_address);
	INSTALL(table, clGetExtensionFunctionAddressForPlatform, get_address_for);
}
