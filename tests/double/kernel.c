/* SPDX-License-Identifier: MIT */
/* Kernels, their arguments, and launches of them. */
#include <stdlib.h>
#include <string.h>

#include "tests/double/api.h"
#include "tests/double/engine.h"
#include "tests/double/launch.h"

static void destroy(void *object)
{
	cl_kernel kernel = object;

	for (unsigned i = 0; i < kernel->head->n_arguments; i++)
		object_unhold(kernel->arguments[i].mem);
	atomic_fetch_sub(&kernel->program->kernels, 1);
	pthread_mutex_destroy(&kernel->lock);
	object_unhold(kernel->program);
	free(kernel->arguments);
	free(kernel);
}

static cl_kernel new_kernel(cl_program program, const struct source_kernel *head, cl_int *ret_code)
{
	cl_kernel kernel = calloc(1, sizeof(*kernel));

	if (kernel)
		kernel->arguments = calloc(head->n_arguments + 1, sizeof(*kernel->arguments));
	if (!kernel || !kernel->arguments) {
		free(kernel);
		return result(NULL, CL_OUT_OF_HOST_MEMORY, ret_code);
	}
	object_init(&kernel->object, OBJECT_KERNEL, destroy);
	object_hold(program);
	atomic_fetch_add(&program->kernels, 1);
	kernel->program = program;
	kernel->head = head;
	kernel->kinds = &program->source->arguments[head->first];
	pthread_mutex_init(&kernel->lock, NULL);
	return result(kernel, CL_SUCCESS, ret_code);
}

static cl_int check_program(cl_program program)
{
	if (!object_is(program, OBJECT_PROGRAM))
		return CL_INVALID_PROGRAM;
	return program->status == CL_BUILD_SUCCESS &&
			       program->type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE
		       ? CL_SUCCESS
		       : CL_INVALID_PROGRAM_EXECUTABLE;
}

cl_kernel double_clCreateKernel(cl_program program, const char *name, cl_int *ret_code)
{
	const struct source_kernel *head;
	cl_int code = check_program(program);

	if (code != CL_SUCCESS)
		return result(NULL, code, ret_code);
	if (!name)
		return result(NULL, CL_INVALID_VALUE, ret_code);
	head = source_find(program->source, name);
	return head ? new_kernel(program, head, ret_code)
		    : result(NULL, CL_INVALID_KERNEL_NAME, ret_code);
}

cl_int double_clCreateKernelsInProgram(cl_program program, cl_uint room, cl_kernel *kernels,
				       cl_uint *ret_n)
{
	cl_int code = check_program(program);
	unsigned n = code == CL_SUCCESS ? program->source->n_kernels : 0;

	if (code == CL_SUCCESS && kernels && room < n)
		code = CL_INVALID_VALUE;
	for (unsigned i = 0; i < n && kernels && code == CL_SUCCESS; i++) {
		kernels[i] = new_kernel(program, &program->source->kernels[i], &code);
		while (code != CL_SUCCESS && i > 0)
			object_release(kernels[--i], OBJECT_KERNEL, CL_INVALID_KERNEL);
	}
	if (code == CL_SUCCESS && ret_n)
		*ret_n = n;
	return code;
}

cl_kernel double_clCloneKernel(cl_kernel kernel, cl_int *ret_code)
{
	cl_kernel copy;

	if (!object_is(kernel, OBJECT_KERNEL))
		return result(NULL, CL_INVALID_KERNEL, ret_code);
	copy = new_kernel(kernel->program, kernel->head, ret_code);
	if (!copy)
		return NULL;
	pthread_mutex_lock(&kernel->lock);
	for (unsigned i = 0; i < kernel->head->n_arguments; i++) {
		copy->arguments[i] = kernel->arguments[i];
		if (copy->arguments[i].mem)
			object_hold(copy->arguments[i].mem);
	}
	pthread_mutex_unlock(&kernel->lock);
	return copy;
}

DOUBLE_REFERENCES(Kernel, cl_kernel, OBJECT_KERNEL, CL_INVALID_KERNEL)

static cl_int make_buffer(cl_kernel kernel, size_t size, const void *value,
			  struct argument *argument)
{
	if (size != sizeof(cl_mem))
		return CL_INVALID_ARG_SIZE;
	argument->mem = value ? *(const cl_mem *)value : NULL;
	if (!argument->mem)
		return CL_SUCCESS;
	if (!object_is(argument->mem, OBJECT_MEM) ||
	    argument->mem->context != kernel->program->context)
		return CL_INVALID_MEM_OBJECT;
	object_hold(argument->mem);
	return CL_SUCCESS;
}

