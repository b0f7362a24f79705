/* SPDX-License-Identifier: MIT */
/* Sub-buffers, fills, copies, rectangles and host pointers. */
#include <stdio.h>
#include <string.h>

#include "tests/helper/cl-conformance/conform.h"

#define SIDE 16 /* the buffers of the bed as squares */

/* Prints the sum of the elements, weighted with their index, so that a moved value changes it. */
static void say_sum(struct bed *bed, const char *what, cl_mem buffer)
{
	const cl_int *values = contents(bed->queue, buffer);
	long sum = 0;

	for (int i = 0; i < N; i++)
		sum += (long)(i + 1) * values[i];
	say("%s: sum %ld", what, sum);
}

static void number(struct bed *bed, cl_mem buffer)
{
	cl_int values[N];

	for (cl_int i = 0; i < N; i++)
		values[i] = i;
	must(clEnqueueWriteBuffer(bed->queue, buffer, CL_TRUE, 0, BYTES, values, 0, NULL, NULL),
	     "clEnqueueWriteBuffer");
}

static void sub_buffers(struct bed *bed)
{
	cl_buffer_region region = {BYTES / 2, BYTES / 4};
	cl_int error, out[N / 4] = {0};
	size_t global = N / 4, offset = 0;
	cl_mem parent = NULL,
	       sub = clCreateSubBuffer(bed->buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
				       &region, &error);

	code("sub-buffer of the third quarter", error);
	must(error, "clCreateSubBuffer");
	must(clGetMemObjectInfo(sub, CL_MEM_OFFSET, sizeof(offset), &offset, NULL), "offset");
	must(clGetMemObjectInfo(sub, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(parent), &parent, NULL),
	     "parent");
	say("its offset: %zu, its parent is the buffer: %s", offset, yes(parent == bed->buffer));
	number(bed, bed->buffer);
	set_arguments(bed->fill, sub, 7);
	must(clEnqueueNDRangeKernel(bed->queue, bed->fill, 1, NULL, &global, NULL, 0, NULL, NULL),
	     "clEnqueueNDRangeKernel");
	must(clEnqueueReadBuffer(bed->queue, sub, CL_TRUE, sizeof(cl_int), sizeof(out) / 2, out, 0,
				 NULL, NULL),
	     "clEnqueueReadBuffer");
	say("read from it: %d %d %d", out[0], out[N / 8 - 1], out[N / 8]);
	must(clFinish(bed->queue), "clFinish");
	say_sum(bed, "buffer after a kernel on the sub-buffer", bed->buffer);
	must(clReleaseMemObject(sub), "clReleaseMemObject");
}

