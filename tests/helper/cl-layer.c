/* SPDX-License-Identifier: MIT */
/*
 * An OpenCL layer for the loader of Debian (OPENCL_LAYERS). It forwards every call. The variable
 * CL_LAYER_MISTAKE selects one mistake of a bad layer, which the conformance test must notice.
 * A program ends with status 9 if the mistake does not exist.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Many mistakes ignore a parameter. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The parameters of a launch, which many mistakes change, and the same as arguments. */
#define LAUNCH_PARAMETERS                                                                   \
	cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, \
		const size_t *global, const size_t *local, cl_uint n, const cl_event *list, \
		cl_event *event
#define LAUNCH_ARGUMENTS queue, kernel, dimensions, offset, global, local, n, list, event

#define CALLBACK_PARAMETERS \
	cl_event event, cl_int kind, void(CL_CALLBACK * call)(cl_event, cl_int, void *), void *data

static const cl_icd_dispatch *next; /* the functions behind the layer */
static cl_icd_dispatch table;

/* --- calls that wait, and calls that must not --- */

static void *map_early(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
		       size_t offset, size_t size, cl_uint n, const cl_event *list, cl_event *event,
		       cl_int *ret_error)
{
	return next->clEnqueueMapBuffer(queue, buffer, CL_FALSE, flags, offset, size, n, list,
					event, ret_error);
}

static void *map_blocks(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
			size_t offset, size_t size, cl_uint n, const cl_event *list,
			cl_event *event, cl_int *ret_error)
{
	return next->clEnqueueMapBuffer(queue, buffer, CL_TRUE, flags, offset, size, n, list, event,
					ret_error);
}

static cl_int read_early(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
			 size_t size, void *to, cl_uint n, const cl_event *list, cl_event *event)
{
	return next->clEnqueueReadBuffer(queue, buffer, CL_FALSE, offset, size, to, n, list, event);
}

static cl_int read_blocks(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
			  size_t size, void *to, cl_uint n, const cl_event *list, cl_event *event)
{
	return next->clEnqueueReadBuffer(queue, buffer, CL_TRUE, offset, size, to, n, list, event);
}

static cl_int read_rect_early(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
			      const size_t *origin, const size_t *host_origin, const size_t *region,
			      size_t row, size_t slice, size_t host_row, size_t host_slice,
			      void *to, cl_uint n, const cl_event *list, cl_event *event)
{
	return next->clEnqueueReadBufferRect(queue, buffer, CL_FALSE, origin, host_origin, region,
					     row, slice, host_row, host_slice, to, n, list, event);
}

static cl_int svm_map_early(cl_command_queue queue, cl_bool blocking, cl_map_flags flags,
			    void *memory, size_t size, cl_uint n, const cl_event *list,
			    cl_event *event)
{
	return next->clEnqueueSVMMap(queue, CL_FALSE, flags, memory, size, n, list, event);
}

static cl_int svm_copy_early(cl_command_queue queue, cl_bool blocking, void *to, const void *from,
			     size_t size, cl_uint n, const cl_event *list, cl_event *event)
{
	return next->clEnqueueSVMMemcpy(queue, CL_FALSE, to, from, size, n, list, event);
}

static cl_int image_read_early(cl_command_queue queue, cl_mem image, cl_bool blocking,
			       const size_t *origin, const size_t *region, size_t row, size_t slice,
			       void *to, cl_uint n, const cl_event *list, cl_event *event)
{
	return next->clEnqueueReadImage(queue, image, CL_FALSE, origin, region, row, slice, to, n,
					list, event);
}

static cl_int finish_early(cl_command_queue queue)
{
	return next->clFlush(queue);
}

static cl_int wait_early(cl_uint n, const cl_event *list)
{
	return n == 0 || !list || !list[0] ? next->clWaitForEvents(n, list) : CL_SUCCESS;
}

static cl_int flush_blocks(cl_command_queue queue)
{
	return next->clFinish(queue);
}

/* --- error codes --- */

static cl_int error_dropped(LAUNCH_PARAMETERS)
{
	(void)next->clEnqueueNDRangeKernel(LAUNCH_ARGUMENTS);
	return CL_SUCCESS;
}

static cl_int error_changed(LAUNCH_PARAMETERS)
{
	cl_int error = next->clEnqueueNDRangeKernel(LAUNCH_ARGUMENTS);

	return error == CL_SUCCESS ? error : CL_OUT_OF_RESOURCES;
}

static cl_int argument_error_dropped(cl_kernel kernel, cl_uint index, size_t size,
				     const void *value)
{
	(void)next->clSetKernelArg(kernel, index, size, value);
	return CL_SUCCESS;
}

