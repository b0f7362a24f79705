/* SPDX-License-Identifier: MIT */
/*
 * Events: a command of a queue, or a user event. All members are protected by event_lock, which
 * engine.c and event.c use.
 */
#ifndef TESTS_DOUBLE_EVENT_H
#define TESTS_DOUBLE_EVENT_H

#include <pthread.h>

#include "tests/double/work.h"

/* A command that waits for the event which owns the edge. */
struct edge {
	struct edge *next;
	cl_event waiter;  /* held */
	bool is_explicit; /* named by a wait list: a failure of the event is a failure of the waiter
			   */
};

struct callback {
	struct callback *next;
	void(CL_CALLBACK *call)(cl_event, cl_int, void *);
	void *data;
	cl_int type, status;
	cl_event event; /* held while it waits to be called */
};

struct _cl_event {
	struct object object;
	cl_context context;
	cl_command_queue queue; /* NULL: a user event */
	cl_command_type type;
	cl_int status;
	cl_int failure;			  /* what the status will be; 0: none */
	bool is_submitted;		  /* or complete */
	bool is_over;			  /* the launch has ended on the device */
	unsigned unsubmitted, incomplete; /* events that it waits for */
	struct edge *edges;
	struct callback *callbacks;
	uint64_t seq; /* of the launch on the device; 0: none */
	uint64_t queued_ns, submit_ns, start_ns, end_ns;
	struct work work;
	cl_event next;		/* in one list of the engine */
	cl_event before, after; /* in the queue */
};

extern pthread_mutex_t event_lock;
extern pthread_cond_t event_changed; /* an event is complete */

/* Creates an event with one reference. Returns NULL if memory is short. */
cl_event event_new(cl_context context, cl_command_queue queue, cl_command_type type);

/* The status at this time: a launch on the device is running after its start. */
cl_int event_status(cl_event event);

/* Queues callbacks for @status and the earlier states. The lock is held. */
void event_notify(cl_event event, cl_int status);

/* Waits until @event is complete or failed, and returns its status. The lock is held. */
cl_int event_wait(cl_event event);

#endif
