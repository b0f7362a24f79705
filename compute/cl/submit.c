/* SPDX-License-Identifier: MIT */
/*
 * Submissions, from the hook to the end of the work. Each has an event, of the program or of the
 * layer, so that its completion can be noticed.
 *
 * Queues: every queue is created so that the device measures times, which the program must not
 * notice: queries are answered as if the queue had only the properties that the program set.
 *
 * Flights are batches in flight. The last submission of a batch gets a completion callback. The
 * event of the newest submission of an unfinished batch is kept: if nothing else of the queue is in
 * flight, the callback is attached to it, so that the end of all work is noticed without an
 * additional command in the queue. A batch has a ticket while it waits for its completion: the
 * number of its entry, and a count that makes tickets unique. The thread that takes the ticket ends
 * the batch. A late callback has a ticket that no longer exists, and does nothing. PoCL calls no
 * callback for a command that ends with an error; sweep() therefore reads the status.
 *
 * Roots are user events that the program has not set. A command that waits for a root, or for a
 * command that does, cannot begin before the program acts. Such a command must not wait in the
 * gate, because the waiting thread may be the one that sets the event. Markers and barriers need no
 * device time and never wait in the gate, but they decide which later submissions have roots. A set
 * of roots is a bit mask. All user events beyond ROOTS_MAX - 1 share the last bit. Two tables are
 * under one lock: user events by bit, and events of commands that depend on them. The lock is not
 * taken while there is no user event to wait for.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/preload/debug.h"
#include "compute/cl/submit.h"
#include "compute/cl/target.h"
#include "compute/tenant/gate.h"
#include "compute/tenant/lock.h"

#define QUEUES_MAX  1024
#define FLIGHTS_MAX 4096
#define ROOTS_MAX   64

#define DEVICES_MAX 64

#define EXIT_PAUSE_NS 100000
#define EXIT_PAUSES   1000

#define DERIVED_MAX 1024

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

struct queue *submit_find_queue(cl_command_queue handle)
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

static bool roots_locked;
static uint64_t living;		  /* bits of roots that exist */
static cl_event roots[ROOTS_MAX]; /* by bit; the last is not used */
static unsigned int beyond;	  /* user events that share the last bit */
static struct {
	cl_event event;
	uint64_t roots;
} derived[DERIVED_MAX];
static unsigned int n_derived;

/* Removes roots that no longer exist from all queues. */
static void keep_roots(void)
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
	struct queue *queue = submit_find_queue(handle);
	cl_int result = target.clRetainCommandQueue(handle);

	if (queue && result == CL_SUCCESS)
		(void)__atomic_add_fetch(&queue->references, 1, __ATOMIC_RELAXED);
	return result;
}

