/* SPDX-License-Identifier: MIT */
/* cl-conformance: lines of the transcript, gates, buffers, kernels and names. */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/parse.h"
#include "tests/helper/cl-conformance/conform.h"

#define PATIENCE_MS 10000

void say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vprintf(format, arguments);
	va_end(arguments);
	(void)putchar('\n');
}

void code(const char *call, cl_int error)
{
	say("%s: %s", call, device_error_name(error));
}

void must(cl_int error, const char *call)
{
	if (error == CL_SUCCESS)
		return;
	say("cannot go on: %s: %s", call, device_error_name(error));
	exit(1);
}

void *allocate(size_t size)
{
	void *memory = calloc(1, size);

	if (!memory) {
		say("cannot go on: out of memory");
		exit(1);
	}
	return memory;
}

const char *yes(bool value)
{
	return value ? "yes" : "no";
}

const char *status_name(cl_int status)
{
	switch (status) {
	case CL_COMPLETE:
		return "complete";
	case CL_RUNNING:
		return "running";
	case CL_SUBMITTED:
		return "submitted";
	case CL_QUEUED:
		return "queued";
	default:
		return device_error_name(status);
	}
}

const char *command_name(cl_command_type type)
{
	static const struct {
		cl_command_type type;
		const char *name;
	} names[] = {
		{CL_COMMAND_NDRANGE_KERNEL, "kernel"},
		{CL_COMMAND_TASK, "task"},
		{CL_COMMAND_READ_BUFFER, "read"},
		{CL_COMMAND_WRITE_BUFFER, "write"},
		{CL_COMMAND_COPY_BUFFER, "copy"},
		{CL_COMMAND_READ_BUFFER_RECT, "read rect"},
		{CL_COMMAND_WRITE_BUFFER_RECT, "write rect"},
		{CL_COMMAND_COPY_BUFFER_RECT, "copy rect"},
		{CL_COMMAND_FILL_BUFFER, "fill"},
		{CL_COMMAND_MAP_BUFFER, "map"},
		{CL_COMMAND_UNMAP_MEM_OBJECT, "unmap"},
		{CL_COMMAND_MARKER, "marker"},
		{CL_COMMAND_BARRIER, "barrier"},
		{CL_COMMAND_MIGRATE_MEM_OBJECTS, "migrate"},
		{CL_COMMAND_USER, "user"},
		{CL_COMMAND_READ_IMAGE, "read image"},
		{CL_COMMAND_WRITE_IMAGE, "write image"},
		{CL_COMMAND_COPY_IMAGE, "copy image"},
		{CL_COMMAND_FILL_IMAGE, "fill image"},
		{CL_COMMAND_MAP_IMAGE, "map image"},
		{CL_COMMAND_COPY_IMAGE_TO_BUFFER, "copy image to buffer"},
		{CL_COMMAND_COPY_BUFFER_TO_IMAGE, "copy buffer to image"},
		{CL_COMMAND_NATIVE_KERNEL, "native kernel"},
		{CL_COMMAND_SVM_FREE, "svm free"},
		{CL_COMMAND_SVM_MEMCPY, "svm copy"},
		{CL_COMMAND_SVM_MEMFILL, "svm fill"},
		{CL_COMMAND_SVM_MAP, "svm map"},
		{CL_COMMAND_SVM_UNMAP, "svm unmap"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].type == type)
			return names[i].name;
	return "unknown command";
}

void sleep_ms(unsigned int ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	(void)nanosleep(&time, NULL);
}

cl_int event_status(cl_event event)
{
	cl_int status = CL_QUEUED;

	must(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
			    NULL),
	     "clGetEventInfo");
	return status;
}

unsigned int patience_ms(void)
{
	const char *text = getenv("CL_PATIENCE_MS");
	int64_t ms;

	return text && parse_int(text, 1, PATIENCE_MS, &ms) == 0 ? (unsigned int)ms : PATIENCE_MS;
}

