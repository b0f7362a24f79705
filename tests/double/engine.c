/* SPDX-License-Identifier: MIT */
/*
 * The commands of this process. Lock order: event_lock, then store_lock. The completer never holds
 * event_lock while it applies an effect.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "tests/double/engine.h"
#include "tests/double/event.h"
#include "tests/double/launch.h"
#include "tests/double/setup.h"
#include "tests/double/store.h"

/* How often a process that waits looks for ended clients and for launches that became earlier. */
#define LOOK_NS 5000000

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
		event_notify(event, CL_SUBMITTED);
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

void engine_complete(cl_event event, cl_int status)
{
	struct edge *edges = event->edges;
	bool was_submitted = event->is_submitted;

	event->edges = NULL;
	event->is_submitted = true;
	event->status = status;
	if (event->queue)
		leave_queue(event);
	event_notify(event, status);
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
	engine_complete(event, failure ? failure : CL_COMPLETE);
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
static int start_thread(void)
{
	pthread_condattr_t clock;
	pthread_t thread;
	sigset_t all, old;
	int rc;

	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&engine.work, &clock);
	pthread_condattr_destroy(&clock);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, NULL, run_completer, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc == 0)
		pthread_detach(thread);
	return -rc;
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
		start_code = start_thread();
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
		status = event_wait(event);
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
		event = event_new(queue->context, queue, type);
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
