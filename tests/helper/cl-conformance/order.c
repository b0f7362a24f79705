/* SPDX-License-Identifier: MIT */
/* Order of commands: out-of-order queues, barriers, markers, flush, finish, release of a queue. */
#include "tests/helper/cl-conformance/conform.h"

#define OUT_OF_ORDER CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
#define REPEATS	     20

static void release(cl_command_queue queue)
{
	must(clFinish(queue), "clFinish");
	must(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
}

static void independent(struct bed *bed)
{
	cl_command_queue queue = new_queue(bed, OUT_OF_ORDER);
	cl_command_queue_properties properties = 0;
	struct gate *gate = gate_new(bed);
	cl_event first, second;

	must(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties,
				   NULL),
	     "clGetCommandQueueInfo");
	say("out-of-order queue: properties %u", (unsigned int)properties);
	first = run_fill(bed, queue, bed->buffer, 1, gate);
	second = run_fill(bed, queue, bed->other, 2, NULL);
	must(clFlush(queue), "clFlush");
	say("second of two independent commands: ends: %s", yes(ends_soon(second)));
	say("second of two independent commands: ends before the first: %s",
	    yes(event_status(first) != CL_COMPLETE));
	say("gate: opened in time: %s", yes(gate_open(gate)));
	finish_event(first);
	finish_event(second);
	gate_free(gate);
	release(queue);
}

/* A command after a barrier, or after a marker that is in its wait list, waits. */
static void barrier(struct bed *bed, bool with_marker)
{
	cl_command_queue queue = new_queue(bed, OUT_OF_ORDER);
	const char *what = with_marker ? "marker" : "barrier";
	struct gate *gate = gate_new(bed);
	size_t global = N;
	cl_event first = run_fill(bed, queue, bed->buffer, 10, gate), point, last;

	set_arguments(bed->add, bed->buffer, 5);
	must(with_marker ? clEnqueueMarkerWithWaitList(queue, 0, NULL, &point)
			 : clEnqueueBarrierWithWaitList(queue, 0, NULL, &point),
	     what);
	must(clEnqueueNDRangeKernel(queue, bed->add, 1, NULL, &global, NULL, with_marker ? 1 : 0,
				    with_marker ? &point : NULL, &last),
	     "clEnqueueNDRangeKernel");
	must(clFlush(queue), "clFlush");
	sleep_ms(50);
	say("%s: complete before the command in front of it: %s", what,
	    yes(event_status(point) == CL_COMPLETE));
	say("%s: command behind it complete before: %s", what,
	    yes(event_status(last) == CL_COMPLETE));
	say("gate: opened in time: %s", yes(gate_open(gate)));
	must(clFinish(queue), "clFinish");
	say_contents(bed, what, bed->buffer, 15);
	finish_event(first);
	finish_event(point);
	finish_event(last);
	gate_free(gate);
	release(queue);
}

/* Each chain is a slow fill and two additions. Only wait lists order them. */
static void chains(struct bed *bed)
{
	cl_command_queue queue = new_queue(bed, OUT_OF_ORDER);
	unsigned int right = 0;
	size_t global = N;

	for (cl_int i = 1; i <= REPEATS; i++) {
		cl_event event[3] = {run_slow(bed, queue, bed->buffer, i, NULL)};

		set_arguments(bed->add, bed->buffer, i);
		for (int link = 1; link < 3; link++)
			must(clEnqueueNDRangeKernel(queue, bed->add, 1, NULL, &global, NULL, 1,
						    &event[link - 1], &event[link]),
			     "clEnqueueNDRangeKernel");
		must(clWaitForEvents(1, &event[2]), "clWaitForEvents");
		right += others(contents(bed->queue, bed->buffer), 3 * i) == 0;
		for (int link = 0; link < 3; link++)
			must(clReleaseEvent(event[link]), "clReleaseEvent");
	}
	say("chains of three commands: %u of %d are right", right, REPEATS);
	release(queue);
}