static cl_int make_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value,
			    struct argument *argument)
{
	const struct source_argument *kind = &kernel->kinds[index];

	switch (kind->kind) {
	case SOURCE_GLOBAL:
	case SOURCE_CONSTANT:
		return make_buffer(kernel, size, value, argument);
	case SOURCE_LOCAL:
		if (value)
			return CL_INVALID_ARG_VALUE;
		return size > 0 ? CL_SUCCESS : CL_INVALID_ARG_SIZE;
	case SOURCE_VALUE:
		if (!value)
			return CL_INVALID_ARG_VALUE;
		if (size == 0 || size > 4096 || (kind->size > 0 && size != kind->size))
			return CL_INVALID_ARG_SIZE;
		if (size <= sizeof(argument->bytes))
			memcpy(argument->bytes, value, size);
		return CL_SUCCESS;
	}
	return CL_INVALID_ARG_VALUE;
}

cl_int double_clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
	struct argument argument = {.is_set = true, .size = size};
	cl_mem old;
	cl_int code;

	if (!object_is(kernel, OBJECT_KERNEL))
		return CL_INVALID_KERNEL;
	if (index >= kernel->head->n_arguments)
		return CL_INVALID_ARG_INDEX;
	code = make_argument(kernel, index, size, value, &argument);
	if (code != CL_SUCCESS)
		return code;
	pthread_mutex_lock(&kernel->lock);
	old = kernel->arguments[index].mem;
	kernel->arguments[index] = argument;
	pthread_mutex_unlock(&kernel->lock);
	object_unhold(old);
	return CL_SUCCESS;
}

