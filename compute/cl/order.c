/* SPDX-License-Identifier: MIT */
/*
 * User events, markers and barriers. They need no device time and never wait in the gate, but they
 * decide which later submissions depend on the program.
 */
#include <stddef.h>

#include "compute/cl/queue.h"
#include "compute/cl/roots.h"
#include "compute/cl/target.h"

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *ret_err)
{
	cl_event event = target.clCreateUserEvent(context, ret_err);

	if (event)
		roots_add(event);
	return event;
}

/*
 * Records the roots of a command without device time for its queue and its event. @barrier: later
 * submissions depend on the command even if the queue executes out of order.
 */
static void follow(cl_command_queue handle, uint64_t roots, bool barrier, const cl_event *event)
{
	struct queue *queue = queue_find(handle);

	if (!queue)
		return;
	roots |= roots_living(__atomic_load_n(&queue->roots, __ATOMIC_RELAXED));
	if (roots == 0)
		return;
	if (barrier || !queue->out_of_order)
		(void)__atomic_fetch_or(&queue->roots, roots, __ATOMIC_RELAXED);
	if (event)
		roots_derive(*event, roots);
}

static cl_int CL_API_CALL marker_with(cl_command_queue queue, cl_uint n, const cl_event *list,
				      cl_event *event)
{
	uint64_t roots = roots_of(n, list);
	cl_int result = target.clEnqueueMarkerWithWaitList(queue, n, list, event);

	if (result == CL_SUCCESS)
		follow(queue, roots, false, event);
	return result;
}

static cl_int CL_API_CALL barrier_with(cl_command_queue queue, cl_uint n, const cl_event *list,
				       cl_event *event)
{
	uint64_t roots = roots_of(n, list);
	cl_int result = target.clEnqueueBarrierWithWaitList(queue, n, list, event);

	if (result == CL_SUCCESS)
		follow(queue, roots, true, event);
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
	uint64_t roots = roots_of(n, list);
	cl_int result = target.clEnqueueWaitForEvents(queue, n, list);

	if (result == CL_SUCCESS)
		follow(queue, roots, true, NULL);
	return result;
}

void order_install(cl_icd_dispatch *table)
{
	INSTALL(table, clCreateUserEvent, create_user_event);
	INSTALL(table, clEnqueueMarkerWithWaitList, marker_with);
	INSTALL(table, clEnqueueBarrierWithWaitList, barrier_with);
	INSTALL(table, clEnqueueMarker, marker);
	INSTALL(table, clEnqueueWaitForEvents, enqueue_wait);
}