static void in_order(struct bed *bed)
{
	cl_int expected = 1;

	for (cl_int i = 1; i <= REPEATS; i++) {
		must(clReleaseEvent(run_slow(bed, bed->queue, bed->other, i, NULL)),
		     "clReleaseEvent");
		must(clReleaseEvent(i == 1 ? run_fill(bed, bed->queue, bed->buffer, 1, NULL)
					   : run_add(bed, bed->queue, bed->buffer, i, NULL)),
		     "clReleaseEvent");
		expected += i == 1 ? 0 : i;
	}
	say_contents(bed, "in-order queue", bed->buffer, expected);
}

static void flush_and_finish(struct bed *bed)
{
	struct gate *gate = gate_new(bed);
	cl_event event = run_fill(bed, bed->queue, bed->buffer, 1, gate), last;

	code("flush before a gate opens", clFlush(bed->queue));
	say("gate: opened in time: %s", yes(gate_open(gate)));
	say("flush is enough for a command to run: %s", yes(ends_soon(event)));
	finish_event(event);
	gate_free(gate);

	gate = gate_new(bed);
	event = run_fill(bed, bed->queue, bed->buffer, 2, gate);
	last = run_slow(bed, bed->queue, bed->other, 3, NULL);
	gate_open_after(gate, 100);
	code("finish", clFinish(bed->queue));
	say("finish returns after the gate: %s, commands: %s, %s", yes(gate_is_open(gate)),
	    status_name(event_status(event)), status_name(event_status(last)));
	finish_event(event);
	finish_event(last);
	gate_free(gate);

	gate = gate_new(bed);
	event = run_fill(bed, bed->queue, bed->buffer, 3, gate);
	gate_open_after(gate, 100);
	code("wait", clWaitForEvents(1, &event));
	say("wait returns after the gate: %s, command: %s", yes(gate_is_open(gate)),
	    status_name(event_status(event)));
	finish_event(event);
	gate_free(gate);
}

/* A released queue completes its commands. */
static void released_queue(struct bed *bed)
{
	cl_command_queue queue = new_queue(bed, 0);
	cl_event event = NULL;

	for (cl_int i = 1; i <= 10; i++) {
		if (event)
			must(clReleaseEvent(event), "clReleaseEvent");
		event = run_slow(bed, queue, bed->buffer, i, NULL);
	}
	code("release a queue with work", clReleaseCommandQueue(queue));
	say("its last command ends: %s", yes(ends_soon(event)));
	finish_event(event);
	say_contents(bed, "released queue", bed->buffer, 10);

	queue = new_queue(bed, 0);
	must(clReleaseEvent(run_slow(bed, queue, bed->buffer, 20, NULL)), "clReleaseEvent");
	must(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), "clEnqueueMarkerWithWaitList");
	code("release a queue with work and without events", clReleaseCommandQueue(queue));
	finish_event(event);
	say_contents(bed, "released queue, by its marker", bed->buffer, 20);
}

/* The functions of OpenCL 1.1, but clEnqueueWaitForEvents, which ends the program in PoCL 3.1. */
static void old_functions(struct bed *bed)
{
	cl_command_queue queue = new_queue(bed, OUT_OF_ORDER);
	cl_event first = run_slow(bed, queue, bed->buffer, 30, NULL), marker;

	code("old barrier", clEnqueueBarrier(queue));
	must(clReleaseEvent(run_add(bed, queue, bed->buffer, 1, NULL)), "clReleaseEvent");
	code("old barrier", clEnqueueBarrier(queue));
	must(clReleaseEvent(run_add(bed, queue, bed->buffer, 1, NULL)), "clReleaseEvent");
	code("old marker", clEnqueueMarker(queue, &marker));
	must(clWaitForEvents(1, &marker), "clWaitForEvents");
	say_contents(bed, "after the old marker", bed->buffer, 32);
	finish_event(first);
	must(clReleaseEvent(marker), "clReleaseEvent");
	release(queue);
}

void section_order(struct bed *bed)
{
	independent(bed);
	barrier(bed, false);
	barrier(bed, true);
	chains(bed);
	in_order(bed);
	flush_and_finish(bed);
	released_queue(bed);
	old_functions(bed);
}
