/* SPDX-License-Identifier: MIT */
/*
 * Command queues. Every queue is created so that the device measures times, which the program must
 * not notice: queries are answered as if the queue had only the properties that the program set.
 */
#include <stddef.h>
#include <string.h>

#include "compute/cl/queue.h"
#include "compute/cl/slice.h"
#include "compute/tenant/gate.h"
#include "compute/tenant/lock.h"
#include "fps-preload/debug.h"

#define DEVICES_MAX 64

static struct queue queues[QUEUES_MAX];
static char gone; /* its address is the handle of a released queue */
#define QUEUE_GONE ((cl_command_queue)(void *)&gone)

static struct {
	cl_device_id device;
	struct batch_mark mark;
} devices[DEVICES_MAX];

static size_t first_of(cl_command_queue handle)
{
	return ((uintptr_t)handle >> 4) * 2654435761u % QUEUES_MAX;
}

struct queue *queue_find(cl_command_queue handle)
{
	size_t at = first_of(handle);

	for (size_t i = 0; handle && i < QUEUES_MAX; i++) {
		struct queue *queue = &queues[(at + i) % QUEUES_MAX];
		cl_command_queue known = __atomic_load_n(&queue->handle, __ATOMIC_ACQUIRE);

		if (known == handle)
			return queue;
		if (!known)
			return NULL;
	}
	return NULL;
}

void queue_for_each(void (*visit)(struct queue *queue))
{
	for (size_t i = 0; i < QUEUES_MAX; i++) {
		cl_command_queue handle = __atomic_load_n(&queues[i].handle, __ATOMIC_ACQUIRE);

		if (handle && handle != QUEUE_GONE)
			visit(&queues[i]);
	}
}

unsigned int queue_references_to(cl_event event)
{
	unsigned int n = 0;

	for (size_t i = 0; i < QUEUES_MAX; i++)
		n += __atomic_load_n(&queues[i].newest, __ATOMIC_RELAXED) == event;
	return n;
}

void queue_keep_roots(uint64_t living)
{
	for (size_t i = 0; i < QUEUES_MAX; i++)
		if (__atomic_load_n(&queues[i].roots, __ATOMIC_RELAXED) & ~living)
			(void)__atomic_fetch_and(&queues[i].roots, living, __ATOMIC_RELAXED);
}

/* Devices beyond the table share the last mark. */
static struct batch_mark *mark_of(cl_device_id device)
{
	for (size_t i = 0; i < DEVICES_MAX - 1; i++) {
		cl_device_id known = NULL;

		if (__atomic_compare_exchange_n(&devices[i].device, &known, device, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
		    known == device)
			return &devices[i].mark;
	}
	return &devices[DEVICES_MAX - 1].mark;
}

/* Claims a record that no queue and no batch in flight uses. */
static struct queue *claim(cl_command_queue handle)
{
	size_t at = first_of(handle);