static cl_int argument_error_ends(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
	cl_int error = next->clSetKernelArg(kernel, index, size, value);

	if (error != CL_SUCCESS)
		_exit(1);
	return error;
}

/* --- launches --- */

/* The events of lost launches are those of markers, so that nothing waits for ever. */
static cl_int launches_lost(LAUNCH_PARAMETERS)
{
	static atomic_uint launches;

	if (atomic_fetch_add(&launches, 1) > 0)
		return next->clEnqueueMarkerWithWaitList(queue, n, list, event);
	return next->clEnqueueNDRangeKernel(LAUNCH_ARGUMENTS);
}

static cl_int wait_list_ignored(LAUNCH_PARAMETERS)
{
	return next->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, 0,
					    NULL, event);
}

static cl_int offset_lost(LAUNCH_PARAMETERS)
{
	return next->clEnqueueNDRangeKernel(queue, kernel, dimensions, NULL, global, local, n, list,
					    event);
}

static cl_int local_size_lost(LAUNCH_PARAMETERS)
{
	return next->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, NULL, n,
					    list, event);
}

/* The second half of the work-groups runs as a launch of its own, with a plain offset. */
static cl_int sliced_plainly(LAUNCH_PARAMETERS)
{
	size_t first[3], second[3], start[3];
	cl_int error;

	if (!queue || !local || dimensions < 1 || dimensions > 3 || global[0] < 2 * local[0] ||
	    global[0] % local[0] != 0)
		return next->clEnqueueNDRangeKernel(LAUNCH_ARGUMENTS);
	memcpy(first, global, dimensions * sizeof(size_t));
	memcpy(second, global, dimensions * sizeof(size_t));
	memset(start, 0, sizeof(start));
	if (offset)
		memcpy(start, offset, dimensions * sizeof(size_t));
	first[0] = global[0] / local[0] / 2 * local[0];
	second[0] = global[0] - first[0];
	error = next->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, first, local, n,
					     list, NULL);
	start[0] += first[0];
	return error != CL_SUCCESS ? error
				   : next->clEnqueueNDRangeKernel(queue, kernel, dimensions, start,
								  second, local, n, list, event);
}

/* The event is that of a marker in front of the launch. */
static cl_int event_swapped(LAUNCH_PARAMETERS)
{
	cl_int error = CL_SUCCESS;

	if (event)
		error = next->clEnqueueMarkerWithWaitList(queue, 0, NULL, event);
	return error != CL_SUCCESS ? error
				   : next->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset,
								  global, local, n, list, NULL);
}

static cl_int event_leaked(LAUNCH_PARAMETERS)
{
	cl_int error = next->clEnqueueNDRangeKernel(LAUNCH_ARGUMENTS);

	if (error == CL_SUCCESS && event)
		(void)next->clRetainEvent(*event);
	return error;
}

/* A layer with one queue for all contexts. */
static cl_int one_queue(LAUNCH_PARAMETERS)
{
	static _Atomic(cl_command_queue) first;
	cl_command_queue none = NULL;

	if (queue && atomic_compare_exchange_strong(&first, &none, queue))
		(void)next->clRetainCommandQueue(queue);
	return next->clEnqueueNDRangeKernel(queue ? atomic_load(&first) : NULL, kernel, dimensions,
					    offset, global, local, n, list, event);
}

/* --- launches that wait in the layer until the next call on any queue --- */

static struct held {
	cl_command_queue queue;
	cl_kernel kernel;
	size_t global;
} held;

static void hold(cl_command_queue queue, cl_kernel kernel, size_t global)
{
	(void)next->clRetainKernel(kernel);
	held = (struct held){queue, kernel, global};
}

static void submit_held(void)
{
	if (!held.kernel)
		return;
	(void)next->clEnqueueNDRangeKernel(held.queue, held.kernel, 1, NULL, &held.global, NULL, 0,
					   NULL, NULL);
	(void)next->clReleaseKernel(held.kernel);
	held.kernel = NULL;
}

/* Arguments are not captured when the launch is enqueued. */
static cl_int held_launch(LAUNCH_PARAMETERS)
{
	submit_held();
	if (!queue || !kernel || dimensions != 1 || offset || local || n > 0 || event)
		return next->clEnqueueNDRangeKernel(LAUNCH_ARGUMENTS);
	hold(queue, kernel, global[0]);
	return CL_SUCCESS;
}

static cl_int held_finish(cl_command_queue queue)
{
	submit_held();
	return next->clFinish(queue);
}

