/* SPDX-License-Identifier: MIT */
/* Blocking and non-blocking reads and maps: data are fresh, and only blocking calls block. */
#include <string.h>
#include <time.h>

#include "tests/helper/cl-conformance/conform.h"

#define REPEATS 200
#define LATER	100 /* ms after which a gate opens, long compared with a call that does not wait */

static cl_int *map(struct bed *bed, cl_bool blocking, cl_map_flags flags, cl_event *ret_event)
{
	cl_int error;
	cl_int *mapped = clEnqueueMapBuffer(bed->queue, bed->buffer, blocking, flags, 0, BYTES, 0,
					    NULL, ret_event, &error);

	must(error, "clEnqueueMapBuffer");
	return mapped;
}

static void unmap(struct bed *bed, void *mapped)
{
	must(clEnqueueUnmapMemObject(bed->queue, bed->buffer, mapped, 0, NULL, NULL),
	     "clEnqueueUnmapMemObject");
}

static void repeated_maps(struct bed *bed)
{
	unsigned int fresh = 0;

	for (cl_int i = 1; i <= REPEATS; i++) {
		cl_event event = run_slow(bed, bed->queue, bed->buffer, i, NULL);
		cl_int *mapped = map(bed, CL_TRUE, CL_MAP_READ, NULL);

		fresh += others(mapped, i) == 0;
		unmap(bed, mapped);
		finish_event(event);
	}
	say("blocking map after a kernel: %u of %d have fresh data", fresh, REPEATS);
}

static void repeated_reads(struct bed *bed)
{
	unsigned int fresh = 0;

	for (cl_int i = 1; i <= REPEATS; i++) {
		cl_event event = run_slow(bed, bed->queue, bed->buffer, i, NULL);

		fresh += others(contents(bed->queue, bed->buffer), i) == 0;
		finish_event(event);
	}
	say("blocking read after a kernel: %u of %d have fresh data", fresh, REPEATS);
}

/* Each of these calls reads bed->buffer into @out and blocks. */
static void blocking_map(struct bed *bed, cl_int *out)
{
	cl_int *mapped = map(bed, CL_TRUE, CL_MAP_READ, NULL);

	memcpy(out, mapped, BYTES);
	unmap(bed, mapped);
}

static void blocking_read(struct bed *bed, cl_int *out)
{
	must(clEnqueueReadBuffer(bed->queue, bed->buffer, CL_TRUE, 0, BYTES, out, 0, NULL, NULL),
	     "clEnqueueReadBuffer");
}

static void blocking_read_rect(struct bed *bed, cl_int *out)
{
	static const size_t origin[3], region[3] = {BYTES, 1, 1};

	must(clEnqueueReadBufferRect(bed->queue, bed->buffer, CL_TRUE, origin, origin, region, 0, 0,
				     0, 0, out, 0, NULL, NULL),
	     "clEnqueueReadBufferRect");
}

static void map_with_event(struct bed *bed, cl_int *out)
{
	cl_event event;
	cl_int *mapped = map(bed, CL_TRUE, CL_MAP_READ, &event);

	say("  status of its event after the call: %s", status_name(event_status(event)));
	memcpy(out, mapped, BYTES);
	unmap(bed, mapped);
	must(clReleaseEvent(event), "clReleaseEvent");
}

static void read_with_event(struct bed *bed, cl_int *out)
{
	cl_event event;

	must(clEnqueueReadBuffer(bed->queue, bed->buffer, CL_TRUE, 0, BYTES, out, 0, NULL, &event),
	     "clEnqueueReadBuffer");
	say("  status of its event after the call: %s", status_name(event_status(event)));
	must(clReleaseEvent(event), "clReleaseEvent");
}