static cl_int CL_API_CALL release_queue(cl_command_queue handle)
{
	struct queue *queue = submit_find_queue(handle);
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
	const struct queue *queue = submit_find_queue(handle);
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
	struct queue *queue = submit_find_queue(handle);
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

struct flight {
	uintptr_t ticket;    /* 0: none */
	struct flight *next; /* in the list of free entries */
	struct queue *queue;
	struct batch batch;
	cl_event event; /* of the last submission; owned */
};

static struct flight flights[FLIGHTS_MAX];
static unsigned int flights_used; /* entries of the table that were ever used */
static struct flight *flights_free;
static bool flights_locked;
static uintptr_t tickets;   /* issued so far */
static unsigned int ending; /* threads that have taken a ticket and not yet ended its batch */

static struct flight *take_flight(void)
{
	struct flight *flight = NULL;
	unsigned int used;

	tenant_lock(&flights_locked);
	used = flights_used;
	if (flights_free) {
		flight = flights_free;
		flights_free = flight->next;
	} else if (used < FLIGHTS_MAX) {
		flight = &flights[used];
		__atomic_store_n(&flights_used, used + 1, __ATOMIC_RELEASE);
	}
	tenant_unlock(&flights_locked);
	return flight;
}

static void free_flight(struct flight *flight)
{
	tenant_lock(&flights_locked);
	flight->next = flights_free;
	flights_free = flight;
	tenant_unlock(&flights_locked);
}

static uint64_t read_time(cl_event event, cl_profiling_info name, bool *valid)
{
	cl_ulong ns = 0;

	if (target.clGetEventProfilingInfo(event, name, sizeof(ns), &ns, NULL) != CL_SUCCESS)
		*valid = false;
	return ns;
}

static void account(struct flight *flight, cl_int status)
{
	struct batch_times times = {.valid = flight->queue->measured && status == CL_COMPLETE};
	cl_event event = flight->event;
	struct gate_work work;

	if (times.valid) {
		times.queued = read_time(event, CL_PROFILING_COMMAND_QUEUED, &times.valid);
		times.start = read_time(event, CL_PROFILING_COMMAND_START, &times.valid);
		times.end = read_time(event, CL_PROFILING_COMMAND_END, &times.valid);
	}
	batch_finish(&flight->batch, &times, status < 0, flight->queue->mark, &work);
	gate_finish(&work);
	__atomic_store_n(&flight->event, NULL, __ATOMIC_RELAXED);
	(void)target.clReleaseEvent(event);
}

/* Under the lock of @queue: the collected submissions become @flight, which waits for @event. */
static void begin_flight(struct queue *queue, struct flight *flight, cl_event event)
{
	flight->queue = queue;
	flight->batch = queue->batch;
	__atomic_store_n(&flight->event, event, __ATOMIC_RELAXED);
	queue->batch = (struct batch){0};
	__atomic_store_n(&queue->newest, NULL, __ATOMIC_RELAXED);
	(void)__atomic_add_fetch(&queue->tracked, 1, __ATOMIC_ACQ_REL);
}

/*
 * Adds a submission to its queue. Takes the reference to @event. Returns the batch that ends with
 * the submission, for track(), or NULL.
 */
static struct flight *add_to_flight(struct queue *queue, const struct batch_item *item,
				    cl_event event)
{
	struct flight *flight = NULL;
	cl_event old;

	tenant_lock(&queue->locked);
	if (batch_add(&queue->batch, item, queue->tracked, queue->out_of_order, gate_turn()))
		flight = take_flight();
	old = queue->newest;
	if (flight)
		begin_flight(queue, flight, event);
	else
		__atomic_store_n(&queue->newest, event, __ATOMIC_RELAXED);
	tenant_unlock(&queue->locked);
	if (old)
		(void)target.clReleaseEvent(old);
	return flight;
}

/* Ends a batch. If it was the last in flight, submissions since then become the next batch. */
static struct flight *end_flight(struct flight *flight, cl_int status)
{
	struct queue *queue = flight->queue;
	struct flight *next = NULL;

	account(flight, status);
	tenant_lock(&queue->locked);
	if (queue->tracked == 1 && queue->batch.n > 0 && queue->newest) {
		next = flight; /* the entry is used again */
		begin_flight(queue, next, queue->newest);
	}
	(void)__atomic_sub_fetch(&queue->tracked, 1, __ATOMIC_ACQ_REL);
	tenant_unlock(&queue->locked);
	if (!next)
		free_flight(flight);
	return next;
}

static void leave(void)
{
	(void)__atomic_sub_fetch(&ending, 1, __ATOMIC_SEQ_CST);
}

/* If true is returned, the caller ends the batch or puts the ticket back, then calls leave(). */
static bool take_ticket(struct flight *flight, uintptr_t ticket)
{
	(void)__atomic_add_fetch(&ending, 1, __ATOMIC_SEQ_CST);
	if (__atomic_compare_exchange_n(&flight->ticket, &ticket, 0, false, __ATOMIC_SEQ_CST,
					__ATOMIC_RELAXED))
		return true;
	leave();
	return false;
}

/* Ends a batch whose ticket was taken. */
static struct flight *end_taken(struct flight *flight, cl_int status)
{
	struct flight *next = end_flight(flight, status);

	leave();
	return next;
}

/*
 * Runs at the end of the process. A callback thread that has begun to end a batch may not run for a
 * while on a busy machine; without it the last work units would be lost. Waits only for such
 * threads.
 */
__attribute__((destructor)) static void wait_for_ending(void)
{
	struct timespec pause = {.tv_nsec = EXIT_PAUSE_NS};

	for (int i = 0; i < EXIT_PAUSES && __atomic_load_n(&ending, __ATOMIC_SEQ_CST) > 0; i++)
		(void)nanosleep(&pause, NULL);
}

static cl_int status_of(cl_event event)
{
	cl_int status = CL_QUEUED;

	if (target.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
				  NULL) != CL_SUCCESS)
		return CL_QUEUED;
	return status;
}

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *userdata);