void await(bool (*condition)(void *data), void *data, unsigned int limit_ms)
{
	unsigned int patience = patience_ms();

	if (limit_ms > patience)
		limit_ms = patience;
	for (unsigned int ms = 0; ms < limit_ms && !condition(data); ms++)
		sleep_ms(1);
}

bool has_calls(void *calls)
{
	return atomic_load((atomic_int *)calls) > 0;
}

static bool ended(void *event)
{
	return event_status(event) <= CL_COMPLETE;
}

bool ends_soon(cl_event event)
{
	await(ended, event, PATIENCE_MS);
	return ended(event);
}

void finish_event(cl_event event)
{
	must(clWaitForEvents(1, &event), "clWaitForEvents");
	must(clReleaseEvent(event), "clReleaseEvent");
}

/* --- gates --- */

struct gate {
	cl_event event;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct timespec open_at; /* CLOCK_MONOTONIC */
	bool open;
	bool by_time_limit;
	bool timed; /* gate_open_after() was called: opening by time is no mistake */
};

static struct timespec after_ms(unsigned int ms)
{
	struct timespec at;

	(void)clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_nsec += (long)(ms % 1000) * 1000000;
	at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	return at;
}

/*
 * Sets the event with @lock held, so that gate_is_open() is never true before the event is set and
 * a second opening waits for the first.
 */
static void open_locked(struct gate *gate)
{
	if (gate->open)
		return;
	must(clSetUserEventStatus(gate->event, CL_COMPLETE), "clSetUserEventStatus");
	gate->open = true;
	(void)pthread_cond_signal(&gate->changed);
}

static bool is_before(struct timespec a, struct timespec b)
{
	return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec < b.tv_nsec);
}

static void *open_in_time(void *argument)
{
	struct gate *gate = argument;

	(void)pthread_mutex_lock(&gate->lock);
	while (!gate->open) {
		struct timespec now = after_ms(0), at = gate->open_at;

		if (!is_before(now, at)) {
			gate->by_time_limit = !gate->timed;
			open_locked(gate);
		} else {
			(void)pthread_cond_timedwait(&gate->changed, &gate->lock, &at);
		}
	}
	(void)pthread_mutex_unlock(&gate->lock);
	return NULL;
}

struct gate *gate_new(struct bed *bed)
{
	struct gate *gate = allocate(sizeof(*gate));
	pthread_condattr_t monotonic;
	cl_int error;