/* Work is lost if the queue is released. The event is that of a marker, which is not lost. */
static cl_int lost_launch(LAUNCH_PARAMETERS)
{
	if (!queue || dimensions != 1 || offset || local || n > 0 || !event)
		return next->clEnqueueNDRangeKernel(LAUNCH_ARGUMENTS);
	submit_held();
	hold(queue, kernel, global[0]);
	return next->clEnqueueMarkerWithWaitList(queue, 0, NULL, event);
}

static cl_int lost_release(cl_command_queue queue)
{
	if (held.queue == queue)
		held.kernel = NULL;
	return next->clReleaseCommandQueue(queue);
}

/* A layer that keeps the last value of argument 1 for all threads. */
static atomic_int shared_value;

static cl_int shared_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
	if (index == 1 && size == sizeof(cl_int) && value)
		atomic_store(&shared_value, *(const cl_int *)value);
	return next->clSetKernelArg(kernel, index, size, value);
}

static cl_int shared_launch(LAUNCH_PARAMETERS)
{
	cl_int value = atomic_load(&shared_value);

	if (kernel)
		(void)next->clSetKernelArg(kernel, 1, sizeof(value), &value);
	return next->clEnqueueNDRangeKernel(LAUNCH_ARGUMENTS);
}

static cl_kernel clone_shared(cl_kernel kernel, cl_int *ret_error)
{
	cl_int error = next->clRetainKernel(kernel);

	if (ret_error)
		*ret_error = error;
	return error == CL_SUCCESS ? kernel : NULL;
}

/* --- events --- */

static cl_int callback_lost(CALLBACK_PARAMETERS)
{
	if (!event || !call)
		return next->clSetEventCallback(event, kind, call, data);
	return CL_SUCCESS;
}

static cl_int callback_early(CALLBACK_PARAMETERS)
{
	if (!event || !call)
		return next->clSetEventCallback(event, kind, call, data);
	call(event, kind, data);
	return CL_SUCCESS;
}

static cl_int callback_twice(CALLBACK_PARAMETERS)
{
	(void)next->clSetEventCallback(event, kind, call, data);
	return next->clSetEventCallback(event, kind, call, data);
}

static cl_int user_error_hidden(cl_event event, cl_int status)
{
	return next->clSetUserEventStatus(event, status < 0 ? CL_COMPLETE : status);
}

static cl_int copy_list_ignored(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
				size_t to_offset, size_t size, cl_uint n, const cl_event *list,
				cl_event *event)
{
	return next->clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, size, 0, NULL,
					 event);
}

static cl_command_queue profiling_lost(cl_context context, cl_device_id device,
				       cl_command_queue_properties properties, cl_int *ret_error)
{
	properties &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	return next->clCreateCommandQueue(context, device, properties, ret_error);
}

static cl_command_queue out_of_order_lost(cl_context context, cl_device_id device,
					  cl_command_queue_properties properties, cl_int *ret_error)
{
	properties &= ~(cl_command_queue_properties)CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
	return next->clCreateCommandQueue(context, device, properties, ret_error);
}

/* A marker with its wait list only, instead of a barrier, lets later commands overtake. */
static cl_int barrier_lost(cl_command_queue queue, cl_uint n, const cl_event *list, cl_event *event)
{
	return next->clEnqueueMarkerWithWaitList(queue, n, list, event);
}

/* --- buffers --- */

static cl_mem sub_buffer_moved(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type,
			       const void *info, cl_int *ret_error)
{
	cl_buffer_region region;

	if (!buffer || !info || type != CL_BUFFER_CREATE_TYPE_REGION)
		return next->clCreateSubBuffer(buffer, flags, type, info, ret_error);
	memcpy(&region, info, sizeof(region));
	region.origin = 0;
	return next->clCreateSubBuffer(buffer, flags, type, &region, ret_error);
}

static cl_int fill_of_bytes(cl_command_queue queue, cl_mem buffer, const void *pattern,
			    size_t pattern_size, size_t offset, size_t size, cl_uint n,
			    const cl_event *list, cl_event *event)
{
	return next->clEnqueueFillBuffer(queue, buffer, pattern, 1, offset, size, n, list, event);
}

static cl_int copy_moved(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
			 size_t to_offset, size_t size, cl_uint n, const cl_event *list,
			 cl_event *event)
{
	return next->clEnqueueCopyBuffer(queue, from, to, from_offset, from_offset, size, n, list,
					 event);
}

static cl_int rows_lost(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
			const size_t *to_origin, const size_t *region, size_t from_row,
			size_t from_slice, size_t to_row, size_t to_slice, cl_uint n,
			const cl_event *list, cl_event *event)
{
	return next->clEnqueueCopyBufferRect(queue, from, to, from_origin, to_origin, region, 0,
					     from_slice, 0, to_slice, n, list, event);
}

