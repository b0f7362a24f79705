/* SPDX-License-Identifier: MIT */
/* Events, their callbacks and the thread that runs them. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "tests/double/api.h"
#include "tests/double/event.h"
#include "tests/double/store.h"

pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t event_changed = PTHREAD_COND_INITIALIZER;

/* Callbacks to run, in order. */
static struct callback *due, *last_due;
static pthread_cond_t is_due = PTHREAD_COND_INITIALIZER;
static bool is_running; /* the thread of callbacks exists */

static void destroy(void *object)
{
	cl_event event = object;

	while (event->callbacks) {
		struct callback *callback = event->callbacks;

		event->callbacks = callback->next;
		free(callback);
	}
	/* Only a user event without a result. Commands that wait for it never run. */
	while (event->edges) {
		struct edge *edge = event->edges;

		event->edges = edge->next;
		free(edge);
	}
	object_unhold(event->queue);
	object_unhold(event->context);
	free(event);
}

cl_event event_new(cl_context context, cl_command_queue queue, cl_command_type type)
{
	cl_event event = calloc(1, sizeof(*event));

	if (!event)
		return NULL;
	object_init(&event->object, OBJECT_EVENT, destroy);
	object_hold(context);
	event->context = context;
	if (queue)
		object_hold(queue);
	event->queue = queue;
	event->type = type;
	event->status = queue ? CL_QUEUED : CL_SUBMITTED;
	return event;
}

cl_int event_status(cl_event event)
{
	cl_int status;

	pthread_mutex_lock(&event_lock);
	status = event->status;
	if (status == CL_SUBMITTED && event->seq != 0 && event->start_ns <= store_now_ns())
		status = CL_RUNNING;
	pthread_mutex_unlock(&event_lock);
	return status;
}

void event_notify(cl_event event, cl_int status)
{
	struct callback **link = &event->callbacks;

	while (*link) {
		struct callback *callback = *link;

		if (callback->type < status) {
			link = &callback->next;
			continue;
		}
		*link = callback->next;
		callback->next = NULL;
		/* A command that fails reports the error to all callbacks. */
		callback->status = status < 0 ? status : callback->type;
		callback->event = event;
		object_hold(event);
		*(due ? &last_due->next : &due) = callback;
		last_due = callback;
		pthread_cond_signal(&is_due);
	}
}

static void *run_callbacks(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&event_lock);
	for (;;) {
		struct callback *callback = due;

		if (!callback) {
			pthread_cond_wait(&is_due, &event_lock);
			continue;
		}
		due = callback->next;
		pthread_mutex_unlock(&event_lock);
		callback->call(callback->event, callback->status, callback->data);
		object_unhold(callback->event);
		free(callback);
		pthread_mutex_lock(&event_lock);
	}
	return NULL;
}

/* Starts the thread of callbacks at the first callback. The lock is held. */
static bool start_callbacks(void)
{
	pthread_t thread;
	sigset_t all, old;

	if (is_running)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	is_running = pthread_create(&thread, NULL, run_callbacks, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (is_running)
		pthread_detach(thread);
	return is_running;
}

cl_int event_wait(cl_event event)
{
	while (event->status > CL_COMPLETE)
		pthread_cond_wait(&event_changed, &event_lock);
	return event->status;
}

cl_int double_clWaitForEvents(cl_uint n, const cl_event *events)
{
	cl_int code = CL_SUCCESS;

	if (n == 0 || !events)
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; i < n; i++) {
		if (!object_is(events[i], OBJECT_EVENT))
			return CL_INVALID_EVENT;
		if (events[i]->context != events[0]->context)
			return CL_INVALID_CONTEXT;
	}
	pthread_mutex_lock(&event_lock);
	for (cl_uint i = 0; i < n; i++) {
		if (event_wait(events[i]) < 0)
			code = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
	}
	pthread_mutex_unlock(&event_lock);
	return code;
}

cl_int double_clGetEventInfo(cl_event event, cl_event_info name, size_t room, void *value,
			     size_t *ret_size)
{
	if (!object_is(event, OBJECT_EVENT))
		return CL_INVALID_EVENT;
	switch (name) {
	case CL_EVENT_COMMAND_QUEUE:
		return INFO(cl_command_queue, event->queue, room, value, ret_size);
	case CL_EVENT_CONTEXT:
		return INFO(cl_context, event->context, room, value, ret_size);
	case CL_EVENT_COMMAND_TYPE:
		return INFO(cl_command_type, event->type, room, value, ret_size);
	case CL_EVENT_COMMAND_EXECUTION_STATUS:
		return INFO(cl_int, event_status(event), room, value, ret_size);
	case CL_EVENT_REFERENCE_COUNT:
		return INFO(cl_uint, object_references(event), room, value, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

cl_int double_clGetEventProfilingInfo(cl_event event, cl_profiling_info name, size_t room,
				      void *value, size_t *ret_size)
{
	if (!object_is(event, OBJECT_EVENT))
		return CL_INVALID_EVENT;
	if (!event->queue || !(event->queue->properties & CL_QUEUE_PROFILING_ENABLE) ||
	    event_status(event) != CL_COMPLETE)
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	switch (name) {
	case CL_PROFILING_COMMAND_QUEUED:
		return INFO(cl_ulong, event->queued_ns, room, value, ret_size);
	case CL_PROFILING_COMMAND_SUBMIT:
		return INFO(cl_ulong, event->submit_ns, room, value, ret_size);
	case CL_PROFILING_COMMAND_START:
		return INFO(cl_ulong, event->start_ns, room, value, ret_size);
	case CL_PROFILING_COMMAND_END:
	case CL_PROFILING_COMMAND_COMPLETE:
		return INFO(cl_ulong, event->end_ns, room, value, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

DOUBLE_REFERENCES(Event, cl_event, OBJECT_EVENT, CL_INVALID_EVENT)

cl_int double_clSetEventCallback(cl_event event, cl_int type,
				 void(CL_CALLBACK *call)(cl_event, cl_int, void *), void *data)
{
	struct callback *callback, **end;
	cl_int code = CL_OUT_OF_HOST_MEMORY;

	if (!object_is(event, OBJECT_EVENT))
		return CL_INVALID_EVENT;
	if (!call || (type != CL_COMPLETE && type != CL_RUNNING && type != CL_SUBMITTED))
		return CL_INVALID_VALUE;
	callback = calloc(1, sizeof(*callback));
	if (!callback)
		return CL_OUT_OF_HOST_MEMORY;
	*callback = (struct callback){.call = call, .data = data, .type = type};
	pthread_mutex_lock(&event_lock);
	if (start_callbacks()) {
		for (end = &event->callbacks; *end; end = &(*end)->next)
			;
		*end = callback;
		if (event->is_submitted)
			event_notify(event, event->status);
		code = CL_SUCCESS;
	} else {
		free(callback);
	}
	pthread_mutex_unlock(&event_lock);
	return code;
}
