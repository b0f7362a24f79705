/* SPDX-License-Identifier: MIT */
/*
 * Functions of extensions that the loader's table does not contain: cl_khr_command_buffer submits
 * work, and a command buffer counts as one work unit, like a launch; gover-slice.h is our own.
 */
#include <stddef.h>
#include <string.h>

#include "compute/cl/slice-kernel.h"
#include "compute/cl/slice.h"
#include "compute/cl/submit.h"
#include "compute/cl/target.h"

#include "compute/cl/gover-slice.h" /* after target.h, which selects the version */

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
		return (void *)slice_kernel_declare;
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

void extension_install(cl_icd_dispatch *table)
{
	INSTALL(table, clGetExtensionFunctionAddress, get_address);
	INSTALL(table, clGetExtensionFunctionAddressForPlatform, get_address_for);
}
