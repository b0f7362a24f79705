/* SPDX-License-Identifier: MIT */
/*
 * An OpenCL target without a device, for tests and measurements of the layer. Commands complete at
 * once, or when stub_finish() is called if stub.hold is set. The layer is loaded from
 * $B/libgover-cl.so as the loader does it. Objects are counted, so that a test finds references
 * that the layer has not given back.
 */
#ifndef TESTS_UNIT_COMPUTE_STUB_CL_H
#define TESTS_UNIT_COMPUTE_STUB_CL_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

typedef void(CL_CALLBACK *stub_callback_fn)(cl_event, cl_int, void *);

struct stub_event {
	unsigned int references;
	cl_int status;
	cl_command_queue queue;
	cl_ulong queued, start, end;
	stub_callback_fn callback;
	void *userdata;
	struct stub_event *next; /* in the list of unfinished commands, or of free events */
};

#define STUB_EVENTS 8192

static struct {
	bool hold;	 /* commands complete with stub_finish() */
	bool mute;	 /* no callback for a command that fails, as PoCL 3.1 does */
	cl_int fail;	 /* the result of enqueues */
	cl_ulong clock;	 /* ns */
	cl_ulong length; /* of a command, ns */
	unsigned int launches, reads, flushes, callbacks;
	unsigned int bare; /* commands for which the caller wants no event */
	unsigned int live_events, live_memory;
	cl_command_queue_properties flags; /* of the last queue */
	struct stub_event *free, *first, **last;
	struct stub_event events[STUB_EVENTS];
} stub = {.length = 1000};

static struct stub_event *stub_new_event(cl_command_queue queue)
{
	struct stub_event *event = stub.free;

	if (!event)
		abort();
	stub.free = event->next;
	stub.live_events++;
	*event = (struct stub_event){.references = 1, .status = CL_QUEUED, .queue = queue};
	event->queued = stub.clock;
	return event;
}

static cl_int CL_API_CALL stub_release_event(cl_event handle)
{
	struct stub_event *event = (struct stub_event *)handle;

	if (event->references == 0)
		abort();
	if (--event->references > 0)
		return CL_SUCCESS;
	stub.live_events--;
	event->next = stub.free;
	stub.free = event;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL stub_retain_event(cl_event handle)
{
	((struct stub_event *)handle)->references++;
	return CL_SUCCESS;
}

static void stub_complete(struct stub_event *event, cl_int status)
{
	event->start = stub.clock;
	event->end = stub.clock += stub.length;
	event->status = status;
	if (event->callback && (status == CL_COMPLETE || !stub.mute)) {
		stub.callbacks++;
		event->callback((cl_event)event, status, event->userdata);
	}
}

/* Completes the oldest @n unfinished commands with @status. */
static inline void stub_finish_with(unsigned int n, cl_int status)
{
	while (n-- > 0 && stub.first) {
		struct stub_event *event = stub.first;

		stub.first = event->next;
		if (!stub.first)
			stub.last = &stub.first;
		stub_complete(event, status);
		(void)stub_release_event((cl_event)event);
	}
}

static inline void stub_finish(unsigned int n)
{
	stub_finish_with(n, CL_COMPLETE);
}

/* A command of the program. */
static cl_int stub_enqueue(cl_command_queue queue, cl_event *ret_event)
{
	struct stub_event *event;

	if (stub.fail != CL_SUCCESS)
		return stub.fail;
	stub.bare += !ret_event;
	if (!ret_event && !stub.hold)
		return CL_SUCCESS;
	event = stub_new_event(queue);
	if (ret_event) {
		event->references++;
		*ret_event = (cl_event)event;
	}
	if (stub.hold) {
		event->next = NULL;
		*stub.last = event;
		stub.last = &event->next;
		return CL_SUCCESS;
	}
	stub_complete(event, CL_COMPLETE);
	return stub_release_event((cl_event)event);
}

static cl_int CL_API_CALL stub_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
				      const size_t *offset, const size_t *global,
				      const size_t *local, cl_uint n, const cl_event *list,
				      cl_event *event)
{
	(void)kernel, (void)dimensions, (void)offset, (void)global, (void)local, (void)n,
		(void)list;
	__atomic_add_fetch(&stub.launches, 1, __ATOMIC_SEQ_CST);
	return stub_enqueue(queue, event);
}