/* Waits for the completion of a batch in the background. */
static void track(struct flight *flight)
{
	while (flight) {
		/* A loop instead of a callback that the target would call at once. */
		cl_int status = status_of(flight->event);

		if (status > CL_COMPLETE) {
			uintptr_t ticket = __atomic_add_fetch(&tickets, 1, __ATOMIC_RELAXED);
			cl_event event = flight->event;

			ticket = ticket * FLIGHTS_MAX + (uintptr_t)(flight - flights);
			/* From here on the batch can end in another thread. */
			(void)target.clRetainEvent(event);
			__atomic_store_n(&flight->ticket, ticket, __ATOMIC_RELEASE);
			status = target.clSetEventCallback(event, CL_COMPLETE, on_complete,
							   (void *)ticket);
			(void)target.clReleaseEvent(event);
			if (status == CL_SUCCESS || !take_ticket(flight, ticket))
				return;
			flight = end_taken(flight, CL_QUEUED); /* the times are not known */
			continue;
		}
		flight = end_flight(flight, status);
	}
}

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *userdata)
{
	uintptr_t ticket = (uintptr_t)userdata;
	struct flight *flight = &flights[ticket % FLIGHTS_MAX];

	(void)event;
	if (take_ticket(flight, ticket))
		track(end_taken(flight, status));
}

/* Ends the batch with @ticket if it has completed. */
static void sweep_flight(struct flight *flight, uintptr_t ticket)
{
	cl_event event;
	cl_int status;

	if (!take_ticket(flight, ticket))
		return;
	event = flight->event;
	status = status_of(event);
	if (status <= CL_COMPLETE) {
		track(end_taken(flight, status));
		return;
	}
	/* A callback that came while the ticket was taken has done nothing: read the status once
	 * more. */
	(void)target.clRetainEvent(event);
	__atomic_store_n(&flight->ticket, ticket, __ATOMIC_RELEASE);
	leave();
	status = status_of(event);
	if (status <= CL_COMPLETE && take_ticket(flight, ticket))
		track(end_taken(flight, status));
	(void)target.clReleaseEvent(event);
}

/* Ends the batches that have completed, of @queue or, if it is NULL, of all queues. */
static void sweep(const struct queue *queue)
{
	unsigned int used = __atomic_load_n(&flights_used, __ATOMIC_ACQUIRE);

	for (unsigned int i = 0; i < used; i++) {
		uintptr_t ticket = __atomic_load_n(&flights[i].ticket, __ATOMIC_ACQUIRE);

		if (ticket && (!queue || flights[i].queue == queue))
			sweep_flight(&flights[i], ticket);
	}
}

static bool is_any_living(void)
{
	return __atomic_load_n(&living, __ATOMIC_ACQUIRE) != 0;
}

static void add_root(cl_event event)
{
	unsigned int bit = 0;

	tenant_lock(&roots_locked);
	while (bit < ROOTS_MAX - 1 && (living >> bit & 1))
		bit++;
	if (bit == ROOTS_MAX - 1)
		beyond++;
	else
		roots[bit] = event;
	__atomic_store_n(&living, living | 1ull << bit, __ATOMIC_RELEASE);
	tenant_unlock(&roots_locked);
}