	gate->event = clCreateUserEvent(bed->context, &error);
	must(error, "clCreateUserEvent");
	(void)pthread_mutex_init(&gate->lock, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&gate->changed, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	gate->open_at = after_ms(patience_ms());
	if (pthread_create(&gate->thread, NULL, open_in_time, gate) != 0)
		must(CL_OUT_OF_RESOURCES, "pthread_create");
	return gate;
}

cl_event *gate_event(struct gate *gate)
{
	return &gate->event;
}

bool gate_open(struct gate *gate)
{
	bool late;

	(void)pthread_mutex_lock(&gate->lock);
	open_locked(gate);
	late = gate->by_time_limit;
	(void)pthread_mutex_unlock(&gate->lock);
	return !late;
}

void gate_open_after(struct gate *gate, unsigned int ms)
{
	(void)pthread_mutex_lock(&gate->lock);
	gate->open_at = after_ms(ms);
	gate->timed = true;
	(void)pthread_cond_signal(&gate->changed);
	(void)pthread_mutex_unlock(&gate->lock);
}

bool gate_is_open(struct gate *gate)
{
	bool open;

	(void)pthread_mutex_lock(&gate->lock);
	open = gate->open;
	(void)pthread_mutex_unlock(&gate->lock);
	return open;
}

void gate_free(struct gate *gate)
{
	(void)gate_open(gate);
	(void)pthread_join(gate->thread, NULL);
	must(clReleaseEvent(gate->event), "clReleaseEvent");
	(void)pthread_cond_destroy(&gate->changed);
	(void)pthread_mutex_destroy(&gate->lock);
	free(gate);
}

/* --- objects --- */

cl_uint references(enum kind kind, void *object)
{
	size_t size = sizeof(cl_uint);
	cl_int error = CL_INVALID_VALUE;
	cl_uint n = 0;

	switch (kind) {
	case CONTEXT:
		error = clGetContextInfo(object, CL_CONTEXT_REFERENCE_COUNT, size, &n, NULL);
		break;
	case QUEUE:
		error = clGetCommandQueueInfo(object, CL_QUEUE_REFERENCE_COUNT, size, &n, NULL);
		break;
	case BUFFER:
		error = clGetMemObjectInfo(object, CL_MEM_REFERENCE_COUNT, size, &n, NULL);
		break;
	case PROGRAM:
		error = clGetProgramInfo(object, CL_PROGRAM_REFERENCE_COUNT, size, &n, NULL);
		break;
	case KERNEL:
		error = clGetKernelInfo(object, CL_KERNEL_REFERENCE_COUNT, size, &n, NULL);
		break;
	case EVENT:
		error = clGetEventInfo(object, CL_EVENT_REFERENCE_COUNT, size, &n, NULL);
		break;
	}
	must(error, "reference count");
	return n;
}

cl_mem new_buffer(struct bed *bed)
{
	static cl_int zeros[N];
	cl_int error;
	cl_mem buffer = clCreateBuffer(bed->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
				       BYTES, zeros, &error);

	must(error, "clCreateBuffer");
	return buffer;
}

cl_command_queue new_queue(struct bed *bed, cl_command_queue_properties properties)
{
	cl_int error;
	cl_command_queue queue =
		clCreateCommandQueue(bed->context, bed->device, properties, &error);

	must(error, "clCreateCommandQueue");
	return queue;
}

static cl_event launch(cl_command_queue queue, cl_kernel kernel, struct gate *gate)
{
	size_t global = N;
	cl_event event;

	must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, gate ? 1 : 0,
				    gate ? gate_event(gate) : NULL, &event),
	     "clEnqueueNDRangeKernel");
	return event;
}

void set_arguments(cl_kernel kernel, cl_mem buffer, cl_int value)
{
	must(clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffer), "clSetKernelArg");
	must(clSetKernelArg(kernel, 1, sizeof(value), &value), "clSetKernelArg");
}

cl_event run_fill(struct bed *bed, cl_command_queue queue, cl_mem out, cl_int value,
		  struct gate *gate)
{
	set_arguments(bed->fill, out, value);
	return launch(queue, bed->fill, gate);
}

cl_event run_add(struct bed *bed, cl_command_queue queue, cl_mem data, cl_int value,
		 struct gate *gate)
{
	set_arguments(bed->add, data, value);
	return launch(queue, bed->add, gate);
}

cl_event run_slow(struct bed *bed, cl_command_queue queue, cl_mem out, cl_int value,
		  struct gate *gate)
{
	cl_int loops = LOOPS;

	set_arguments(bed->slow, out, value);
	must(clSetKernelArg(bed->slow, 2, sizeof(loops), &loops), "clSetKernelArg");
	return launch(queue, bed->slow, gate);
}

unsigned int others(const cl_int *values, cl_int value)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < N; i++)
		n += values[i] != value;
	return n;
}

const cl_int *contents(cl_command_queue queue, cl_mem buffer)
{
	static cl_int values[N];

	must(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, BYTES, values, 0, NULL, NULL),
	     "clEnqueueReadBuffer");
	return values;
}

void say_contents(struct bed *bed, const char *what, cl_mem buffer, cl_int value)
{
	unsigned int n = others(contents(bed->queue, buffer), value);

	if (n == 0)
		say("%s: all %d", what, value);
	else
		say("%s: %u of %d values are not %d", what, n, N, value);
}