static cl_int CL_API_CALL stub_read(cl_command_queue queue, cl_mem memory, cl_bool blocking,
				    size_t offset, size_t size, void *to, cl_uint n,
				    const cl_event *list, cl_event *event)
{
	(void)memory, (void)blocking, (void)offset, (void)size, (void)to, (void)n, (void)list;
	stub.reads++;
	return stub_enqueue(queue, event);
}

static cl_int CL_API_CALL stub_marker(cl_command_queue queue, cl_uint n, const cl_event *list,
				      cl_event *event)
{
	(void)n, (void)list;
	return stub_enqueue(queue, event);
}

static void *CL_API_CALL stub_map(cl_command_queue queue, cl_mem memory, cl_bool blocking,
				  cl_map_flags flags, size_t offset, size_t size, cl_uint n,
				  const cl_event *list, cl_event *event, cl_int *ret_err)
{
	static char mapped;
	cl_int err = stub_enqueue(queue, event);

	(void)memory, (void)blocking, (void)flags, (void)offset, (void)size, (void)n, (void)list;
	if (ret_err)
		*ret_err = err;
	return err == CL_SUCCESS ? &mapped : NULL;
}

static cl_int CL_API_CALL stub_event_info(cl_event handle, cl_event_info name, size_t size,
					  void *value, size_t *ret_size)
{
	struct stub_event *event = (struct stub_event *)handle;
	cl_uint references = event->references;

	(void)size, (void)ret_size;
	if (name == CL_EVENT_COMMAND_EXECUTION_STATUS)
		memcpy(value, &event->status, sizeof(event->status));
	else if (name == CL_EVENT_COMMAND_QUEUE)
		memcpy(value, &event->queue, sizeof(event->queue));
	else
		memcpy(value, &references, sizeof(references));
	return CL_SUCCESS;
}

static cl_int CL_API_CALL stub_profiling_info(cl_event handle, cl_profiling_info name, size_t size,
					      void *value, size_t *ret_size)
{
	const struct stub_event *event = (struct stub_event *)handle;
	cl_ulong ns = name == CL_PROFILING_COMMAND_END	   ? event->end
		      : name == CL_PROFILING_COMMAND_START ? event->start
							   : event->queued;

	(void)size, (void)ret_size;
	memcpy(value, &ns, sizeof(ns));
	return CL_SUCCESS;
}

static cl_int CL_API_CALL stub_set_callback(cl_event handle, cl_int type, stub_callback_fn callback,
					    void *userdata)
{
	struct stub_event *event = (struct stub_event *)handle;

	(void)type;
	event->callback = callback;
	event->userdata = userdata;
	return CL_SUCCESS;
}

static cl_event CL_API_CALL stub_user_event(cl_context context, cl_int *ret_err)
{
	(void)context;
	if (ret_err)
		*ret_err = CL_SUCCESS;
	return (cl_event)stub_new_event(NULL);
}

static cl_int CL_API_CALL stub_set_user_event(cl_event handle, cl_int status)
{
	((struct stub_event *)handle)->status = status;
	return CL_SUCCESS;
}

static void *volatile stub_handles[16384];

/* Keeps @handle reachable, so that no leak is reported. Returns it. */
static void *keep_handle(void *handle)
{
	static unsigned int n;

	stub_handles[__atomic_fetch_add(&n, 1, __ATOMIC_RELAXED) % 16384] = handle;
	return handle;
}

static cl_command_queue CL_API_CALL stub_create_queue(cl_context context, cl_device_id device,
						      cl_command_queue_properties flags,
						      cl_int *ret_err)
{
	(void)context, (void)device;
	stub.flags = flags;
	if (ret_err)
		*ret_err = CL_SUCCESS;
	return keep_handle(malloc(16));
}