/* Returns the bit of a user event, or that of all beyond the table. */
static unsigned int bit_of(cl_event event)
{
	unsigned int bit = 0;

	while (bit < ROOTS_MAX - 1 && !((living >> bit & 1) && roots[bit] == event))
		bit++;
	return bit;
}

/* Takes the next derived event without roots out of the table, or returns NULL. */
static cl_event take_rootless(void)
{
	cl_event event;

	for (unsigned int i = 0; i < n_derived; i++)
		if ((derived[i].roots & living) == 0) {
			event = derived[i].event;
			derived[i] = derived[--n_derived];
			return event;
		}
	return NULL;
}

static void remove_root(cl_event event)
{
	unsigned int bit;

	if (!is_any_living())
		return;
	tenant_lock(&roots_locked);
	bit = bit_of(event);
	if (bit < ROOTS_MAX - 1 || (beyond > 0 && --beyond == 0))
		__atomic_store_n(&living, living & ~(1ull << bit), __ATOMIC_RELEASE);
	/* Before its bit is used again, no queue and no derived event may have it. */
	keep_roots();
	for (unsigned int i = 0; i < n_derived; i++)
		derived[i].roots &= living;
	while ((event = take_rootless())) {
		tenant_unlock(&roots_locked); /* the target may call back */
		(void)target.clReleaseEvent(event);
		tenant_lock(&roots_locked);
	}
	tenant_unlock(&roots_locked);
}

/* Returns the roots of the events in a wait list. Costs one load if there is no root at all. */
static uint64_t roots_of(cl_uint n, const cl_event *list)
{
	uint64_t found = 0;

	if (n == 0 || !list || !is_any_living())
		return 0;
	tenant_lock(&roots_locked);
	for (cl_uint e = 0; e < n; e++) {
		for (unsigned int bit = 0; bit < ROOTS_MAX - 1; bit++)
			if ((living >> bit & 1) && roots[bit] == list[e])
				found |= 1ull << bit;
		for (unsigned int i = 0; i < n_derived; i++)
			if (derived[i].event == list[e])
				found |= derived[i].roots;
	}
	/* An event that is in no table may be a user event beyond the table. */
	if (found == 0)
		found = living & 1ull << (ROOTS_MAX - 1);
	tenant_unlock(&roots_locked);
	return found;
}

static uint64_t roots_living(uint64_t of)
{
	return of ? of & __atomic_load_n(&living, __ATOMIC_ACQUIRE) : 0;
}

/* Records that @event belongs to a command with the roots @of, and retains it while this is so. */
static void roots_derive(cl_event event, uint64_t of)
{
	bool kept = false;

	if (of == 0 || target.clRetainEvent(event) != CL_SUCCESS)
		return;
	tenant_lock(&roots_locked);
	if ((of & living) && n_derived < DERIVED_MAX) {
		derived[n_derived].event = event;
		derived[n_derived++].roots = of & living;
		kept = true;
	}
	tenant_unlock(&roots_locked);
	if (!kept)
		(void)target.clReleaseEvent(event);
}

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *ret_err)
{
	cl_event event = target.clCreateUserEvent(context, ret_err);

	if (event)
		add_root(event);
	return event;
}

/*
 * Records the roots of a command without device time for its queue and its event. @barrier: later
 * submissions depend on the command even if the queue executes out of order.
 */
static void follow(cl_command_queue handle, uint64_t of, bool barrier, const cl_event *event)
{
	struct queue *queue = submit_find_queue(handle);

	if (!queue)
		return;
	of |= roots_living(__atomic_load_n(&queue->roots, __ATOMIC_RELAXED));
	if (of == 0)
		return;
	if (barrier || !queue->out_of_order)
		(void)__atomic_fetch_or(&queue->roots, of, __ATOMIC_RELAXED);
	if (event)
		roots_derive(*event, of);
}

static cl_int CL_API_CALL marker_with(cl_command_queue queue, cl_uint n, const cl_event *list,
				      cl_event *event)
{
	uint64_t of = roots_of(n, list);
	cl_int result = target.clEnqueueMarkerWithWaitList(queue, n, list, event);

	if (result == CL_SUCCESS)
		follow(queue, of, false, event);
	return result;
}