	for (size_t i = 0; i < QUEUES_MAX; i++) {
		struct queue *queue = &queues[(at + i) % QUEUES_MAX];
		cl_command_queue known = __atomic_load_n(&queue->handle, __ATOMIC_ACQUIRE);

		if ((known && known != QUEUE_GONE) ||
		    __atomic_load_n(&queue->tracked, __ATOMIC_ACQUIRE) > 0)
			continue;
		/* The handle is set last; until then the record of a free queue has an owner. */
		if (!__atomic_exchange_n(&queue->references, 1, __ATOMIC_ACQ_REL))
			return queue;
	}
	return NULL;
}

static void add_queue(cl_command_queue handle, cl_device_id device,
		      const cl_queue_properties *properties, cl_command_queue_properties flags,
		      bool measured)
{
	struct queue *queue = claim(handle);
	unsigned int n = 0;

	if (!queue) {
		debug_log("too many queues (limit %d): one is not controlled", QUEUES_MAX);
		return;
	}
	queue->out_of_order = flags & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
	queue->profiled = flags & CL_QUEUE_PROFILING_ENABLE;
	queue->measured = measured;
	queue->mark = mark_of(device);
	queue->batch = (struct batch){0};
	queue->newest = NULL;
	queue->roots = 0;
	queue->n_properties = 0;
	while (properties && properties[n] && n + 2 < QUEUE_PROPERTIES_MAX) {
		queue->properties[n] = properties[n];
		queue->properties[n + 1] = properties[n + 1];
		n += 2;
	}
	if (properties) {
		queue->properties[n] = 0;
		queue->n_properties = n + 1;
	}
	__atomic_store_n(&queue->handle, handle, __ATOMIC_RELEASE);
	(void)gate_poll();
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
						 cl_command_queue_properties flags, cl_int *ret_err)
{
	bool measured = true;
	cl_command_queue handle = target.clCreateCommandQueue(
		context, device, flags | CL_QUEUE_PROFILING_ENABLE, ret_err);

	if (!handle && !(flags & CL_QUEUE_PROFILING_ENABLE)) {
		handle = target.clCreateCommandQueue(context, device, flags, ret_err);
		measured = false;
	}
	if (handle)
		add_queue(handle, device, NULL, flags, measured);
	return handle;
}

/*
 * Copies a property list with CL_QUEUE_PROFILING_ENABLE added. Returns false if the list is too
 * long or belongs to a queue on the device, which has no submissions of the program.
 */
static bool add_profiling(const cl_queue_properties *list,
			  cl_queue_properties ret_list[QUEUE_PROPERTIES_MAX],
			  cl_command_queue_properties *ret_flags)
{
	bool has_flags = false;
	unsigned int n = 0;

	*ret_flags = 0;
	for (; list && list[n]; n += 2) {
		if (n + 4 >= QUEUE_PROPERTIES_MAX)
			return false;
		ret_list[n] = list[n];
		ret_list[n + 1] = list[n + 1];
		if (list[n] != CL_QUEUE_PROPERTIES)
			continue;
		has_flags = true;
		*ret_flags = list[n + 1];
		if (list[n + 1] & CL_QUEUE_ON_DEVICE)
			return false;
		ret_list[n + 1] |= CL_QUEUE_PROFILING_ENABLE;
	}
	if (!has_flags) {
		ret_list[n++] = CL_QUEUE_PROPERTIES;
		ret_list[n++] = CL_QUEUE_PROFILING_ENABLE;
	}
	ret_list[n] = 0;
	return true;
}

static cl_command_queue CL_API_CALL create_queue_with(cl_context context, cl_device_id device,
						      const cl_queue_properties *properties,
						      cl_int *ret_err)
{
	cl_queue_properties list[QUEUE_PROPERTIES_MAX];
	cl_command_queue_properties flags;
	cl_command_queue handle;

	if (!add_profiling(properties, list, &flags))
		return target.clCreateCommandQueueWithProperties(context, device, properties,
								 ret_err);
	handle = target.clCreateCommandQueueWithProperties(context, device, list, ret_err);
	if (handle) {
		add_queue(handle, device, properties, flags, true);
		return handle;
	}
	handle = target.clCreateCommandQueueWithProperties(context, device, properties, ret_err);
	if (handle)
		add_queue(handle, device, properties, flags, flags & CL_QUEUE_PROFILING_ENABLE);
	return handle;
}

static cl_int CL_API_CALL retain_queue(cl_command_queue handle)
{
	struct queue *queue = queue_find(handle);
	cl_int result = target.clRetainCommandQueue(handle);

	if (queue && result == CL_SUCCESS)
		(void)__atomic_add_fetch(&queue->references, 1, __ATOMIC_RELAXED);
	return result;
}

static cl_int CL_API_CALL release_queue(cl_command_queue handle)
{
	struct queue *queue = queue_find(handle);
	cl_int result;

	/* Before the release: afterwards a new queue may have the same handle. */
	if (queue && __atomic_load_n(&queue->references, __ATOMIC_RELAXED) == 1)
		__atomic_store_n(&queue->handle, QUEUE_GONE, __ATOMIC_RELEASE);
	result = target.clReleaseCommandQueue(handle);
	if (queue && result == CL_SUCCESS)
		(void)__atomic_sub_fetch(&queue->references, 1, __ATOMIC_ACQ_REL);
	return result;
}

static cl_int CL_API_CALL get_queue_info(cl_command_queue handle, cl_command_queue_info name,
					 size_t size, void *value, size_t *ret_size)
{
	const struct queue *queue = queue_find(handle);
	cl_int result;

	if (queue && name == CL_QUEUE_PROPERTIES_ARRAY)
		return target_answer(queue->properties,
				     queue->n_properties * sizeof(queue->properties[0]), size,
				     value, ret_size);
	result = target.clGetCommandQueueInfo(handle, name, size, value, ret_size);
	if (queue && name == CL_QUEUE_PROPERTIES && result == CL_SUCCESS && value &&
	    !queue->profiled) {
		cl_command_queue_properties flags;

		memcpy(&flags, value, sizeof(flags));
		flags &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
		memcpy(value, &flags, sizeof(flags));
	}
	return result;
}

/* Deprecated since OpenCL 1.1. The target keeps measuring when the program turns it off. */
static cl_int CL_API_CALL set_queue_property(cl_command_queue handle,
					     cl_command_queue_properties flags, cl_bool enable,
					     cl_command_queue_properties *ret_old)
{
	struct queue *queue = queue_find(handle);
	cl_command_queue_properties changed = flags;
	cl_int result;

	if (queue && queue->measured && !enable)
		changed &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	result = target.clSetCommandQueueProperty(handle, changed, enable, ret_old);
	if (!queue || result != CL_SUCCESS)
		return result;
	if (ret_old && !queue->profiled)
		*ret_old &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	if (flags & CL_QUEUE_PROFILING_ENABLE)
		queue->profiled = enable;
	if (flags & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
		queue->out_of_order = enable;
	return result;
}

static cl_int CL_API_CALL get_profiling_info(cl_event event, cl_profiling_info name, size_t size,
					     void *value, size_t *ret_size)
{
	cl_command_queue handle = NULL;
	const struct queue *queue;

	if (target.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(handle), &handle, NULL) ==
	    CL_SUCCESS) {
		queue = queue_find(handle);
		if (queue && !queue->profiled)
			return CL_PROFILING_INFO_NOT_AVAILABLE;
	}
	return target.clGetEventProfilingInfo(slice_timed_event(event, name), name, size, value,
					      ret_size);
}

void queue_install(cl_icd_dispatch *table)
{
	INSTALL(table, clCreateCommandQueue, create_queue);
	INSTALL(table, clCreateCommandQueueWithProperties, create_queue_with);
	INSTALL(table, clRetainCommandQueue, retain_queue);
	INSTALL(table, clReleaseCommandQueue, release_queue);
	INSTALL(table, clGetCommandQueueInfo, get_queue_info);
	INSTALL(table, clSetCommandQueueProperty, set_queue_property);
	INSTALL(table, clGetEventProfilingInfo, get_profiling_info);
}