static cl_int CL_API_CALL stub_retain_queue(cl_command_queue queue)
{
	(void)queue;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL stub_release_queue(cl_command_queue queue)
{
	(void)queue; /* never freed: the layer must not depend on it */
	return CL_SUCCESS;
}

static cl_int CL_API_CALL stub_queue_info(cl_command_queue queue, cl_command_queue_info name,
					  size_t size, void *value, size_t *ret_size)
{
	(void)queue, (void)name, (void)size, (void)ret_size;
	memcpy(value, &stub.flags, sizeof(stub.flags));
	return CL_SUCCESS;
}

static cl_int CL_API_CALL stub_flush(cl_command_queue queue)
{
	(void)queue;
	stub.flushes++;
	return CL_SUCCESS;
}

struct stub_memory {
	void(CL_CALLBACK *destroy)(cl_mem, void *);
	void *userdata;
};

static cl_mem CL_API_CALL stub_create_buffer(cl_context context, cl_mem_flags flags, size_t size,
					     void *host, cl_int *ret_err)
{
	(void)context, (void)flags, (void)size, (void)host;
	if (ret_err)
		*ret_err = stub.fail;
	if (stub.fail != CL_SUCCESS)
		return NULL;
	stub.live_memory++;
	return calloc(1, sizeof(struct stub_memory));
}

static cl_int CL_API_CALL stub_on_destroy(cl_mem handle, void(CL_CALLBACK *destroy)(cl_mem, void *),
					  void *userdata)
{
	*(struct stub_memory *)handle = (struct stub_memory){destroy, userdata};
	return CL_SUCCESS;
}

static cl_int CL_API_CALL stub_release_memory(cl_mem handle)
{
	struct stub_memory *memory = (struct stub_memory *)handle;

	if (memory->destroy)
		memory->destroy(handle, memory->userdata);
	free(memory);
	stub.live_memory--;
	return CL_SUCCESS;
}

static const cl_icd_dispatch stub_table = {
	.clCreateCommandQueue = stub_create_queue,
	.clRetainCommandQueue = stub_retain_queue,
	.clReleaseCommandQueue = stub_release_queue,
	.clGetCommandQueueInfo = stub_queue_info,
	.clCreateBuffer = stub_create_buffer,
	.clReleaseMemObject = stub_release_memory,
	.clSetMemObjectDestructorCallback = stub_on_destroy,
	.clEnqueueNDRangeKernel = stub_launch,
	.clEnqueueReadBuffer = stub_read,
	.clEnqueueMapBuffer = stub_map,
	.clEnqueueMarkerWithWaitList = stub_marker,
	.clEnqueueBarrierWithWaitList = stub_marker,
	.clRetainEvent = stub_retain_event,
	.clReleaseEvent = stub_release_event,
	.clGetEventInfo = stub_event_info,
	.clGetEventProfilingInfo = stub_profiling_info,
	.clSetEventCallback = stub_set_callback,
	.clCreateUserEvent = stub_user_event,
	.clSetUserEventStatus = stub_set_user_event,
	.clFlush = stub_flush,
	.clFinish = stub_flush,
};

#define STUB_ENTRIES ((cl_uint)(sizeof(cl_icd_dispatch) / sizeof(void *)))

/* Loads the layer above @target. Returns its table, or NULL with a message on stderr. */
static inline const cl_icd_dispatch *stub_load_layer_on(const cl_icd_dispatch *target)
{
	const char *folder = getenv("B");
	const cl_icd_dispatch *table = NULL;
	pfn_clInitLayer init;
	cl_uint entries = 0;
	char path[512];
	void *library;

	for (int i = 0; i < STUB_EVENTS; i++) {
		stub.events[i].next = stub.free;
		stub.free = &stub.events[i];
	}
	stub.last = &stub.first;
	(void)snprintf(path, sizeof(path), "%s%s/libgover-cl.so",
		       folder && folder[0] == '/' ? "" : "./", folder ? folder : "build");
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	init = library ? (pfn_clInitLayer)dlsym(library, "clInitLayer") : NULL;
	if (!init || init(STUB_ENTRIES, target, &entries, &table) != CL_SUCCESS ||
	    entries != STUB_ENTRIES) {
		fprintf(stderr, "%s: %s\n", path, library ? "no layer" : dlerror());
		return NULL;
	}
	return table;
}

/* The same above the stub. */
static inline const cl_icd_dispatch *stub_load_layer(void)
{
	return stub_load_layer_on(&stub_table);
}

#endif