static cl_int CL_API_CALL barrier_with(cl_command_queue queue, cl_uint n, const cl_event *list,
				       cl_event *event)
{
	uint64_t of = roots_of(n, list);
	cl_int result = target.clEnqueueBarrierWithWaitList(queue, n, list, event);

	if (result == CL_SUCCESS)
		follow(queue, of, true, event);
	return result;
}

static cl_int CL_API_CALL marker(cl_command_queue queue, cl_event *event)
{
	cl_int result = target.clEnqueueMarker(queue, event);

	if (result == CL_SUCCESS)
		follow(queue, 0, false, event);
	return result;
}

static cl_int CL_API_CALL enqueue_wait(cl_command_queue queue, cl_uint n, const cl_event *list)
{
	uint64_t of = roots_of(n, list);
	cl_int result = target.clEnqueueWaitForEvents(queue, n, list);

	if (result == CL_SUCCESS)
		follow(queue, of, true, NULL);
	return result;
}

struct gate_passes submit_passes;

static uint64_t roots_with(const struct queue *queue, cl_uint n, const cl_event *list)
{
	return roots_of(n, list) | roots_living(__atomic_load_n(&queue->roots, __ATOMIC_RELAXED));
}

bool submit_depends(cl_command_queue handle, cl_uint n, const cl_event *list)
{
	const struct queue *queue = submit_find_queue(handle);

	return queue && roots_with(queue, n, list);
}

/* Fills a submission, except its prediction and its time. Returns false if it is not controlled. */
static bool begin(struct submission *s, cl_command_queue handle, cl_uint n, const cl_event *list,
		  cl_event *event)
{
	s->queue = gate_is_controlled() ? submit_find_queue(handle) : NULL;
	s->handle = handle;
	s->own = NULL;
	s->event = event || !s->queue ? event : &s->own;
	if (s->queue)
		s->roots = roots_with(s->queue, n, list);
	return s->queue;
}

/* @guess_ns: the device time if it was never measured; 0: not known. */
static void enter(struct submission *s, struct estimate *estimate, uint64_t guess_ns, bool is_unit)
{
	bool is_new = estimate_is_new(estimate);

	s->item = (struct batch_item){
		.estimate = estimate,
		.is_unit = is_unit,
		.is_new = is_new,
	};
	if (s->roots) {
		s->item.host_ns = gate_pass();
		return;
	}
	s->item.is_unmeasured = is_new && guess_ns == 0;
	s->item.predicted_ns = is_new && guess_ns ? guess_ns : estimate_predict(estimate);
	s->item.host_ns = s->item.is_unmeasured ? gate_enter_unmeasured(s->item.predicted_ns)
						: gate_enter(s->item.predicted_ns);
}

void submit_begin(struct submission *ret_submission, cl_command_queue handle, const void *object,
		  uint64_t size, bool is_unit, cl_uint n, const cl_event *list, cl_event *event)
{
	if (begin(ret_submission, handle, n, list, event))
		enter(ret_submission, estimate_find(object, size), 0, is_unit);
}

void submit_begin_part(struct submission *ret_submission, cl_command_queue handle,
		       struct estimate *estimate, uint64_t guess_ns, bool is_unit, cl_uint n,
		       const cl_event *list, cl_event *event)
{
	if (begin(ret_submission, handle, n, list, event))
		enter(ret_submission, estimate, guess_ns, is_unit);
}

/* Records the roots of a submission for its event and for later submissions. */
static void derive(const struct submission *s)
{
	roots_derive(*s->event, s->roots);
	if (!s->queue->out_of_order)
		(void)__atomic_fetch_or(&s->queue->roots, s->roots, __ATOMIC_RELAXED);
}

