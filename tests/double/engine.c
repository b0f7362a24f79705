/* SPDX-License-Identifier: MIT */
/*
 * The commands and events of this process. Lock order: event_lock, then store_lock. The completer
 * never holds event_lock while it applies an effect.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "tests/double/api.h"
#include "tests/double/engine.h"
#include "tests/double/launch.h"
#include "tests/double/setup.h"
#include "tests/double/store.h"

/* How often a process that waits looks for ended clients and for launches that became earlier. */
#define LOOK_NS 5000000

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

/* Protects all members of events. */
static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t event_changed = PTHREAD_COND_INITIALIZER; /* an event is complete */

/* Callbacks to run, in order. */
static struct callback *due, *last_due;
static pthread_cond_t is_due = PTHREAD_COND_INITIALIZER;
static bool is_running; /* the thread of callbacks exists */

static void destroy_event(void *object)
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

/* Creates an event with one reference. Returns NULL if memory is short. */
static cl_event new_event(cl_context context, cl_command_queue queue, cl_command_type type)
{
	cl_event event = calloc(1, sizeof(*event));

	if (!event)
		return NULL;
	object_init(&event->object, OBJECT_EVENT, destroy_event);
	object_hold(context);
	event->context = context;
	if (queue)
		object_hold(queue);
	event->queue = queue;
	event->type = type;
	event->status = queue ? CL_QUEUED : CL_SUBMITTED;
	return event;
}

/* The status at this time: a launch on the device is running after its start. */
static cl_int status_of(cl_event event)
{
	cl_int status;

	pthread_mutex_lock(&event_lock);
	status = event->status;
	if (status == CL_SUBMITTED && event->seq != 0 && event->start_ns <= store_now_ns())
		status = CL_RUNNING;
	pthread_mutex_unlock(&event_lock);
	return status;
}

/* Queues callbacks for @status and the earlier states. The lock is held. */
static void notify(cl_event event, cl_int status)
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

/* Waits until @event is complete or failed, and returns its status. The lock is held. */
static cl_int wait_for_end(cl_event event)
{
	while (event->status > CL_COMPLETE)
		pthread_cond_wait(&event_changed, &event_lock);
	return event->status;
}

/* --- the device --- */

struct list {
	cl_event first, last;
};

static struct {
	struct store *store;
	struct device_state *seen; /* of the completer */
	pthread_cond_t work;	   /* the completer has something to do */
	struct list inflight;	   /* on the device, in order */
	struct list outbox;	   /* submitted, but the device had no room */
	struct list ready;	   /* to be completed now */
	uint64_t look_ns;	   /* time of the next look */
	uint64_t losses;	   /* of the device, at the last look */
} engine;

/* Also held for reads: a thread of this process may write the slot that is being copied. */
static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t started = PTHREAD_ONCE_INIT;
static int start_code = -ENODEV;

static void push(struct list *list, cl_event event)
{
	event->next = NULL;
	if (list->last)
		list->last->next = event;
	else
		list->first = event;
	list->last = event;
}

static cl_event pop(struct list *list)
{
	cl_event event = list->first;

	if (!event)
		return NULL;
	list->first = event->next;
	if (!list->first)
		list->last = NULL;
	event->next = NULL;
	return event;
}

static int apply(store_change *change, void *arg)
{
	int rc;

	pthread_mutex_lock(&store_lock);
	rc = store_apply(engine.store, change, arg);
	pthread_mutex_unlock(&store_lock);
	return rc;
}

struct submission {
	unsigned client;
	uint64_t ns;
	struct device_launch launch;
};

static int submit(struct device_state *state, uint64_t now_ns, void *arg)
{
	struct submission *submission = arg;

	return device_submit(state, submission->client, submission->ns, now_ns,
			     &submission->launch);
}

static void be_ready(cl_event event)
{
	push(&engine.ready, event);
	pthread_cond_signal(&engine.work);
}

/* The launch of @event ended at @end_ns, or will never run. */
static void be_over(cl_event event, uint64_t end_ns)
{
	event->is_over = true;
	event->end_ns = end_ns;
	if (event->start_ns > end_ns)
		event->start_ns = end_ns;
	if (event->incomplete == 0)
		be_ready(event);
}