static void fills(struct bed *bed)
{
	static const cl_uchar pattern[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

	for (size_t size = 1; size <= sizeof(pattern); size *= 2) {
		char what[48];

		(void)snprintf(what, sizeof(what), "fill with a pattern of %02zu bytes", size);
		number(bed, bed->buffer);
		must(clEnqueueFillBuffer(bed->queue, bed->buffer, pattern, size, 64, 128, 0, NULL,
					 NULL),
		     "clEnqueueFillBuffer");
		say_sum(bed, what, bed->buffer);
	}
}

static void copies(struct bed *bed)
{
	cl_int part[8];

	number(bed, bed->buffer);
	must(clEnqueueFillBuffer(bed->queue, bed->other, "", 1, 0, BYTES, 0, NULL, NULL), "fill");
	must(clEnqueueCopyBuffer(bed->queue, bed->buffer, bed->other, 40, 80, 120, 0, NULL, NULL),
	     "clEnqueueCopyBuffer");
	say_sum(bed, "copy of a part", bed->other);
	must(clEnqueueReadBuffer(bed->queue, bed->buffer, CL_TRUE, 100, sizeof(part), part, 0, NULL,
				 NULL),
	     "clEnqueueReadBuffer");
	say("read of a part: %d to %d", part[0], part[7]);
	memset(part, 0xff, sizeof(part));
	must(clEnqueueWriteBuffer(bed->queue, bed->buffer, CL_FALSE, 200, sizeof(part), part, 0,
				  NULL, NULL),
	     "clEnqueueWriteBuffer");
	say_sum(bed, "write of a part", bed->buffer);
	must(clEnqueueMigrateMemObjects(bed->queue, 1, &bed->buffer, 0, 0, NULL, NULL),
	     "clEnqueueMigrateMemObjects");
	say_sum(bed, "migrate", bed->buffer);
}

static void rectangles(struct bed *bed)
{
	static const size_t from[3] = {8, 2, 0}, to[3] = {4, 5, 0}, region[3] = {20, 6, 1};
	static const size_t row = SIDE * sizeof(cl_int), host_row = 24;
	cl_int host[64] = {0};
	long sum = 0;

	number(bed, bed->buffer);
	must(clEnqueueFillBuffer(bed->queue, bed->other, "", 1, 0, BYTES, 0, NULL, NULL), "fill");
	must(clEnqueueCopyBufferRect(bed->queue, bed->buffer, bed->other, from, to, region, row, 0,
				     row, 0, 0, NULL, NULL),
	     "clEnqueueCopyBufferRect");
	say_sum(bed, "copy of a rectangle", bed->other);
	must(clEnqueueReadBufferRect(bed->queue, bed->buffer, CL_TRUE, from, (size_t[3]){0}, region,
				     row, 0, host_row, 0, host, 0, NULL, NULL),
	     "clEnqueueReadBufferRect");
	for (int i = 0; i < 64; i++)
		sum += (long)(i + 1) * host[i];
	say("read of a rectangle: sum %ld", sum);
	for (int i = 0; i < 64; i++)
		host[i] = -i;
	must(clEnqueueWriteBufferRect(bed->queue, bed->buffer, CL_TRUE, to, (size_t[3]){0}, region,
				      row, 0, host_row, 0, host, 0, NULL, NULL),
	     "clEnqueueWriteBufferRect");
	say_sum(bed, "write of a rectangle", bed->buffer);
}

/* Buffers on the memory of the application, and the order of destructor callbacks. */
static char destroyed[4];

static void CL_CALLBACK on_destroy(cl_mem buffer, void *data)
{
	size_t n = strlen(destroyed);

	(void)buffer;
	if (n + 1 < sizeof(destroyed))
		destroyed[n] = *(const char *)data;
}

static bool both_destroyed(void *unused)
{
	(void)unused;
	return strlen(destroyed) == 2;
}

static void host_pointers(struct bed *bed)
{
	static char first[] = "a", second[] = "b";
	static _Alignas(4096) cl_int memory[N];
	cl_int error, *mapped;
	cl_mem buffer;
	void *pointer = NULL;

	buffer = clCreateBuffer(bed->context, CL_MEM_USE_HOST_PTR, BYTES, memory, &error);
	must(error, "clCreateBuffer");
	must(clGetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof(pointer), &pointer, NULL), "info");
	finish_event(run_fill(bed, bed->queue, buffer, 9, NULL));
	mapped = clEnqueueMapBuffer(bed->queue, buffer, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL,
				    NULL, &error);
	must(error, "clEnqueueMapBuffer");
	say("buffer on own memory: pointer kept: %s, mapped at it: %s, values that differ: %u",
	    yes(pointer == memory), yes(mapped == memory), others(memory, 9));
	must(clEnqueueUnmapMemObject(bed->queue, buffer, mapped, 0, NULL, NULL), "unmap");
	must(clFinish(bed->queue), "clFinish");
	code("destructor", clSetMemObjectDestructorCallback(buffer, on_destroy, first));
	code("second destructor", clSetMemObjectDestructorCallback(buffer, on_destroy, second));
	must(clRetainMemObject(buffer), "clRetainMemObject");
	must(clReleaseMemObject(buffer), "clReleaseMemObject");
	say("destructors called while the buffer is used: '%s'", destroyed);
	must(clReleaseMemObject(buffer), "clReleaseMemObject");
	await(both_destroyed, NULL, 2000);
	say("destructors called at the end: '%s'", destroyed);
	memset(destroyed, 0, sizeof(destroyed));
}

void section_buffers(struct bed *bed)
{
	sub_buffers(bed);
	fills(bed);
	copies(bed);
	rectangles(bed);
	host_pointers(bed);
}