static cl_int destructor_lost(cl_mem buffer, void(CL_CALLBACK *call)(cl_mem, void *), void *data)
{
	return CL_SUCCESS;
}

/* --- programs and queries --- */

/* A preamble that shifts the lines and that the query of the source returns. */
static cl_program source_changed(cl_context context, cl_uint n, const char **texts,
				 const size_t *sizes, cl_int *ret_error)
{
	const char *longer[9] = {"/* a preamble */\n"};

	if (n == 0 || n > 8 || !texts || !texts[0] || sizes)
		return next->clCreateProgramWithSource(context, n, texts, sizes, ret_error);
	memcpy(longer + 1, texts, n * sizeof(texts[0]));
	return next->clCreateProgramWithSource(context, n + 1, longer, NULL, ret_error);
}

static cl_int log_lost(cl_program program, cl_device_id device, cl_program_build_info name,
		       size_t size, void *value, size_t *ret_size)
{
	cl_int error = next->clGetProgramBuildInfo(program, device, name, size, value, ret_size);

	if (error == CL_SUCCESS && name == CL_PROGRAM_BUILD_LOG && value && size > 0)
		*(char *)value = '\0';
	return error;
}

static cl_int options_changed(cl_program program, cl_uint n, const cl_device_id *devices,
			      const char *options, void(CL_CALLBACK *call)(cl_program, void *),
			      void *data)
{
	char longer[512];

	(void)snprintf(longer, sizeof(longer), "%s -DOPTIONS_OF_LAYER", options ? options : "");
	return next->clBuildProgram(program, n, devices, longer, call, data);
}

static cl_int build_callback_lost(cl_program program, cl_uint n, const cl_device_id *devices,
				  const char *options, void(CL_CALLBACK *call)(cl_program, void *),
				  void *data)
{
	if (!call)
		return next->clBuildProgram(program, n, devices, options, NULL, data);
	return next->clBuildProgram(program, n, devices, options, NULL, NULL);
}

static cl_kernel kernel_leaked(cl_program program, const char *name, cl_int *ret_error)
{
	cl_kernel kernel = next->clCreateKernel(program, name, ret_error);

	if (kernel)
		(void)next->clRetainKernel(kernel);
	return kernel;
}

static cl_int memory_hidden(cl_device_id device, cl_device_info name, size_t size, void *value,
			    size_t *ret_size)
{
	cl_int error = next->clGetDeviceInfo(device, name, size, value, ret_size);
	cl_ulong bytes;

	if (error == CL_SUCCESS && name == CL_DEVICE_LOCAL_MEM_SIZE && value) {
		memcpy(&bytes, value, sizeof(bytes));
		bytes /= 2;
		memcpy(value, &bytes, sizeof(bytes));
	}
	return error;
}

