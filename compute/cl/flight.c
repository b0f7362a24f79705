/* SPDX-License-Identifier: MIT */
/*
 * A table of batches in flight. A batch has a ticket while it waits for its completion: the number
 * of its entry, and a count that makes tickets unique. The thread that takes the ticket ends
 * the batch. A late callback has a ticket that no longer exists, and does nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "compute/cl/flight.h"
#include "compute/tenant/gate.h"
#include "compute/tenant/lock.h"

#define EXIT_PAUSE_NS 100000
#define EXIT_PAUSES   1000

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

struct flight *flight_add(struct queue *queue, const struct batch_item *item, cl_event event)
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

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *userdata)
{
	uintptr_t ticket = (uintptr_t)userdata;
	struct flight *flight = &flights[ticket % FLIGHTS_MAX];

	(void)event;
	if (take_ticket(flight, ticket))
		flight_track(end_taken(flight, status));
}

void flight_track(struct flight *flight)
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
		flight_track(end_taken(flight, status));
		return;
	}
	/* A callback that came while the ticket was taken has done nothing: ask once more. */
	(void)target.clRetainEvent(event);
	__atomic_store_n(&flight->ticket, ticket, __ATOMIC_RELEASE);
	leave();
	status = status_of(event);
	if (status <= CL_COMPLETE && take_ticket(flight, ticket))
		flight_track(end_taken(flight, status));
	(void)target.clReleaseEvent(event);
}

void flight_sweep(const struct queue *queue)
{
	unsigned int used = __atomic_load_n(&flights_used, __ATOMIC_ACQUIRE);

	for (unsigned int i = 0; i < used; i++) {
		uintptr_t ticket = __atomic_load_n(&flights[i].ticket, __ATOMIC_ACQUIRE);

		if (ticket && (!queue || flights[i].queue == queue))
			sweep_flight(&flights[i], ticket);
	}
}

unsigned int flight_references_to(cl_event event)
{
	unsigned int used = __atomic_load_n(&flights_used, __ATOMIC_ACQUIRE), n = 0;

	for (unsigned int i = 0; i < used; i++)
		n += __atomic_load_n(&flights[i].event, __ATOMIC_RELAXED) == event;
	return n;
}