/* Puts launches from the outbox on the device while it has room. */
static void send(void)
{
	while (engine.outbox.first) {
		cl_event event = engine.outbox.first;
		struct submission submission = {
			.client = store_client(engine.store),
			.ns = event->work.launch->ns,
		};
		int rc = apply(submit, &submission);

		if (rc == DEVICE_E_FULL)
			return;
		pop(&engine.outbox);
		event->submit_ns = store_now_ns();
		if (rc != 0) {
			event->failure = CL_OUT_OF_RESOURCES;
			be_over(event, event->submit_ns);
			continue;
		}
		event->seq = submission.launch.seq;
		event->submit_ns = submission.launch.submit_ns;
		event->start_ns = submission.launch.start_ns;
		event->end_ns = submission.launch.end_ns;
		push(&engine.inflight, event);
		pthread_cond_signal(&engine.work);
	}
}

/*
 * Submits @event, and then all commands that only waited for submissions. A list instead of a
 * recursion, because a chain of commands can be long.
 */
static void submit_chain(cl_event event)
{
	struct list chain = {0};

	push(&chain, event);
	while ((event = pop(&chain)) != NULL) {
		event->is_submitted = true;
		event->submit_ns = store_now_ns();
		if (event->status > CL_SUBMITTED)
			event->status = CL_SUBMITTED;
		notify(event, CL_SUBMITTED);
		if (event->work.kind == WORK_LAUNCH && !event->failure)
			push(&engine.outbox, event);
		else
			be_over(event, event->submit_ns);
		for (struct edge *edge = event->edges; edge; edge = edge->next) {
			if (--edge->waiter->unsubmitted == 0)
				push(&chain, edge->waiter);
		}
	}
	send();
}

/* One of the events that @waiter waits for has ended with @status. */
static void release(cl_event waiter, bool is_explicit, bool was_submitted, cl_int status)
{
	waiter->incomplete--;
	if (status < 0 && is_explicit && !waiter->failure)
		waiter->failure = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
	/* Nothing runs on a lost device, and no result of it is valid. */
	if (status == CL_OUT_OF_RESOURCES && !waiter->failure)
		waiter->failure = status;
	if (!was_submitted && --waiter->unsubmitted == 0)
		submit_chain(waiter);
	else if (waiter->incomplete == 0 && waiter->is_over)
		be_ready(waiter);
}

static void leave_queue(cl_event event)
{
	cl_command_queue queue = event->queue;

	*(event->before ? &event->before->after : &queue->first) = event->after;
	*(event->after ? &event->after->before : &queue->last) = event->before;
	if (queue->barrier == event)
		queue->barrier = NULL;
}

/* Completes an event with CL_COMPLETE or an error. The lock is held. */
static void complete_event(cl_event event, cl_int status)
{
	struct edge *edges = event->edges;
	bool was_submitted = event->is_submitted;

	event->edges = NULL;
	event->is_submitted = true;
	event->status = status;
	if (event->queue)
		leave_queue(event);
	notify(event, status);
	while (edges) {
		struct edge *edge = edges;

		edges = edge->next;
		release(edge->waiter, edge->is_explicit, was_submitted, status);
		object_unhold(edge->waiter);
		free(edge);
	}
	pthread_cond_broadcast(&event_changed);
}

static void copy_rect(const struct rect *rect)
{
	for (size_t z = 0; z < rect->region[2]; z++) {
		for (size_t y = 0; y < rect->region[1]; y++)
			memmove(rect->to + z * rect->to_slice + y * rect->to_row,
				rect->from + z * rect->from_slice + y * rect->from_row,
				rect->region[0]);
	}
}

static void take_effect(const struct work *work)
{
	switch (work->kind) {
	case WORK_NOTHING:
		break;
	case WORK_COPY:
		copy_rect(&work->rect);
		break;
	case WORK_FILL:
		for (size_t i = 0; i < work->fill.size; i += work->fill.pattern_size)
			memcpy(work->fill.to + i, work->fill.pattern, work->fill.pattern_size);
		break;
	case WORK_LAUNCH:
		launch_run(work->launch);
		break;
	}
}

