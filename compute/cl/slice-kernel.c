/* SPDX-License-Identifier: MIT */
/*
 * Records of kernels. The arguments of a twin are set when it is launched, not when the application
 * sets them: only then do all objects certainly exist, because the kernel itself is launched with
 * them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compute/cl/slice-kernel.h"
#include "compute/cl/slice-program.h"

#define ARGUMENTS_MAX 1024

struct slice_argument {
	bool is_set;
	bool is_new; /* the twin does not have it */
	bool is_local;
	size_t size, room;
	void *bytes; /* NULL if local */
};

static struct record_table kernels = {.mutex = PTHREAD_MUTEX_INITIALIZER};

struct slice_kernel *slice_kernel_find(cl_kernel handle)
{
	return (struct slice_kernel *)cl_record_find(&kernels, handle);
}

static void destroy(struct slice_kernel *kernel)
{
	if (!kernel)
		return;
	if (kernel->twin)
		(void)target.clReleaseKernel(kernel->twin);
	for (cl_uint i = 0; i < kernel->n_arguments; i++)
		free(kernel->arguments[i].bytes);
	free(kernel->arguments);
	if (!kernel->program)
		slice_kind_free(kernel->kind);
	slice_program_drop(kernel->program);
	(void)pthread_mutex_destroy(&kernel->mutex);
	free(kernel);
}

/* Returns the name of a kernel, which the caller frees, or NULL. */
static char *name_of(cl_kernel handle)
{
	size_t size = 0;
	char *name;

	if (target.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, 0, NULL, &size) != CL_SUCCESS ||
	    size == 0)
		return NULL;
	name = malloc(size);
	if (name &&
	    target.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, size, name, NULL) == CL_SUCCESS)
		return name;
	free(name);
	return NULL;
}

/* Finds the program and the kind of a new kernel. Returns false if one of them is not known. */
static bool add_kind(struct slice_kernel *kernel)
{
	cl_program program;
	char *name;

	if (target.clGetKernelInfo(kernel->handle, CL_KERNEL_PROGRAM, sizeof(program), &program,
				   NULL) != CL_SUCCESS)
		return false;
	name = name_of(kernel->handle);
	if (!name)
		return false;
	kernel->program = slice_program_hold(program);
	if (kernel->program) {
		kernel->kind = slice_program_kind(kernel->program, name);
	} else {
		kernel->kind = slice_kind_new((uintptr_t)program, name);
		kernel->reason =
			"its program was not created from source, or was compiled and linked";
	}
	free(name);
	return kernel->kind;
}

/* Adds a record. Without memory for it, the kernel is launched whole. */
static struct slice_kernel *add_kernel(cl_kernel handle)
{
	struct slice_kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return NULL;
	kernel->handle = handle;
	(void)pthread_mutex_init(&kernel->mutex, NULL);
	if (!add_kind(kernel)) {
		destroy(kernel);
		return NULL;
	}
	slice_kind_note(handle, kernel->kind);
	cl_record_add(&kernels, &kernel->record, handle);
	return kernel;
}

/* Makes room for the argument @index. */
static bool reserve(struct slice_kernel *kernel, cl_uint index)
{
	struct slice_argument *more;

	if (index < kernel->n_arguments)
		return true;
	more = index < ARGUMENTS_MAX ? realloc(kernel->arguments, (index + 1) * sizeof(*more))
				     : NULL;
	if (!more)
		return false;
	memset(&more[kernel->n_arguments], 0, (index + 1 - kernel->n_arguments) * sizeof(*more));
	kernel->arguments = more;
	kernel->n_arguments = index + 1;
	return true;
}

/* Copies an argument. The caller holds the lock. */
static bool keep_argument(struct slice_kernel *kernel, cl_uint index, size_t size,
			  const void *value)
{
	struct slice_argument *argument;

	if (!reserve(kernel, index))
		return false;
	argument = &kernel->arguments[index];
	if (value && argument->room < size) {
		void *bytes = realloc(argument->bytes, size);

		if (!bytes)
			return false;
		argument->bytes = bytes;
		argument->room = size;
	}
	if (value)
		memcpy(argument->bytes, value, size);
	argument->is_local = !value;
	argument->size = size;
	argument->is_set = argument->is_new = true;
	return true;
}

static cl_int CL_API_CALL set_argument(cl_kernel handle, cl_uint index, size_t size,
				       const void *value)
{
	cl_int result = target.clSetKernelArg(handle, index, size, value);
	struct slice_kernel *kernel = result == CL_SUCCESS ? slice_kernel_find(handle) : NULL;

	if (!kernel)
		return result;
	(void)pthread_mutex_lock(&kernel->mutex);
	if (!keep_argument(kernel, index, size, value))
		kernel->reason = "memory is short";
	(void)pthread_mutex_unlock(&kernel->mutex);
	return result;
}

static void never_slice(cl_kernel handle, const char *reason)
{
	struct slice_kernel *kernel = slice_kernel_find(handle);

	if (!kernel)
		return;
	(void)pthread_mutex_lock(&kernel->mutex);
	kernel->reason = reason;
	(void)pthread_mutex_unlock(&kernel->mutex);
}

/* Host and kernel may use shared virtual memory at the same time. */
static cl_int CL_API_CALL set_pointer(cl_kernel handle, cl_uint index, const void *value)
{
	never_slice(handle, "it uses shared virtual memory");
	return target.clSetKernelArgSVMPointer(handle, index, value);
}

static cl_int CL_API_CALL set_exec_info(cl_kernel handle, cl_kernel_exec_info name, size_t size,
					const void *value)
{
	never_slice(handle, "it uses shared virtual memory");
	return target.clSetKernelExecInfo(handle, name, size, value);
}