/* Another thread opens the gate of a kernel during the call, which must return after the kernel. */
static void late_kernel(struct bed *bed)
{
	static const struct {
		const char *name;
		void (*read)(struct bed *bed, cl_int *out);
	} calls[] = {
		{"blocking map", blocking_map},
		{"blocking read", blocking_read},
		{"blocking read rect", blocking_read_rect},
		{"blocking map with an event", map_with_event},
		{"blocking read with an event", read_with_event},
	};
	static cl_int out[N];

	for (cl_int i = 0; i < (cl_int)(sizeof(calls) / sizeof(calls[0])); i++) {
		struct gate *gate = gate_new(bed);
		cl_event event = run_fill(bed, bed->queue, bed->buffer, 1000 + i, gate);
		bool open;

		memset(out, 0, sizeof(out));
		gate_open_after(gate, LATER);
		calls[i].read(bed, out);
		open = gate_is_open(gate);
		say("%s: returns after the kernel: %s, values that differ: %u", calls[i].name,
		    yes(open), others(out, 1000 + i));
		gate_free(gate);
		finish_event(event);
	}
}

static void non_blocking_read(struct bed *bed)
{
	struct gate *gate = gate_new(bed);
	cl_event kernel = run_fill(bed, bed->queue, bed->buffer, 2000, gate), event;
	static cl_int out[N];

	must(clEnqueueReadBuffer(bed->queue, bed->buffer, CL_FALSE, 0, BYTES, out, 0, NULL, &event),
	     "clEnqueueReadBuffer");
	say("non-blocking read: complete before the kernel: %s",
	    yes(event_status(event) == CL_COMPLETE));
	say("non-blocking read: returns before the kernel: %s", yes(gate_open(gate)));
	must(clWaitForEvents(1, &event), "clWaitForEvents");
	say("non-blocking read: values that differ after its event: %u", others(out, 2000));
	must(clReleaseEvent(event), "clReleaseEvent");
	gate_free(gate);
	finish_event(kernel);
}

static void non_blocking_map(struct bed *bed)
{
	struct gate *gate = gate_new(bed);
	cl_event kernel = run_fill(bed, bed->queue, bed->buffer, 3000, gate), event;
	cl_int *mapped = map(bed, CL_FALSE, CL_MAP_READ, &event);

	say("non-blocking map: complete before the kernel: %s",
	    yes(event_status(event) == CL_COMPLETE));
	say("non-blocking map: returns before the kernel: %s", yes(gate_open(gate)));
	must(clWaitForEvents(1, &event), "clWaitForEvents");
	say("non-blocking map: values that differ after its event: %u", others(mapped, 3000));
	unmap(bed, mapped);
	must(clReleaseEvent(event), "clReleaseEvent");
	gate_free(gate);
	finish_event(kernel);
}

/* Waits up to 2 s for @expected, because PoCL may lower the count after the event of an unmap. */
static cl_uint map_count(cl_mem buffer, cl_uint expected)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	cl_uint count = 0;

	for (int i = 0; i < 2000; i++) {
		must(clGetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, sizeof(count), &count, NULL),
		     "clGetMemObjectInfo");
		if (count == expected)
			break;
		nanosleep(&pause, NULL);
	}
	return count;
}

static void write_through_map(struct bed *bed)
{
	cl_int error, *mapped = map(bed, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, NULL);
	cl_event event;

	for (cl_int i = 0; i < N; i++)
		mapped[i] = 40;
	say("map count while mapped: %u", map_count(bed->buffer, 1));
	unmap(bed, mapped);
	finish_event(run_add(bed, bed->queue, bed->buffer, 2, NULL));
	say_contents(bed, "kernel after a map for writing", bed->buffer, 42);
	say("map count after unmap: %u", map_count(bed->buffer, 0));

	mapped = clEnqueueMapBuffer(bed->queue, bed->buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
				    BYTES / 2, sizeof(cl_int), 0, NULL, NULL, &error);
	must(error, "clEnqueueMapBuffer");
	say("map of one element in the middle: %d", mapped[0]);
	mapped[0] = 7;
	must(clEnqueueUnmapMemObject(bed->queue, bed->buffer, mapped, 0, NULL, &event),
	     "clEnqueueUnmapMemObject");
	finish_event(event);
	say("values that differ after it was written: %u, in the middle: %d",
	    others(contents(bed->queue, bed->buffer), 42),
	    contents(bed->queue, bed->buffer)[N / 2]);
}

void section_map(struct bed *bed)
{
	repeated_maps(bed);
	repeated_reads(bed);
	late_kernel(bed);
	non_blocking_read(bed);
	non_blocking_map(bed);
	write_through_map(bed);
}
