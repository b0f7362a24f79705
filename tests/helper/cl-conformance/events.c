/* SPDX-License-Identifier: MIT */
/* Events: status, type, queue and context, order of profiling times, wait lists, callbacks. */
#include "tests/helper/cl-conformance/conform.h"

static void say_event(struct bed *bed, const char *what, cl_event event)
{
	cl_command_type type = 0;
	cl_command_queue queue = NULL;
	cl_context context = NULL;

	must(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL), "type");
	must(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL), "queue");
	must(clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof(context), &context, NULL), "context");
	say("%s: type %s, own queue: %s, own context: %s", what, command_name(type),
	    yes(queue == bed->queue), yes(context == bed->context));
}

static void life(struct bed *bed)
{
	struct gate *gate = gate_new(bed);
	cl_event event = run_fill(bed, bed->queue, bed->buffer, 5, gate);

	must(clFlush(bed->queue), "clFlush");
	say("kernel behind a gate: running or complete: %s",
	    yes(event_status(event) <= CL_RUNNING));
	say("gate: opened in time: %s", yes(gate_open(gate)));
	must(clWaitForEvents(1, &event), "clWaitForEvents");
	say("kernel after its gate: %s", status_name(event_status(event)));
	must(clFinish(bed->queue), "clFinish");
	say_event(bed, "event of a kernel", event);
	must(clReleaseEvent(event), "clReleaseEvent");
	gate_free(gate);
}