cl_int submit_end(struct submission *s, cl_int result)
{
	struct flight *flight;

	if (!s->queue)
		return result;
	if (result != CL_SUCCESS) {
		gate_cancel(s->item.predicted_ns, s->item.is_unmeasured);
		return result;
	}
	if (s->roots)
		derive(s);
	if (s->event != &s->own)
		(void)target.clRetainEvent(*s->event);
	flight = add_to_flight(s->queue, &s->item, *s->event);
	if (flight) {
		/* Otherwise the target may wait with the execution, while the turn lasts. */
		(void)target.clFlush(s->handle);
		track(flight);
	}
	return result;
}

/* References that the layer holds, which the program must not see. */
static cl_uint references_to(cl_event event)
{
	unsigned int used = __atomic_load_n(&flights_used, __ATOMIC_ACQUIRE);
	cl_uint n = 0;

	for (size_t i = 0; i < QUEUES_MAX; i++)
		n += __atomic_load_n(&queues[i].newest, __ATOMIC_RELAXED) == event;
	for (unsigned int i = 0; i < used; i++)
		n += __atomic_load_n(&flights[i].event, __ATOMIC_RELAXED) == event;
	tenant_lock(&roots_locked);
	for (unsigned int i = 0; i < n_derived; i++)
		n += derived[i].event == event;
	tenant_unlock(&roots_locked);
	return n;
}

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info name, size_t size,
					 void *value, size_t *ret_size)
{
	cl_int result = target.clGetEventInfo(event, name, size, value, ret_size);
	cl_uint references, own;

	if (name != CL_EVENT_REFERENCE_COUNT || result != CL_SUCCESS || !value)
		return result;
	memcpy(&references, value, sizeof(references));
	own = references_to(event);
	if (own < references)
		references -= own;
	memcpy(value, &references, sizeof(references));
	return result;
}

static cl_int CL_API_CALL finish(cl_command_queue handle)
{
	const struct queue *queue = submit_find_queue(handle);
	cl_int result = target.clFinish(handle);

	if (queue && __atomic_load_n(&queue->tracked, __ATOMIC_ACQUIRE) > 0)
		sweep(queue);
	return result;
}

static cl_int CL_API_CALL wait_for_events(cl_uint n, const cl_event *list)
{
	cl_int result = target.clWaitForEvents(n, list);

	if (result != CL_SUCCESS) /* a command has failed, perhaps without a callback */
		sweep(NULL);
	return result;
}

static cl_int CL_API_CALL set_user_event(cl_event event, cl_int status)
{
	cl_int result = target.clSetUserEventStatus(event, status);

	if (result != CL_SUCCESS)
		return result;
	remove_root(event);
	if (status < 0) /* commands that waited for it fail */
		sweep(NULL);
	return result;
}

void submit_tend(void)
{
	for (size_t i = 0; i < QUEUES_MAX; i++) {
		cl_command_queue handle = __atomic_load_n(&queues[i].handle, __ATOMIC_ACQUIRE);

		if (handle && handle != QUEUE_GONE)
			(void)target.clFlush(handle);
	}
	sweep(NULL);
}

void submit_install(cl_icd_dispatch *table)
{
	submit_passes = gate_passes();
	INSTALL(table, clGetEventInfo, get_event_info);
	INSTALL(table, clFinish, finish);
	INSTALL(table, clWaitForEvents, wait_for_events);
	INSTALL(table, clSetUserEventStatus, set_user_event);
	INSTALL(table, clCreateCommandQueue, create_queue);
	INSTALL(table, clCreateCommandQueueWithProperties, create_queue_with);
	INSTALL(table, clRetainCommandQueue, retain_queue);
	INSTALL(table, clReleaseCommandQueue, release_queue);
	INSTALL(table, clGetCommandQueueInfo, get_queue_info);
	INSTALL(table, clSetCommandQueueProperty, set_queue_property);
	INSTALL(table, clCreateUserEvent, create_user_event);
	INSTALL(table, clEnqueueMarkerWithWaitList, marker_with);
	INSTALL(table, clEnqueueBarrierWithWaitList, barrier_with);
	INSTALL(table, clEnqueueMarker, marker);
	INSTALL(table, clEnqueueWaitForEvents, enqueue_wait);
}