cl_int double_clGetKernelInfo(cl_kernel kernel, cl_kernel_info name, size_t room, void *value,
			      size_t *ret_size)
{
	if (!object_is(kernel, OBJECT_KERNEL))
		return CL_INVALID_KERNEL;
	switch (name) {
	case CL_KERNEL_FUNCTION_NAME:
		return info_string(kernel->head->name, room, value, ret_size);
	case CL_KERNEL_NUM_ARGS:
		return INFO(cl_uint, kernel->head->n_arguments, room, value, ret_size);
	case CL_KERNEL_REFERENCE_COUNT:
		return INFO(cl_uint, object_references(kernel), room, value, ret_size);
	case CL_KERNEL_CONTEXT:
		return INFO(cl_context, kernel->program->context, room, value, ret_size);
	case CL_KERNEL_PROGRAM:
		return INFO(cl_program, kernel->program, room, value, ret_size);
	case CL_KERNEL_ATTRIBUTES:
		return info_string("", room, value, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

cl_int double_clGetKernelArgInfo(cl_kernel kernel, cl_uint index, cl_kernel_arg_info name,
				 size_t room, void *value, size_t *ret_size)
{
	static const cl_kernel_arg_address_qualifier spaces[] = {
		[SOURCE_VALUE] = CL_KERNEL_ARG_ADDRESS_PRIVATE,
		[SOURCE_GLOBAL] = CL_KERNEL_ARG_ADDRESS_GLOBAL,
		[SOURCE_CONSTANT] = CL_KERNEL_ARG_ADDRESS_CONSTANT,
		[SOURCE_LOCAL] = CL_KERNEL_ARG_ADDRESS_LOCAL,
	};
	const struct source_argument *kind;
	cl_kernel_arg_type_qualifier qualifiers;

	if (!object_is(kernel, OBJECT_KERNEL))
		return CL_INVALID_KERNEL;
	if (index >= kernel->head->n_arguments)
		return CL_INVALID_ARG_INDEX;
	kind = &kernel->kinds[index];
	qualifiers = (kind->is_const && kind->kind != SOURCE_VALUE ? CL_KERNEL_ARG_TYPE_CONST : 0) |
		     (kind->is_restrict ? CL_KERNEL_ARG_TYPE_RESTRICT : 0) |
		     (kind->is_volatile ? CL_KERNEL_ARG_TYPE_VOLATILE : 0);
	switch (name) {
	case CL_KERNEL_ARG_ADDRESS_QUALIFIER:
		return INFO(cl_kernel_arg_address_qualifier, spaces[kind->kind], room, value,
			    ret_size);
	case CL_KERNEL_ARG_ACCESS_QUALIFIER:
		return INFO(cl_kernel_arg_access_qualifier, CL_KERNEL_ARG_ACCESS_NONE, room, value,
			    ret_size);
	case CL_KERNEL_ARG_TYPE_NAME:
		return info_string(kind->type, room, value, ret_size);
	case CL_KERNEL_ARG_TYPE_QUALIFIER:
		return INFO(cl_kernel_arg_type_qualifier, qualifiers, room, value, ret_size);
	case CL_KERNEL_ARG_NAME:
		return info_string(kind->name, room, value, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

cl_int double_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
				       cl_kernel_work_group_info name, size_t room, void *value,
				       size_t *ret_size)
{
	if (!object_is(kernel, OBJECT_KERNEL))
		return CL_INVALID_KERNEL;
	if (device && device != &double_device)
		return CL_INVALID_DEVICE;
	switch (name) {
	case CL_KERNEL_WORK_GROUP_SIZE:
		return INFO(size_t, LAUNCH_GROUP, room, value, ret_size);
	case CL_KERNEL_COMPILE_WORK_GROUP_SIZE:
		return info_bytes(kernel->head->group, sizeof(kernel->head->group), room, value,
				  ret_size);
	case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
		return INFO(size_t, 32, room, value, ret_size);
	case CL_KERNEL_LOCAL_MEM_SIZE:
	case CL_KERNEL_PRIVATE_MEM_SIZE:
		return INFO(cl_ulong, 0, room, value, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

/* Chooses a work-group size: a power of two that divides the size, in dimension 0 only. */
static size_t choose_local(size_t global)
{
	size_t local = 64;

	while (global % local != 0)
		local /= 2;
	return local;
}

static cl_int check_local(const size_t required[3], const size_t *local, struct range *range)
{
	size_t items = 1;

	for (cl_uint i = 0; i < range->dimensions; i++) {
		if (local)
			range->local[i] = local[i];
		else
			range->local[i] = required[i] ? required[i]
					  : i == 0    ? choose_local(range->global[0])
						      : 1;
		if (range->local[i] == 0 || range->global[i] % range->local[i] != 0 ||
		    (required[i] > 0 && range->local[i] != required[i]))
			return CL_INVALID_WORK_GROUP_SIZE;
		if (range->local[i] > LAUNCH_GROUP)
			return CL_INVALID_WORK_ITEM_SIZE;
		items *= range->local[i];
	}
	return items <= LAUNCH_GROUP ? CL_SUCCESS : CL_INVALID_WORK_GROUP_SIZE;
}

static cl_int make_range(cl_kernel kernel, cl_uint dimensions, const size_t *offset,
			 const size_t *global, const size_t *local, struct range *range)
{
	if (dimensions < 1 || dimensions > 3)
		return CL_INVALID_WORK_DIMENSION;
	if (!global)
		return CL_INVALID_GLOBAL_WORK_SIZE;
	*range = (struct range){dimensions, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}};
	for (cl_uint i = 0; i < dimensions; i++) {
		size_t end;

		range->offset[i] = offset ? offset[i] : 0;
		range->global[i] = global[i];
		if (global[i] == 0)
			return CL_INVALID_GLOBAL_WORK_SIZE;
		if (__builtin_add_overflow(range->offset[i], global[i], &end))
			return CL_INVALID_GLOBAL_OFFSET;
	}
	return check_local(kernel->head->group, local, range);
}

cl_int double_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
				     const size_t *offset, const size_t *global,
				     const size_t *local, cl_uint n, const cl_event *waits,
				     cl_event *ret_event)
{
	struct order order = {CL_FALSE, n, waits, ret_event};
	struct work work = {.kind = WORK_LAUNCH};
	struct range range;
	cl_int code;

	if (!object_is(queue, OBJECT_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (!object_is(kernel, OBJECT_KERNEL))
		return CL_INVALID_KERNEL;
	if (kernel->program->context != queue->context)
		return CL_INVALID_CONTEXT;
	code = make_range(kernel, dimensions, offset, global, local, &range);
	if (code == CL_SUCCESS)
		code = launch_new(kernel, &range, &work.launch);
	if (code != CL_SUCCESS)
		return code;
	return engine_enqueue(queue, CL_COMMAND_NDRANGE_KERNEL, &work, &order);
}

cl_int double_clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint n,
			    const cl_event *waits, cl_event *ret_event)
{
	size_t one = 1;

	return double_clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, n, waits,
					     ret_event);
}