static void profile(const char *what, cl_event event)
{
	static const cl_profiling_info kinds[] = {
		CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
		CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
	cl_ulong time[4] = {0};
	cl_int error = CL_SUCCESS;
	bool ordered = true;

	for (int i = 0; i < 4 && error == CL_SUCCESS; i++)
		error = clGetEventProfilingInfo(event, kinds[i], sizeof(time[i]), &time[i], NULL);
	if (error != CL_SUCCESS) {
		code(what, error);
		return;
	}
	for (int i = 1; i < 4; i++)
		ordered = ordered && time[i - 1] <= time[i];
	say("%s: times in order: %s, above 0: %s", what, yes(ordered), yes(time[0] > 0));
}

static void all_commands(struct bed *bed)
{
	static const size_t origin[3], region[3] = {BYTES, 1, 1};
	static const char *const names[11] = {"kernel", "read",	     "write",	  "copy",
					      "fill",	"read rect", "copy rect", "map",
					      "unmap",	"marker",    "barrier"};
	static cl_int values[N];
	cl_int one = 1, error;
	cl_event events[11] = {NULL};
	cl_command_queue q = bed->queue;
	void *mapped;

	events[0] = run_slow(bed, q, bed->buffer, 9, NULL);
	must(clEnqueueReadBuffer(q, bed->buffer, CL_FALSE, 0, BYTES, values, 0, NULL, &events[1]),
	     "read");
	must(clEnqueueWriteBuffer(q, bed->other, CL_FALSE, 0, BYTES, values, 0, NULL, &events[2]),
	     "write");
	must(clEnqueueCopyBuffer(q, bed->buffer, bed->other, 0, 0, BYTES, 0, NULL, &events[3]),
	     "copy");
	must(clEnqueueFillBuffer(q, bed->buffer, &one, sizeof(one), 0, BYTES, 0, NULL, &events[4]),
	     "fill");
	must(clEnqueueReadBufferRect(q, bed->buffer, CL_FALSE, origin, origin, region, 0, 0, 0, 0,
				     values, 0, NULL, &events[5]),
	     "read rect");
	must(clEnqueueCopyBufferRect(q, bed->buffer, bed->other, origin, origin, region, 0, 0, 0, 0,
				     0, NULL, &events[6]),
	     "copy rect");
	mapped = clEnqueueMapBuffer(q, bed->buffer, CL_FALSE, CL_MAP_READ, 0, BYTES, 0, NULL,
				    &events[7], &error);
	must(error, "map");
	must(clEnqueueUnmapMemObject(q, bed->buffer, mapped, 0, NULL, &events[8]), "unmap");
	must(clEnqueueMarkerWithWaitList(q, 0, NULL, &events[9]), "marker");
	must(clEnqueueBarrierWithWaitList(q, 0, NULL, &events[10]), "barrier");
	must(clFinish(q), "clFinish");
	for (int i = 0; i < 11; i++) {
		say_event(bed, names[i], events[i]);
		profile(names[i], events[i]);
		must(clReleaseEvent(events[i]), "clReleaseEvent");
	}
}

/* A queue without profiling, and an event that is not complete, have no times. */
static void no_profile(struct bed *bed)
{
	cl_command_queue queue = new_queue(bed, 0);
	struct gate *gate = gate_new(bed);
	cl_event event = run_fill(bed, queue, bed->buffer, 1, NULL), gated;
	cl_ulong time;

	must(clWaitForEvents(1, &event), "clWaitForEvents");
	profile("queue without profiling", event);
	gated = run_fill(bed, bed->queue, bed->buffer, 2, gate);
	code("end of a kernel that has not run",
	     clGetEventProfilingInfo(gated, CL_PROFILING_COMMAND_END, sizeof(time), &time, NULL));
	say("gate: opened in time: %s", yes(gate_open(gate)));
	finish_event(gated);
	must(clReleaseEvent(event), "clReleaseEvent");
	gate_free(gate);
	must(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
}

/* A kernel of another queue waits for two events, of which one is late. */
static void wait_lists(struct bed *bed)
{
	cl_command_queue queue = new_queue(bed, 0);
	struct gate *gate = gate_new(bed);
	size_t global = N;
	cl_event list[2], event;

	list[0] = run_fill(bed, bed->queue, bed->other, 1, NULL);
	list[1] = run_fill(bed, bed->queue, bed->buffer, 10, gate);
	set_arguments(bed->add, bed->buffer, 5);
	code("kernel that waits for two events",
	     clEnqueueNDRangeKernel(queue, bed->add, 1, NULL, &global, NULL, 2, list, &event));
	must(clFlush(queue), "clFlush");
	sleep_ms(50);
	say("kernel with a wait list: complete before its list: %s",
	    yes(event_status(event) == CL_COMPLETE));
	say("gate: opened in time: %s", yes(gate_open(gate)));
	must(clWaitForEvents(1, &event), "clWaitForEvents");
	say("kernel with a wait list: status of its list after it: %s, %s",
	    status_name(event_status(list[0])), status_name(event_status(list[1])));
	say_contents(bed, "kernel with a wait list", bed->buffer, 15);
	for (int i = 0; i < 2; i++)
		must(clReleaseEvent(list[i]), "clReleaseEvent");
	must(clReleaseEvent(event), "clReleaseEvent");
	gate_free(gate);
	must(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
}

/* Each kind of transfer waits for its list. */
static void waiting_transfers(struct bed *bed)
{
	static cl_int in[N], out[N];
	cl_command_queue queue = new_queue(bed, 0);
	struct gate *gate = gate_new(bed);
	cl_event kernel = run_fill(bed, bed->queue, bed->buffer, 21, gate), event[4];
	cl_int one = 1;
	bool early = false;

	must(clEnqueueCopyBuffer(queue, bed->buffer, bed->other, 0, 0, BYTES, 1, &kernel,
				 &event[0]),
	     "copy");
	must(clEnqueueReadBuffer(queue, bed->buffer, CL_FALSE, 0, BYTES, out, 1, &kernel,
				 &event[1]),
	     "read");
	must(clEnqueueFillBuffer(queue, bed->buffer, &one, sizeof(one), 0, BYTES / 2, 1, &kernel,
				 &event[2]),
	     "fill");
	must(clEnqueueWriteBuffer(queue, bed->buffer, CL_FALSE, BYTES / 2, BYTES / 2, in, 1,
				  &kernel, &event[3]),
	     "write");
	must(clFlush(queue), "clFlush");
	sleep_ms(50);
	for (int i = 0; i < 4; i++)
		early = early || event_status(event[i]) == CL_COMPLETE;
	say("transfers with a wait list: complete before the list: %s", yes(early));
	say("gate: opened in time: %s", yes(gate_open(gate)));
	for (int i = 0; i < 4; i++)
		finish_event(event[i]);
	say("transfers with a wait list: values that differ: copy and read %u, fill and write %u",
	    others(out, 21) + others(contents(bed->queue, bed->other), 21),
	    others(contents(bed->queue, bed->buffer), 1));
	finish_event(kernel);
	gate_free(gate);
	must(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
}

void section_events(struct bed *bed)
{
	life(bed);
	all_commands(bed);
	no_profile(bed);
	wait_lists(bed);
	waiting_transfers(bed);
}
