/* SPDX-License-Identifier: MIT */
/*
 * Submissions. Each has an event, of the program or of the layer, so that its completion can be
 * noticed.
 */
#include <stddef.h>
#include <string.h>

#include "compute/cl/flight.h"
#include "compute/cl/roots.h"
#include "compute/cl/submit.h"
#include "compute/tenant/gate.h"

struct gate_passes submit_passes;

static uint64_t roots_with(const struct queue *queue, cl_uint n, const cl_event *list)
{
	return roots_of(n, list) | roots_living(__atomic_load_n(&queue->roots, __ATOMIC_RELAXED));
}

bool submit_depends(cl_command_queue handle, cl_uint n, const cl_event *list)
{
	const struct queue *queue = queue_find(handle);

	return queue && roots_with(queue, n, list);
}

/* Fills a submission, except of its prediction and its time. */
static bool begin(struct submission *s, cl_command_queue handle, cl_uint n, const cl_event *list,
		  cl_event *event)
{
	if (!gate_is_controlled())
		return false;
	s->queue = queue_find(handle);
	if (!s->queue)
		return false;
	s->handle = handle;
	s->own = NULL;
	s->event = event ? event : &s->own;
	s->roots = roots_with(s->queue, n, list);
	return true;
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

bool submit_begin(struct submission *ret_submission, cl_command_queue handle, const void *object,
		  uint64_t size, bool is_unit, cl_uint n, const cl_event *list, cl_event *event)
{
	if (!begin(ret_submission, handle, n, list, event))
		return false;
	enter(ret_submission, estimate_find(object, size), 0, is_unit);
	return true;
}

bool submit_begin_part(struct submission *ret_submission, cl_command_queue handle,
		       struct estimate *estimate, uint64_t guess_ns, bool is_unit, cl_uint n,
		       const cl_event *list, cl_event *event)
{
	if (!begin(ret_submission, handle, n, list, event))
		return false;
	enter(ret_submission, estimate, guess_ns, is_unit);
	return true;
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

	if (result != CL_SUCCESS) {
		gate_cancel(s->item.predicted_ns, s->item.is_unmeasured);
		return result;
	}
	if (s->roots)
		derive(s);
	if (s->event != &s->own)
		(void)target.clRetainEvent(*s->event);
	flight = flight_add(s->queue, &s->item, *s->event);
	if (flight) {
		/* Otherwise the target may wait with the execution, while the turn lasts. */
		(void)target.clFlush(s->handle);
		flight_track(flight);
	}
	return result;
}

/* References that the layer holds, which the program must not see. */
static cl_uint references_to(cl_event event)
{
	return roots_references_to(event) + flight_references_to(event) +
	       queue_references_to(event);
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
	const struct queue *queue = queue_find(handle);
	cl_int result = target.clFinish(handle);

	if (queue && __atomic_load_n(&queue->tracked, __ATOMIC_ACQUIRE) > 0)
		flight_sweep(queue);
	return result;
}

static cl_int CL_API_CALL wait_for_events(cl_uint n, const cl_event *list)
{
	cl_int result = target.clWaitForEvents(n, list);

	if (result != CL_SUCCESS) /* a command has failed, perhaps without a callback */
		flight_sweep(NULL);
	return result;
}

static cl_int CL_API_CALL set_user_event(cl_event event, cl_int status)
{
	cl_int result = target.clSetUserEventStatus(event, status);

	if (result != CL_SUCCESS)
		return result;
	roots_remove(event);
	if (status < 0) /* commands that waited for it fail */
		flight_sweep(NULL);
	return result;
}

static void flush_queue(struct queue *queue)
{
	(void)target.clFlush(queue->handle);
}

void submit_tend(void)
{
	queue_for_each(flush_queue);
	flight_sweep(NULL);
}

void submit_install(cl_icd_dispatch *table)
{
	submit_passes = gate_passes();
	INSTALL(table, clGetEventInfo, get_event_info);
	INSTALL(table, clFinish, finish);
	INSTALL(table, clWaitForEvents, wait_for_events);
	INSTALL(table, clSetUserEventStatus, set_user_event);
}
