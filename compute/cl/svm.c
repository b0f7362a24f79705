/* SPDX-License-Identifier: MIT */
/*
 * Shared virtual memory: transfers, and allocations within the limit of the tenant. The sizes of
 * allocations are kept in a list, because clSVMFree() gets only a pointer.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "compute/cl/submit.h"
#include "compute/cl/target.h"
#include "compute/tenant/gate.h"

struct allocation {
	struct allocation *next;
	const void *memory;
	size_t size;
};

#define BUCKETS 256

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

static cl_int CL_API_CALL copy(cl_command_queue queue, cl_bool blocking, void *to, const void *from,
			       size_t size, cl_uint n, const cl_event *list, cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_COPY, queue, size, n, list, event,
			target.clEnqueueSVMMemcpy(queue, blocking, to, from, size, n, list, event));
}

static cl_int CL_API_CALL fill(cl_command_queue queue, void *memory, const void *pattern,
			       size_t pattern_size, size_t size, cl_uint n, const cl_event *list,
			       cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_FILL, queue, size, n, list, event,
			target.clEnqueueSVMMemFill(queue, memory, pattern, pattern_size, size, n,
						   list, event));
}

static cl_int CL_API_CALL map(cl_command_queue queue, cl_bool blocking, cl_map_flags flags,
			      void *memory, size_t size, cl_uint n, const cl_event *list,
			      cl_event *event)
{
	SUBMIT_TRANSFER(
		SUBMIT_MAP, queue, size, n, list, event,
		target.clEnqueueSVMMap(queue, blocking, flags, memory, size, n, list, event));
}

static cl_int CL_API_CALL unmap(cl_command_queue queue, void *memory, cl_uint n,
				const cl_event *list, cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_UNMAP, queue, 0, n, list, event,
			target.clEnqueueSVMUnmap(queue, memory, n, list, event));
}

static cl_int CL_API_CALL migrate(cl_command_queue queue, cl_uint n_memory, const void **memory,
				  const size_t *sizes, cl_mem_migration_flags flags, cl_uint n,
				  const cl_event *list, cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_MIGRATE, queue, n_memory, n, list, event,
			target.clEnqueueSVMMigrateMem(queue, n_memory, memory, sizes, flags, n,
						      list, event));
}

void svm_install(cl_icd_dispatch *table)
{
	INSTALL(table, clSVMAlloc, svm_alloc);
	INSTALL(table, clSVMFree, svm_free);
	INSTALL(table, clEnqueueSVMFree, enqueue_free);
	INSTALL(table, clEnqueueSVMMemcpy, copy);
	INSTALL(table, clEnqueueSVMMemFill, fill);
	INSTALL(table, clEnqueueSVMMap, map);
	INSTALL(table, clEnqueueSVMUnmap, unmap);
	INSTALL(table, clEnqueueSVMMigrateMem, migrate);
}
