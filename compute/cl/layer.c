/* SPDX-License-Identifier: MIT */
/*
 * libgover-cl.so: an OpenCL layer (OPENCL_LAYERS) that holds submissions back until the program has
 * a turn, and counts finished work units and device time. Functions without a hook are those of the
 * target. Results, errors and events are those of the target.
 */
#include <stddef.h>
#include <string.h>

#include "compute/cl/slice.h"
#include "compute/cl/submit.h"
#include "compute/cl/target.h"
#include "compute/tenant/gate.h"
#include "compute/tenant/link.h"

#define EXPORT	   __attribute__((visibility("default")))
#define LAYER_NAME "gover"
#define ENTRY_SIZE sizeof(void *)

cl_icd_dispatch target;
static cl_icd_dispatch layer;

EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value,
						      size_t *ret_size)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

	if (name == CL_LAYER_API_VERSION)
		return target_answer(&version, sizeof(version), size, value, ret_size);
	if (name == CL_LAYER_NAME)
		return target_answer(LAYER_NAME, sizeof(LAYER_NAME), size, value, ret_size);
	return CL_INVALID_VALUE;
}

/* The program does not notice that a queue measures times, or that a launch has parts. */
static cl_int CL_API_CALL get_profiling_info(cl_event event, cl_profiling_info name, size_t size,
					     void *value, size_t *ret_size)
{
	cl_command_queue handle = NULL;
	const struct queue *queue;

	if (target.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(handle), &handle, NULL) ==
	    CL_SUCCESS) {
		queue = submit_find_queue(handle);
		if (queue && !queue->profiled)
			return CL_PROFILING_INFO_NOT_AVAILABLE;
	}
	return target.clGetEventProfilingInfo(slice_timed_event(event, name), name, size, value,
					      ret_size);
}

static void install(const struct tenant_setup *setup)
{
	submit_install(&layer);
	INSTALL(&layer, clGetEventProfilingInfo, get_profiling_info);
	kernel_install(&layer);
	transfer_install(&layer);
	memory_install(&layer);
	if (setup->slice)
		slice_install(&layer);
}

EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries,
						   const cl_icd_dispatch *target_dispatch,
						   cl_uint *ret_entries,
						   const cl_icd_dispatch **ret_dispatch)
{
	size_t size = sizeof(target);
	struct tenant_setup setup;

	if (!target_dispatch || !ret_entries || !ret_dispatch)
		return CL_INVALID_VALUE;
	/* A loader of an earlier version has fewer entries. */
	if (entries < size / ENTRY_SIZE)
		size = entries * ENTRY_SIZE;
	memcpy(&target, target_dispatch, size);
	layer = target;
	tenant_setup_read(&setup);
	if (!setup.off && link_setup(&setup)) {
		gate_setup(submit_tend);
		slice_setup(&setup);
		install(&setup);
	}
	*ret_entries = (cl_uint)(size / ENTRY_SIZE);
	*ret_dispatch = &layer;
	return CL_SUCCESS;
}
