/* SPDX-License-Identifier: MIT */
/* Callbacks of events, and user events that are set to an error. */
#include <pthread.h>

#include "tests/helper/cl-conformance/conform.h"

#define WAIT_MS	 10000
#define ERROR_MS 2000 /* PoCL 3.1 does not call the callbacks of commands that fail */

/* What a callback has observed. */
struct seen {
	pthread_mutex_t lock;
	unsigned int calls;
	cl_int status;
	cl_event event;
	const cl_int *values; /* checked in the callback */
	cl_int value;
	unsigned int different;
};

static void init_seen(struct seen *seen)
{
	*seen = (struct seen){.status = CL_QUEUED};
	(void)pthread_mutex_init(&seen->lock, NULL);
}

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *data)
{
	struct seen *seen = data;

	(void)pthread_mutex_lock(&seen->lock);
	seen->calls++;
	seen->status = status;
	seen->event = event;
	if (seen->values)
		seen->different = others(seen->values, seen->value);
	(void)pthread_mutex_unlock(&seen->lock);
}

static unsigned int calls(struct seen *seen)
{
	unsigned int n;

	(void)pthread_mutex_lock(&seen->lock);
	n = seen->calls;
	(void)pthread_mutex_unlock(&seen->lock);
	return n;
}

static bool is_called(void *seen)
{
	return calls(seen) > 0;
}

static void say_seen_within(unsigned int ms, const char *what, struct seen *seen, cl_event event)
{
	await(is_called, seen, ms);
	say("%s: calls %u, own event: %s, status %s", what, calls(seen), yes(seen->event == event),
	    status_name(seen->status));
}

static void say_seen(const char *what, struct seen *seen, cl_event event)
{
	say_seen_within(WAIT_MS, what, seen, event);
}

static void gated(struct bed *bed)
{
	static const cl_int kinds[] = {CL_COMPLETE, CL_RUNNING, CL_SUBMITTED};
	struct gate *gate = gate_new(bed);
	cl_event event = run_fill(bed, bed->queue, bed->buffer, 1, gate);
	struct seen seen[3];

	for (int i = 0; i < 3; i++) {
		init_seen(&seen[i]);
		code("set a callback", clSetEventCallback(event, kinds[i], on_event, &seen[i]));
	}
	must(clFlush(bed->queue), "clFlush");
	sleep_ms(50);
	say("called before the kernel: complete: %u, running: %u", calls(&seen[0]),
	    calls(&seen[1]));
	say("gate: opened in time: %s", yes(gate_open(gate)));
	must(clWaitForEvents(1, &event), "clWaitForEvents");
	say_seen("callback for complete", &seen[0], event);
	say_seen("callback for running", &seen[1], event);
	say_seen("callback for submitted", &seen[2], event);
	code("set a callback, function NULL", clSetEventCallback(event, CL_COMPLETE, NULL, NULL));
	must(clReleaseEvent(event), "clReleaseEvent");
	gate_free(gate);
}

/* On an event that is complete, and with the data of a read. */
static void late_and_read(struct bed *bed)
{
	static cl_int out[N];
	cl_event event = run_fill(bed, bed->queue, bed->buffer, 77, NULL), read;
	struct seen late, data;

	init_seen(&late);
	init_seen(&data);
	must(clWaitForEvents(1, &event), "clWaitForEvents");
	code("set a callback on a complete event",
	     clSetEventCallback(event, CL_COMPLETE, on_event, &late));
	say_seen("callback on a complete event", &late, event);
	must(clReleaseEvent(event), "clReleaseEvent");

	data.values = out;
	data.value = 88;
	event = run_slow(bed, bed->queue, bed->buffer, 88, NULL);
	must(clEnqueueReadBuffer(bed->queue, bed->buffer, CL_FALSE, 0, BYTES, out, 0, NULL, &read),
	     "clEnqueueReadBuffer");
	must(clSetEventCallback(read, CL_COMPLETE, on_event, &data), "clSetEventCallback");
	must(clFlush(bed->queue), "clFlush");
	say_seen("callback of a read", &data, read);
	say("values that differ in the callback: %u", data.different);
	finish_event(event);
	must(clReleaseEvent(read), "clReleaseEvent");
}

static void user_event(struct bed *bed)
{
	cl_int error;
	cl_event event = clCreateUserEvent(bed->context, &error);
	struct seen seen;

	init_seen(&seen);
	code("user event", error);
	say("user event at first: %s", status_name(event_status(event)));
	must(clSetEventCallback(event, CL_COMPLETE, on_event, &seen), "clSetEventCallback");
	code("set to running", clSetUserEventStatus(event, CL_RUNNING));
	code("set to complete", clSetUserEventStatus(event, CL_COMPLETE));
	code("set again", clSetUserEventStatus(event, CL_COMPLETE));
	say("user event at the end: %s", status_name(event_status(event)));
	say_seen("callback of a user event", &seen, event);
	code("wait for it", clWaitForEvents(1, &event));
	must(clReleaseEvent(event), "clReleaseEvent");
}

/* An error of a user event reaches the command that waits for it. */
static void failed_user_event(struct bed *bed)
{
	cl_command_queue queue = new_queue(bed, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	size_t global = N;
	cl_int error;
	cl_event user = clCreateUserEvent(bed->context, &error), kernel;
	struct seen seen;

	must(error, "clCreateUserEvent");
	init_seen(&seen);
	set_arguments(bed->fill, bed->other, 3);
	must(clEnqueueNDRangeKernel(queue, bed->fill, 1, NULL, &global, NULL, 1, &user, &kernel),
	     "clEnqueueNDRangeKernel");
	must(clFlush(queue), "clFlush");
	must(clSetEventCallback(kernel, CL_COMPLETE, on_event, &seen), "clSetEventCallback");
	code("set to an error", clSetUserEventStatus(user, CL_OUT_OF_RESOURCES));
	say("user event: %s", status_name(event_status(user)));
	say("command that waits for it: ends: %s", yes(ends_soon(kernel)));
	say("command that waits for it: %s", status_name(event_status(kernel)));
	say_seen_within(ERROR_MS, "callback of this command", &seen, kernel);
	code("wait for the command", clWaitForEvents(1, &kernel));
	code("wait for the user event", clWaitForEvents(1, &user));
	say_contents(bed, "kernel that must not run", bed->other, 0);
	must(clReleaseEvent(kernel), "clReleaseEvent");
	must(clReleaseEvent(user), "clReleaseEvent");
	must(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
}

void section_callbacks(struct bed *bed)
{
	gated(bed);
	late_and_read(bed);
	user_event(bed);
	failed_user_event(bed);
}