static void drop_work(struct work *work)
{
	for (size_t i = 0; i < 2; i++)
		object_unhold(work->mems[i]);
	if (work->kind == WORK_LAUNCH)
		launch_free(work->launch);
	*work = (struct work){.kind = WORK_NOTHING};
}

/* Applies the effect of a ready command and completes it. The lock is released meanwhile. */
static void complete(cl_event event)
{
	struct work work = event->work;
	cl_int failure = event->failure;

	event->work = (struct work){.kind = WORK_NOTHING};
	if (work.kind != WORK_LAUNCH)
		event->start_ns = store_now_ns();
	pthread_mutex_unlock(&event_lock);
	if (!failure)
		take_effect(&work);
	pthread_mutex_lock(&event_lock);
	if (work.kind != WORK_LAUNCH)
		event->end_ns = store_now_ns();
	complete_event(event, failure ? failure : CL_COMPLETE);
	pthread_mutex_unlock(&event_lock);
	drop_work(&work);
	object_unhold(event);
	pthread_mutex_lock(&event_lock);
}

/* Gets new times of the launches in flight. A launch that has left the queue has ended. */
static void look(uint64_t now_ns)
{
	const struct device_state *seen = engine.seen;
	struct list inflight = engine.inflight;
	bool was_lost;
	cl_event event;
	uint64_t i = 0;

	engine.look_ns = now_ns + LOOK_NS;
	pthread_mutex_lock(&store_lock);
	store_reap(engine.store);
	store_read(engine.store, engine.seen);
	pthread_mutex_unlock(&store_lock);
	was_lost = seen->losses != engine.losses;
	engine.losses = seen->losses;
	engine.inflight = (struct list){0};
	while ((event = pop(&inflight)) != NULL) {
		while (i < seen->queued && seen->queue[i].seq < event->seq)
			i++;
		if (i < seen->queued && seen->queue[i].seq == event->seq) {
			event->start_ns = seen->queue[i].start_ns;
			event->end_ns = seen->queue[i].end_ns;
			push(&engine.inflight, event);
			continue;
		}
		if (was_lost && event->end_ns > now_ns)
			event->failure = CL_OUT_OF_RESOURCES;
		be_over(event, event->end_ns < now_ns ? event->end_ns : now_ns);
	}
}

static void sleep_until(uint64_t ns)
{
	struct timespec until = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	pthread_cond_timedwait(&engine.work, &event_lock, &until);
}

static void *run_completer(void *unused)
{
	(void)unused;
	(void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	(void)prctl(PR_SET_NAME, "double-device");
	pthread_mutex_lock(&event_lock);
	for (;;) {
		cl_event event = pop(&engine.ready);
		uint64_t now_ns;

		if (event) {
			complete(event);
			continue;
		}
		now_ns = store_now_ns();
		event = engine.inflight.first;
		if (event && event->end_ns <= now_ns) {
			pop(&engine.inflight);
			be_over(event, event->end_ns);
			send();
		} else if (!event && !engine.outbox.first) {
			pthread_cond_wait(&engine.work, &event_lock);
			engine.look_ns = store_now_ns() + LOOK_NS;
		} else if (now_ns >= engine.look_ns) {
			look(now_ns);
			send();
		} else {
			sleep_until(event && event->end_ns < engine.look_ns ? event->end_ns
									    : engine.look_ns);
		}
	}
	return NULL;
}

/* The signals of the application are handled by its own threads. */
static int start_thread(void *(*run)(void *))
{
	pthread_t thread;
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc == 0)
		pthread_detach(thread);
	return -rc;
}

static int start_completer(void)
{
	pthread_condattr_t clock;

	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&engine.work, &clock);
	pthread_condattr_destroy(&clock);
	return start_thread(run_completer);
}

static void start(void)
{
	struct setup setup;
	struct store *store = NULL;

	start_code = setup_read(&setup);
	if (start_code < 0)
		return;
	engine.seen = malloc(sizeof(*engine.seen));
	start_code = engine.seen ? store_open(setup.path, setup.memory_bytes, &store) : -ENOMEM;
	if (start_code == 0)
		start_code = store_join(store, setup.label);
	engine.store = store;
	if (start_code == 0) {
		store_read(store, engine.seen);
		engine.losses = engine.seen->losses;
		start_code = start_completer();
	}
	if (start_code < 0)
		fprintf(stderr, "gover-double: %s: %s\n", setup.path, strerror(-start_code));
}