static cl_kernel CL_API_CALL create(cl_program program, const char *name, cl_int *ret_err)
{
	cl_kernel handle = target.clCreateKernel(program, name, ret_err);

	if (handle)
		(void)add_kernel(handle);
	return handle;
}

static cl_int CL_API_CALL create_all(cl_program program, cl_uint n, cl_kernel *handles,
				     cl_uint *ret_n)
{
	cl_uint found = 0;
	cl_int result = target.clCreateKernelsInProgram(program, n, handles, &found);

	for (cl_uint i = 0; result == CL_SUCCESS && handles && i < found; i++)
		(void)add_kernel(handles[i]);
	if (result == CL_SUCCESS && ret_n)
		*ret_n = found;
	return result;
}

static cl_kernel CL_API_CALL clone_kernel(cl_kernel from, cl_int *ret_err)
{
	cl_kernel handle = target.clCloneKernel(from, ret_err);
	struct slice_kernel *old = handle ? slice_kernel_find(from) : NULL;
	struct slice_kernel *kernel = old ? add_kernel(handle) : NULL;

	if (!kernel)
		return handle;
	(void)pthread_mutex_lock(&old->mutex);
	kernel->reason = old->reason;
	kernel->is_declared = old->is_declared;
	kernel->declared = old->declared;
	for (cl_uint i = 0; i < old->n_arguments; i++) {
		const struct slice_argument *a = &old->arguments[i];

		if (a->is_set && !keep_argument(kernel, i, a->size, a->is_local ? NULL : a->bytes))
			kernel->reason = "memory is short";
	}
	(void)pthread_mutex_unlock(&old->mutex);
	return handle;
}

static cl_int CL_API_CALL retain(cl_kernel handle)
{
	cl_int result = target.clRetainKernel(handle);

	if (result == CL_SUCCESS)
		cl_record_retain(&kernels, handle);
	return result;
}

static cl_int CL_API_CALL release(cl_kernel handle)
{
	struct slice_kernel *kernel = (struct slice_kernel *)cl_record_release(&kernels, handle);

	if (kernel)
		slice_kind_forget(handle);
	destroy(kernel);
	return target.clReleaseKernel(handle);
}

/* Creates the twin. The caller holds the lock. */
static const char *make_twin(struct slice_kernel *kernel)
{
	const char *reason = NULL;
	cl_program program = slice_program_twin(kernel->program, &reason);

	if (!program)
		return reason;
	kernel->twin = target.clCreateKernel(program, kernel->kind->name, NULL);
	return kernel->twin ? NULL : "its rectified program does not contain it";
}

static bool set_new_arguments(struct slice_kernel *kernel)
{
	for (cl_uint i = 0; i < kernel->n_arguments; i++) {
		struct slice_argument *a = &kernel->arguments[i];

		if (!a->is_new)
			continue;
		if (target.clSetKernelArg(kernel->twin, i, a->size,
					  a->is_local ? NULL : a->bytes) != CL_SUCCESS)
			return false;
		a->is_new = false;
	}
	return true;
}

cl_kernel slice_kernel_for_parts(struct slice_kernel *kernel, const char **ret_reason)
{
	cl_kernel found = NULL;

	(void)pthread_mutex_lock(&kernel->mutex);
	if (kernel->is_declared) {
		*ret_reason = "its declared argument is not set";
		if (kernel->declared < kernel->n_arguments &&
		    kernel->arguments[kernel->declared].is_set)
			found = kernel->handle;
	} else {
		if (!kernel->twin && !kernel->reason)
			kernel->reason = make_twin(kernel);
		*ret_reason = kernel->reason;
		if (!kernel->reason && set_new_arguments(kernel))
			found = kernel->twin;
		else if (!kernel->reason)
			*ret_reason = "an argument was refused";
	}
	(void)pthread_mutex_unlock(&kernel->mutex);
	return found;
}

cl_int slice_kernel_with(struct slice_kernel *kernel, const cl_uint value[4],
			 cl_int (*enqueue)(void *userdata), void *userdata)
{
	const struct slice_argument *old;
	cl_int result;

	(void)pthread_mutex_lock(&kernel->mutex);
	old = &kernel->arguments[kernel->declared];
	result = target.clSetKernelArg(kernel->handle, kernel->declared, 4 * sizeof(*value), value);
	if (result == CL_SUCCESS)
		result = enqueue(userdata);
	(void)target.clSetKernelArg(kernel->handle, kernel->declared, old->size, old->bytes);
	(void)pthread_mutex_unlock(&kernel->mutex);
	return result;
}

cl_int CL_API_CALL slice_kernel_declare(cl_kernel handle, cl_uint index)
{
	struct slice_kernel *kernel = slice_kernel_find(handle);
	cl_uint n = 0;

	if (!kernel)
		return CL_INVALID_KERNEL;
	if (target.clGetKernelInfo(handle, CL_KERNEL_NUM_ARGS, sizeof(n), &n, NULL) != CL_SUCCESS ||
	    index >= n)
		return CL_INVALID_ARG_INDEX;
	(void)pthread_mutex_lock(&kernel->mutex);
	kernel->is_declared = true;
	kernel->declared = index;
	(void)pthread_mutex_unlock(&kernel->mutex);
	return CL_SUCCESS;
}

void slice_kernel_install(cl_icd_dispatch *table)
{
	INSTALL(table, clCreateKernel, create);
	INSTALL(table, clCreateKernelsInProgram, create_all);
	INSTALL(table, clCloneKernel, clone_kernel);
	INSTALL(table, clRetainKernel, retain);
	INSTALL(table, clReleaseKernel, release);
	INSTALL(table, clSetKernelArg, set_argument);
	INSTALL(table, clSetKernelArgSVMPointer, set_pointer);
	INSTALL(table, clSetKernelExecInfo, set_exec_info);
}