/* A row replaces one function of the table. A mistake can have several rows. */
static const struct {
	const char *name;
	size_t offset; /* of the member of cl_icd_dispatch */
	void (*function)(void);
} mistakes[] = {
#define MISTAKE(name, member, function)                                           \
	{                                                                         \
		name, offsetof(cl_icd_dispatch, member), (void (*)(void))function \
	}
	MISTAKE("map-early", clEnqueueMapBuffer, map_early),
	MISTAKE("map-blocks", clEnqueueMapBuffer, map_blocks),
	MISTAKE("read-early", clEnqueueReadBuffer, read_early),
	MISTAKE("read-blocks", clEnqueueReadBuffer, read_blocks),
	MISTAKE("read-rect-early", clEnqueueReadBufferRect, read_rect_early),
	MISTAKE("svm-map-early", clEnqueueSVMMap, svm_map_early),
	MISTAKE("svm-copy-early", clEnqueueSVMMemcpy, svm_copy_early),
	MISTAKE("image-read-early", clEnqueueReadImage, image_read_early),
	MISTAKE("finish-early", clFinish, finish_early),
	MISTAKE("wait-early", clWaitForEvents, wait_early),
	MISTAKE("flush-blocks", clFlush, flush_blocks),
	MISTAKE("error-dropped", clEnqueueNDRangeKernel, error_dropped),
	MISTAKE("error-changed", clEnqueueNDRangeKernel, error_changed),
	MISTAKE("argument-error-dropped", clSetKernelArg, argument_error_dropped),
	MISTAKE("argument-error-ends", clSetKernelArg, argument_error_ends),
	MISTAKE("launches-lost", clEnqueueNDRangeKernel, launches_lost),
	MISTAKE("wait-list-ignored", clEnqueueNDRangeKernel, wait_list_ignored),
	MISTAKE("offset-lost", clEnqueueNDRangeKernel, offset_lost),
	MISTAKE("local-size-lost", clEnqueueNDRangeKernel, local_size_lost),
	MISTAKE("sliced-plainly", clEnqueueNDRangeKernel, sliced_plainly),
	MISTAKE("event-swapped", clEnqueueNDRangeKernel, event_swapped),
	MISTAKE("event-leaked", clEnqueueNDRangeKernel, event_leaked),
	MISTAKE("one-queue", clEnqueueNDRangeKernel, one_queue),
	MISTAKE("arguments-late", clEnqueueNDRangeKernel, held_launch),
	MISTAKE("arguments-late", clFinish, held_finish),
	MISTAKE("release-drops-work", clEnqueueNDRangeKernel, lost_launch),
	MISTAKE("release-drops-work", clReleaseCommandQueue, lost_release),
	MISTAKE("arguments-shared", clSetKernelArg, shared_argument),
	MISTAKE("arguments-shared", clEnqueueNDRangeKernel, shared_launch),
	MISTAKE("clone-shared", clCloneKernel, clone_shared),
	MISTAKE("callback-lost", clSetEventCallback, callback_lost),
	MISTAKE("callback-early", clSetEventCallback, callback_early),
	MISTAKE("callback-twice", clSetEventCallback, callback_twice),
	MISTAKE("user-error-hidden", clSetUserEventStatus, user_error_hidden),
	MISTAKE("copy-list-ignored", clEnqueueCopyBuffer, copy_list_ignored),
	MISTAKE("profiling-lost", clCreateCommandQueue, profiling_lost),
	MISTAKE("out-of-order-lost", clCreateCommandQueue, out_of_order_lost),
	MISTAKE("barrier-lost", clEnqueueBarrierWithWaitList, barrier_lost),
	MISTAKE("sub-buffer-moved", clCreateSubBuffer, sub_buffer_moved),
	MISTAKE("fill-of-bytes", clEnqueueFillBuffer, fill_of_bytes),
	MISTAKE("copy-moved", clEnqueueCopyBuffer, copy_moved),
	MISTAKE("rows-lost", clEnqueueCopyBufferRect, rows_lost),
	MISTAKE("destructor-lost", clSetMemObjectDestructorCallback, destructor_lost),
	MISTAKE("source-changed", clCreateProgramWithSource, source_changed),
	MISTAKE("log-lost", clGetProgramBuildInfo, log_lost),
	MISTAKE("options-changed", clBuildProgram, options_changed),
	MISTAKE("build-callback-lost", clBuildProgram, build_callback_lost),
	MISTAKE("kernel-leaked", clCreateKernel, kernel_leaked),
	MISTAKE("memory-hidden", clGetDeviceInfo, memory_hidden),
};

/* --- the layer --- */

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value,
					       size_t *ret_size)
{
	static const char layer_name[] = "gover test";
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *from = name == CL_LAYER_NAME ? (const void *)layer_name : &version;
	size_t needed = name == CL_LAYER_NAME ? sizeof(layer_name) : sizeof(version);

	if ((name != CL_LAYER_NAME && name != CL_LAYER_API_VERSION) || (value && size < needed))
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, from, needed);
	if (ret_size)
		*ret_size = needed;
	return CL_SUCCESS;
}

/* Returns false if CL_LAYER_MISTAKE names no mistake. */
static bool add_mistake(const char *name, cl_uint n)
{
	bool found = false;

	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		if (strcmp(mistakes[i].name, name) != 0 || mistakes[i].offset >= n * sizeof(void *))
			continue;
		memcpy((char *)&table + mistakes[i].offset, &mistakes[i].function, sizeof(void *));
		found = true;
	}
	return found;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *target,
					    cl_uint *ret_n, const cl_icd_dispatch **ret_layer)
{
	const char *mistake = getenv("CL_LAYER_MISTAKE");
	cl_uint known = sizeof(table) / sizeof(void *);

	if (!target || !ret_n || !ret_layer)
		return CL_INVALID_VALUE;
	next = target;
	memcpy(&table, target, (n < known ? n : known) * sizeof(void *));
	if (mistake && mistake[0] != '\0' && !add_mistake(mistake, n)) {
		fprintf(stderr, "cl-layer: mistake '%s': not found\n", mistake);
		_exit(9);
	}
	*ret_n = n < known ? n : known;
	*ret_layer = &table;
	return CL_SUCCESS;
}