int engine_start(void)
{
	pthread_once(&started, start);
	return start_code;
}

/* Makes @event wait for @dependency, unless that is complete. Returns false if memory is short. */
static bool wait_for(cl_event event, cl_event dependency, bool is_explicit)
{
	struct edge *edge;

	if (dependency->status <= 0) {
		if (dependency->status < 0 && is_explicit && !event->failure)
			event->failure = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
		return true;
	}
	edge = malloc(sizeof(*edge));
	if (!edge)
		return false;
	*edge = (struct edge){dependency->edges, event, is_explicit};
	dependency->edges = edge;
	object_hold(event);
	event->incomplete++;
	if (!dependency->is_submitted)
		event->unsubmitted++;
	return true;
}

/* Makes @event wait for what its queue and its wait list demand. */
static bool wait_for_all(cl_event event, const struct order *order)
{
	cl_command_queue queue = event->queue;
	bool in_order = !(queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	bool is_fine = true;

	for (cl_uint i = 0; i < order->n_waits; i++)
		is_fine = is_fine && wait_for(event, order->waits[i], true);
	if (in_order && queue->last)
		return is_fine && wait_for(event, queue->last, false);
	if (!in_order && event->work.is_marker && order->n_waits == 0) {
		for (cl_event other = queue->first; other; other = other->after)
			is_fine = is_fine && wait_for(event, other, false);
	}
	if (queue->barrier)
		is_fine = is_fine && wait_for(event, queue->barrier, false);
	return is_fine;
}

/* Puts @event, which holds its queue, behind the other commands of the queue. */
static void enter_queue(cl_event event)
{
	cl_command_queue queue = event->queue;

	event->before = queue->last;
	*(queue->last ? &queue->last->after : &queue->first) = event;
	queue->last = event;
	if (event->work.is_barrier)
		queue->barrier = event;
}

static cl_int check_order(cl_command_queue queue, const struct order *order)
{
	if ((order->n_waits == 0) != (order->waits == NULL))
		return CL_INVALID_EVENT_WAIT_LIST;
	for (cl_uint i = 0; i < order->n_waits; i++) {
		if (!object_is(order->waits[i], OBJECT_EVENT))
			return CL_INVALID_EVENT_WAIT_LIST;
		if (order->waits[i]->context != queue->context)
			return CL_INVALID_CONTEXT;
	}
	return CL_SUCCESS;
}

static int count_command(struct device_state *state, uint64_t now_ns, void *arg)
{
	(void)now_ns;
	(void)arg;
	return device_enqueue(state);
}

/* Links @event to what it waits for and submits it if possible. Returns its status if blocking. */
static cl_int link_and_submit(cl_event event, const struct order *order)
{
	cl_int status = CL_SUCCESS;

	pthread_mutex_lock(&event_lock);
	event->queued_ns = store_now_ns();
	if (!wait_for_all(event, order))
		event->failure = CL_OUT_OF_HOST_MEMORY;
	enter_queue(event);
	if (event->unsubmitted == 0)
		submit_chain(event);
	if (order->is_blocking)
		status = wait_for_end(event);
	pthread_mutex_unlock(&event_lock);
	return status;
}

cl_int engine_enqueue(cl_command_queue queue, cl_command_type type, const struct work *work,
		      const struct order *order)
{
	struct work own = *work;
	cl_event event = NULL;
	cl_int code = check_order(queue, order), status;

	for (size_t i = 0; i < 2; i++) {
		if (own.mems[i])
			object_hold(own.mems[i]);
	}
	if (code == CL_SUCCESS && !own.is_internal && store_has_faults(engine.store) &&
	    apply(count_command, NULL) != 0)
		code = CL_OUT_OF_RESOURCES;
	if (code == CL_SUCCESS) {
		event = new_event(queue->context, queue, type);
		code = event ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
	}
	if (code != CL_SUCCESS) {
		drop_work(&own);
		return code;
	}
	event->work = own;
	/* Held until the command is complete. The first reference belongs to the application. */
	object_hold(event);
	status = link_and_submit(event, order);
	if (order->ret_event)
		*order->ret_event = event;
	else
		object_release(event, OBJECT_EVENT, CL_INVALID_EVENT);
	return status < 0 ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
}

cl_int engine_finish(cl_command_queue queue)
{
	struct work work = {.kind = WORK_NOTHING, .is_marker = true, .is_internal = true};
	struct order order = {.is_blocking = CL_TRUE};

	return engine_enqueue(queue, CL_COMMAND_MARKER, &work, &order) == CL_SUCCESS
		       ? CL_SUCCESS
		       : CL_OUT_OF_RESOURCES;
}

static int allocate(struct device_state *state, uint64_t now_ns, void *arg)
{
	device_settle(state, now_ns);
	return device_allocate(state, store_client(engine.store), *(uint64_t *)arg);
}

static int deallocate(struct device_state *state, uint64_t now_ns, void *arg)
{
	device_settle(state, now_ns);
	device_free(state, store_client(engine.store), *(uint64_t *)arg);
	return 0;
}

cl_int engine_allocate(size_t bytes)
{
	uint64_t wanted = bytes;
	int rc;

	pthread_mutex_lock(&store_lock);
	store_reap(engine.store);
	rc = store_apply(engine.store, allocate, &wanted);
	pthread_mutex_unlock(&store_lock);
	if (rc == DEVICE_E_LOST)
		return CL_OUT_OF_RESOURCES;
	return rc == 0 ? CL_SUCCESS : CL_MEM_OBJECT_ALLOCATION_FAILURE;
}

void engine_free(size_t bytes)
{
	uint64_t freed = bytes;

	apply(deallocate, &freed);
}

static void read_state(cl_ulong *ret_memory, bool *ret_lost)
{
	struct device_state *state = malloc(sizeof(*state));

	if (!state)
		return;
	pthread_mutex_lock(&store_lock);
	store_read(engine.store, state);
	pthread_mutex_unlock(&store_lock);
	*ret_memory = state->memory_bytes;
	*ret_lost = state->faults.lost != 0;
	free(state);
}

cl_ulong engine_memory_bytes(void)
{
	cl_ulong bytes = 0;
	bool is_lost;

	read_state(&bytes, &is_lost);
	return bytes;
}

bool engine_is_lost(void)
{
	cl_ulong bytes;
	bool is_lost = false;

	read_state(&bytes, &is_lost);
	return is_lost;
}

/* --- functions of events --- */

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
		if (wait_for_end(events[i]) < 0)
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
		return INFO(cl_int, status_of(event), room, value, ret_size);
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
	    status_of(event) != CL_COMPLETE)
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
	is_running = is_running || start_thread(run_callbacks) == 0;
	if (is_running) {
		for (end = &event->callbacks; *end; end = &(*end)->next)
			;
		*end = callback;
		if (event->is_submitted)
			notify(event, event->status);
		code = CL_SUCCESS;
	} else {
		free(callback);
	}
	pthread_mutex_unlock(&event_lock);
	return code;
}

/* The application completes user events. Commands that wait for them are submitted then. */
cl_event double_clCreateUserEvent(cl_context context, cl_int *ret_code)
{
	cl_event event;

	if (!object_is(context, OBJECT_CONTEXT))
		return result(NULL, CL_INVALID_CONTEXT, ret_code);
	event = new_event(context, NULL, CL_COMMAND_USER);
	return result(event, event ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY, ret_code);
}

cl_int double_clSetUserEventStatus(cl_event event, cl_int status)
{
	cl_int code = CL_SUCCESS;

	if (!object_is(event, OBJECT_EVENT) || event->queue)
		return CL_INVALID_EVENT;
	if (status > CL_COMPLETE)
		return CL_INVALID_VALUE;
	pthread_mutex_lock(&event_lock);
	if (event->status <= CL_COMPLETE)
		code = CL_INVALID_OPERATION;
	else
		complete_event(event, status);
	pthread_mutex_unlock(&event_lock);
	return code;
}
