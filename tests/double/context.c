/* SPDX-License-Identifier: MIT */
/* Contexts and command queues. */
#include <stdlib.h>
#include <string.h>

#include "tests/double/api.h"
#include "tests/double/engine.h"

static void destroy_context(void *object)
{
	cl_context context = object;

	free(context->properties);
	free(context);
}

/* Returns the elements with the final 0, or 0 if a property is unknown or the platform wrong. */
static size_t count_properties(const cl_context_properties *properties, cl_int *ret_code)
{
	size_t n = 0;

	for (; properties[n] != 0; n += 2) {
		if (properties[n] == CL_CONTEXT_PLATFORM &&
		    properties[n + 1] != (cl_context_properties)&double_platform)
			*ret_code = CL_INVALID_PLATFORM;
		else if (properties[n] != CL_CONTEXT_PLATFORM &&
			 properties[n] != CL_CONTEXT_INTEROP_USER_SYNC)
			*ret_code = CL_INVALID_PROPERTY;
		if (*ret_code != CL_SUCCESS)
			return 0;
	}
	return n + 1;
}

static cl_context new_context(const cl_context_properties *properties, cl_int *ret_code)
{
	cl_int code = CL_SUCCESS;
	size_t n = properties ? count_properties(properties, &code) : 0;
	cl_context context;

	if (code == CL_SUCCESS && engine_is_lost())
		code = CL_DEVICE_NOT_AVAILABLE;
	if (code != CL_SUCCESS)
		return result(NULL, code, ret_code);
	context = calloc(1, sizeof(*context));
	if (!context)
		return result(NULL, CL_OUT_OF_HOST_MEMORY, ret_code);
	if (n > 0) {
		context->properties = malloc(n * sizeof(*properties));
		if (!context->properties) {
			free(context);
			return result(NULL, CL_OUT_OF_HOST_MEMORY, ret_code);
		}
		memcpy(context->properties, properties, n * sizeof(*properties));
		context->n_properties = n;
	}
	object_init(&context->object, OBJECT_CONTEXT, destroy_context);
	return result(context, CL_SUCCESS, ret_code);
}

cl_context double_clCreateContext(const cl_context_properties *properties, cl_uint n,
				  const cl_device_id *devices,
				  void(CL_CALLBACK *notify)(const char *, const void *, size_t,
							    void *),
				  void *data, cl_int *ret_code)
{
	if (n == 0 || !devices || (!notify && data))
		return result(NULL, CL_INVALID_VALUE, ret_code);
	for (cl_uint i = 0; i < n; i++) {
		if (devices[i] != &double_device)
			return result(NULL, CL_INVALID_DEVICE, ret_code);
	}
	return new_context(properties, ret_code);
}

cl_context double_clCreateContextFromType(const cl_context_properties *properties,
					  cl_device_type type,
					  void(CL_CALLBACK *notify)(const char *, const void *,
								    size_t, void *),
					  void *data, cl_int *ret_code)
{
	cl_device_id device;
	cl_int code = double_clGetDeviceIDs(NULL, type, 1, &device, NULL);

	if (!notify && data)
		code = CL_INVALID_VALUE;
	return code == CL_SUCCESS ? new_context(properties, ret_code)
				  : result(NULL, code, ret_code);
}

DOUBLE_REFERENCES(Context, cl_context, OBJECT_CONTEXT, CL_INVALID_CONTEXT)

cl_int double_clGetContextInfo(cl_context context, cl_context_info name, size_t room, void *value,
			       size_t *ret_size)
{
	if (!object_is(context, OBJECT_CONTEXT))
		return CL_INVALID_CONTEXT;
	switch (name) {
	case CL_CONTEXT_REFERENCE_COUNT:
		return INFO(cl_uint, object_references(context), room, value, ret_size);
	case CL_CONTEXT_NUM_DEVICES:
		return INFO(cl_uint, 1, room, value, ret_size);
	case CL_CONTEXT_DEVICES:
		return INFO(cl_device_id, &double_device, room, value, ret_size);
	case CL_CONTEXT_PROPERTIES:
		return info_bytes(context->properties,
				  context->n_properties * sizeof(*context->properties), room, value,
				  ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

static void destroy_queue(void *object)
{
	cl_command_queue queue = object;

	object_unhold(queue->context);
	free(queue);
}

cl_command_queue double_clCreateCommandQueue(cl_context context, cl_device_id device,
					     cl_command_queue_properties properties,
					     cl_int *ret_code)
{
	cl_command_queue queue;

	if (!object_is(context, OBJECT_CONTEXT))
		return result(NULL, CL_INVALID_CONTEXT, ret_code);
	if (device != &double_device)
		return result(NULL, CL_INVALID_DEVICE, ret_code);
	if (properties & ~(cl_command_queue_properties)(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE |
							CL_QUEUE_PROFILING_ENABLE))
		return result(NULL,
			      properties & ~(cl_command_queue_properties)0xf
				      ? CL_INVALID_VALUE
				      : CL_INVALID_QUEUE_PROPERTIES,
			      ret_code);
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return result(NULL, CL_OUT_OF_HOST_MEMORY, ret_code);
	object_init(&queue->object, OBJECT_QUEUE, destroy_queue);
	object_hold(context);
	queue->context = context;
	queue->properties = properties;
	return result(queue, CL_SUCCESS, ret_code);
}

cl_command_queue double_clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
							   const cl_queue_properties *properties,
							   cl_int *ret_code)
{
	cl_command_queue_properties bits = 0;

	for (; properties && properties[0] != 0; properties += 2) {
		if (properties[0] != CL_QUEUE_PROPERTIES)
			return result(NULL, CL_INVALID_VALUE, ret_code);
		bits = properties[1];
	}
	return double_clCreateCommandQueue(context, device, bits, ret_code);
}

cl_int double_clSetCommandQueueProperty(cl_command_queue queue,
					cl_command_queue_properties properties, cl_bool enable,
					cl_command_queue_properties *ret_old)
{
	(void)properties;
	(void)enable;
	(void)ret_old;
	return object_is(queue, OBJECT_QUEUE) ? CL_INVALID_OPERATION : CL_INVALID_COMMAND_QUEUE;
}

DOUBLE_REFERENCES(CommandQueue, cl_command_queue, OBJECT_QUEUE, CL_INVALID_COMMAND_QUEUE)

cl_int double_clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info name, size_t room,
				    void *value, size_t *ret_size)
{
	if (!object_is(queue, OBJECT_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	switch (name) {
	case CL_QUEUE_CONTEXT:
		return INFO(cl_context, queue->context, room, value, ret_size);
	case CL_QUEUE_DEVICE:
		return INFO(cl_device_id, &double_device, room, value, ret_size);
	case CL_QUEUE_REFERENCE_COUNT:
		return INFO(cl_uint, object_references(queue), room, value, ret_size);
	case CL_QUEUE_PROPERTIES:
		return INFO(cl_command_queue_properties, queue->properties, room, value, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

/* Commands are submitted when they are enqueued. */
cl_int double_clFlush(cl_command_queue queue)
{
	return object_is(queue, OBJECT_QUEUE) ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

cl_int double_clFinish(cl_command_queue queue)
{
	return object_is(queue, OBJECT_QUEUE) ? engine_finish(queue) : CL_INVALID_COMMAND_QUEUE;
}
