/* SPDX-License-Identifier: MIT */
/*
 * Two tables under one lock: user events by bit, and events of commands that depend on them. The
 * lock is not taken while there is no user event to wait for.
 */
#include <stdbool.h>
#include <stddef.h>

#include "compute/cl/queue.h"
#include "compute/cl/roots.h"
#include "compute/cl/target.h"
#include "compute/tenant/lock.h"

#define DERIVED_MAX 1024

static bool locked;
static uint64_t living;		  /* bits of roots that exist */
static cl_event roots[ROOTS_MAX]; /* by bit; the last is not used */
static unsigned int beyond;	  /* user events that share the last bit */
static struct {
	cl_event event;
	uint64_t roots;
} derived[DERIVED_MAX];
static unsigned int n_derived;

static bool is_any_living(void)
{
	return __atomic_load_n(&living, __ATOMIC_ACQUIRE) != 0;
}

static void add_root(cl_event event)
{
	unsigned int bit = 0;

	tenant_lock(&locked);
	while (bit < ROOTS_MAX - 1 && (living >> bit & 1))
		bit++;
	if (bit == ROOTS_MAX - 1)
		beyond++;
	else
		roots[bit] = event;
	__atomic_store_n(&living, living | 1ull << bit, __ATOMIC_RELEASE);
	tenant_unlock(&locked);
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

void roots_remove(cl_event event)
{
	unsigned int bit;

	if (!is_any_living())
		return;
	tenant_lock(&locked);
	bit = bit_of(event);
	if (bit < ROOTS_MAX - 1 || (beyond > 0 && --beyond == 0))
		__atomic_store_n(&living, living & ~(1ull << bit), __ATOMIC_RELEASE);
	/* Before its bit is used again, no queue and no derived event may have it. */
	queue_keep_roots(living);
	for (unsigned int i = 0; i < n_derived; i++)
		derived[i].roots &= living;
	while ((event = take_rootless())) {
		tenant_unlock(&locked); /* the target may call back */
		(void)target.clReleaseEvent(event);
		tenant_lock(&locked);
	}
	tenant_unlock(&locked);
}

uint64_t roots_of(cl_uint n, const cl_event *list)
{
	uint64_t found = 0;

	if (n == 0 || !list || !is_any_living())
		return 0;
	tenant_lock(&locked);
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
	tenant_unlock(&locked);
	return found;
}

uint64_t roots_living(uint64_t of)
{
	return of ? of & __atomic_load_n(&living, __ATOMIC_ACQUIRE) : 0;
}

void roots_derive(cl_event event, uint64_t of)
{
	bool kept = false;

	if (of == 0 || target.clRetainEvent(event) != CL_SUCCESS)
		return;
	tenant_lock(&locked);
	if ((of & living) && n_derived < DERIVED_MAX) {
		derived[n_derived].event = event;
		derived[n_derived++].roots = of & living;
		kept = true;
	}
	tenant_unlock(&locked);
	if (!kept)
		(void)target.clReleaseEvent(event);
}

unsigned int roots_references_to(cl_event event)
{
	unsigned int n = 0;

	tenant_lock(&locked);
	for (unsigned int i = 0; i < n_derived; i++)
		n += derived[i].event == event;
	tenant_unlock(&locked);
	return n;
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
	struct queue *queue = queue_find(handle);

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

void roots_install(cl_icd_dispatch *table)
{
	INSTALL(table, clCreateUserEvent, create_user_event);
	INSTALL(table, clEnqueueMarkerWithWaitList, marker_with);
	INSTALL(table, clEnqueueBarrierWithWaitList, barrier_with);
	INSTALL(table, clEnqueueMarker, marker);
	INSTALL(table, clEnqueueWaitForEvents, enqueue_wait);
}
