/* SPDX-License-Identifier: MIT */
/*
 * Memory objects within the limit of the tenant. An object counts from its creation until the
 * target destroys it, which may be long after the program has released it. Sub-buffers, and images
 * of buffers, use the memory of other objects and do not count.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/preload/debug.h"
#include "compute/cl/target.h"
#include "compute/tenant/gate.h"

#define BUCKETS 256

static cl_mem refuse(cl_int *ret_err, uint64_t bytes)
{
	debug_log("allocation of %llu bytes refused: above the limit of the tenant",
		  (unsigned long long)bytes);
	if (ret_err)
		*ret_err = CL_MEM_OBJECT_ALLOCATION_FAILURE;
	return NULL;
}

static void CL_CALLBACK on_destroy(cl_mem memory, void *userdata)
{
	(void)memory;
	gate_free_memory((uintptr_t)userdata);
}

/* Gives @bytes back when the target destroys @memory, or at once if it cannot notify. */
static cl_mem give_back_at_end(cl_mem memory, uint64_t bytes)
{
	if (!memory || !target.clSetMemObjectDestructorCallback ||
	    target.clSetMemObjectDestructorCallback(memory, on_destroy, (void *)(uintptr_t)bytes) !=
		    CL_SUCCESS)
		gate_free_memory(bytes);
	return memory;
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size,
					void *host, cl_int *ret_err)
{
	if (!gate_take_memory(size))
		return refuse(ret_err, size);
	return give_back_at_end(target.clCreateBuffer(context, flags, size, host, ret_err), size);
}

static cl_mem CL_API_CALL create_buffer_with(cl_context context, const cl_mem_properties *list,
					     cl_mem_flags flags, size_t size, void *host,
					     cl_int *ret_err)
{
	if (!gate_take_memory(size))
		return refuse(ret_err, size);
	return give_back_at_end(
		target.clCreateBufferWithProperties(context, list, flags, size, host, ret_err),
		size);
}

/* Only the target knows the size of an image or pipe, so it is checked after the creation. */
static cl_mem count_created(cl_mem memory, cl_int *ret_err)
{
	size_t size = 0;
	cl_mem whole = NULL;

	if (!memory)
		return NULL;
	if (target.clGetMemObjectInfo(memory, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(whole), &whole,
				      NULL) == CL_SUCCESS &&
	    whole)
		return memory;
	if (target.clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof(size), &size, NULL) != CL_SUCCESS)
		return memory;
	if (gate_take_memory(size))
		return give_back_at_end(memory, size);
	(void)target.clReleaseMemObject(memory);
	return refuse(ret_err, size);
}

/*
 * Defines a hook of @function, which creates an image or a pipe. @parameters, @arguments: those
 * that not every function has, in parentheses.
 */
#define CREATE(hook, function, parameters, arguments)                                          \
	static cl_mem CL_API_CALL hook(cl_context context, UNPACK parameters, cl_int *ret_err) \
	{                                                                                      \
		return count_created(target.function(context, UNPACK arguments, ret_err),      \
				     ret_err);                                                 \
	}

CREATE(create_image, clCreateImage,
       (cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *desc, void *host),
       (flags, format, desc, host))
CREATE(create_image_with, clCreateImageWithProperties,
       (const cl_mem_properties *list, cl_mem_flags flags, const cl_image_format *format,
	const cl_image_desc *desc, void *host),
       (list, flags, format, desc, host))
CREATE(create_image_2d, clCreateImage2D,
       (cl_mem_flags flags, const cl_image_format *format, size_t width, size_t height,
	size_t row_pitch, void *host),
       (flags, format, width, height, row_pitch, host))
CREATE(create_image_3d, clCreateImage3D,
       (cl_mem_flags flags, const cl_image_format *format, size_t width, size_t height,
	size_t depth, size_t row_pitch, size_t slice_pitch, void *host),
       (flags, format, width, height, depth, row_pitch, slice_pitch, host))
CREATE(create_pipe, clCreatePipe,
       (cl_mem_flags flags, cl_uint packet_size, cl_uint packets, const cl_pipe_properties *list),
       (flags, packet_size, packets, list))

/* Sizes of shared virtual memory, because clSVMFree() gets only a pointer. */
struct allocation {
	struct allocation *next;
	const void *memory;
	size_t size;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct allocation *buckets[BUCKETS];

static struct allocation **bucket_of(const void *memory)
{
	return &buckets[((uintptr_t)memory >> 8) % BUCKETS];
}

static void add_allocation(const void *memory, size_t size)
{
	struct allocation *a = malloc(sizeof(*a)), **bucket = bucket_of(memory);

	if (!a) {
		gate_free_memory(size); /* not counted, rather than never given back */
		return;
	}
	a->memory = memory;
	a->size = size;
	(void)pthread_mutex_lock(&mutex);
	a->next = *bucket;
	*bucket = a;
	(void)pthread_mutex_unlock(&mutex);
}

static void remove_allocation(const void *memory)
{
	struct allocation **at = bucket_of(memory), *a;

	(void)pthread_mutex_lock(&mutex);
	while (*at && (*at)->memory != memory)
		at = &(*at)->next;
	a = *at;
	if (a)
		*at = a->next;
	(void)pthread_mutex_unlock(&mutex);
	if (!a)
		return;
	gate_free_memory(a->size);
	free(a);
}

/* clSVMAlloc() has no error codes: it returns NULL if the memory cannot be allocated. */
static void *CL_API_CALL svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t size,
				   cl_uint alignment)
{
	void *memory;

	if (!gate_take_memory(size))
		return NULL;
	memory = target.clSVMAlloc(context, flags, size, alignment);
	if (memory)
		add_allocation(memory, size);
	else
		gate_free_memory(size);
	return memory;
}

static void CL_API_CALL svm_free(cl_context context, void *memory)
{
	/* Before the release: afterwards another allocation may have the same address. */
	if (memory)
		remove_allocation(memory);
	target.clSVMFree(context, memory);
}

/*
 * The memory counts as free when the command is enqueued, if the target frees it. If the program
 * frees it in a callback, it calls clSVMFree().
 */
static cl_int CL_API_CALL enqueue_free(cl_command_queue queue, cl_uint n_memory, void **memory,
				       void(CL_CALLBACK *function)(cl_command_queue, cl_uint,
								   void **, void *),
				       void *userdata, cl_uint n, const cl_event *list,
				       cl_event *event)
{
	cl_int result = target.clEnqueueSVMFree(queue, n_memory, memory, function, userdata, n,
						list, event);

	for (cl_uint i = 0; result == CL_SUCCESS && !function && i < n_memory; i++)
		remove_allocation(memory[i]);
	return result;
}

void memory_install(cl_icd_dispatch *table)
{
	INSTALL(table, clCreateBuffer, create_buffer);
	INSTALL(table, clCreateBufferWithProperties, create_buffer_with);
	INSTALL(table, clCreateImage, create_image);
	INSTALL(table, clCreateImageWithProperties, create_image_with);
	INSTALL(table, clCreateImage2D, create_image_2d);
	INSTALL(table, clCreateImage3D, create_image_3d);
	INSTALL(table, clCreatePipe, create_pipe);
	INSTALL(table, clSVMAlloc, svm_alloc);
	INSTALL(table, clSVMFree, svm_free);
	INSTALL(table, clEnqueueSVMFree, enqueue_free);
}
