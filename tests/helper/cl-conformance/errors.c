/* SPDX-License-Identifier: MIT */
/*
 * Error codes of calls with wrong arguments. Each call must fail, and only this call. Missing are
 * arguments that end the program in PoCL 3.1: kernel NULL, a wait list NULL, and work-groups of
 * size 0 in a launch.
 */
#include "tests/helper/cl-conformance/conform.h"

static void launches(struct bed *bed)
{
	size_t one = 1, huge = 1u << 20, three = 3;
	cl_event none = NULL;
	cl_kernel unset = clCreateKernel(bed->program, "fill", NULL);

	code("launch, queue NULL",
	     clEnqueueNDRangeKernel(NULL, bed->ids, 1, NULL, &one, NULL, 0, NULL, NULL));
	code("launch, argument not set",
	     clEnqueueNDRangeKernel(bed->queue, unset, 1, NULL, &one, NULL, 0, NULL, NULL));
	must(clSetKernelArg(bed->ids, 0, sizeof(cl_mem), &bed->other), "clSetKernelArg");
	code("launch, 0 dimensions",
	     clEnqueueNDRangeKernel(bed->queue, bed->ids, 0, NULL, &one, NULL, 0, NULL, NULL));
	code("launch, 4 dimensions",
	     clEnqueueNDRangeKernel(bed->queue, bed->ids, 4, NULL, &one, NULL, 0, NULL, NULL));
	code("launch, work-group too large",
	     clEnqueueNDRangeKernel(bed->queue, bed->ids, 1, NULL, &huge, &huge, 0, NULL, NULL));
	code("launch, global size no multiple of the work-group",
	     clEnqueueNDRangeKernel(bed->queue, bed->ids, 1, NULL, &one, &three, 0, NULL, NULL));
	code("launch, wait list without events",
	     clEnqueueNDRangeKernel(bed->queue, bed->ids, 1, NULL, &one, NULL, 0, &none, NULL));
	code("task, queue NULL", clEnqueueTask(NULL, bed->ids, 0, NULL, NULL));
	code("launch after the errors",
	     clEnqueueNDRangeKernel(bed->queue, bed->ids, 1, NULL, &one, NULL, 0, NULL, NULL));
	must(clFinish(bed->queue), "clFinish");
	must(clReleaseKernel(unset), "clReleaseKernel");
}

static void arguments(struct bed *bed)
{
	cl_int value = 1;

	code("argument, kernel NULL", clSetKernelArg(NULL, 0, sizeof(value), &value));
	code("argument, index too large", clSetKernelArg(bed->fill, 9, sizeof(value), &value));
	code("argument, size too large", clSetKernelArg(bed->fill, 1, 64, &value));
	code("argument, size 0", clSetKernelArg(bed->fill, 1, 0, &value));
	code("argument, value NULL", clSetKernelArg(bed->fill, 1, sizeof(value), NULL));
	code("argument, size of a buffer wrong", clSetKernelArg(bed->fill, 0, 3, &bed->buffer));
	code("argument, buffer NULL", clSetKernelArg(bed->fill, 0, sizeof(cl_mem), NULL));
	code("argument after the errors", clSetKernelArg(bed->fill, 1, sizeof(value), &value));
}

static void transfers(cl_command_queue q, cl_mem b)
{
	cl_event none = NULL;
	cl_int v[4] = {0}, error;

	code("read, queue NULL", clEnqueueReadBuffer(NULL, b, CL_TRUE, 0, 16, v, 0, NULL, NULL));
	code("read, buffer NULL", clEnqueueReadBuffer(q, NULL, CL_TRUE, 0, 16, v, 0, NULL, NULL));
	code("read, pointer NULL", clEnqueueReadBuffer(q, b, CL_TRUE, 0, 16, NULL, 0, NULL, NULL));
	code("read, beyond the end",
	     clEnqueueReadBuffer(q, b, CL_TRUE, BYTES - 4, 16, v, 0, NULL, NULL));
	code("read, wait list NULL", clEnqueueReadBuffer(q, b, CL_TRUE, 0, 16, v, 1, NULL, NULL));
	code("read, event NULL in the list",
	     clEnqueueReadBuffer(q, b, CL_TRUE, 0, 16, v, 1, &none, NULL));
	code("write, queue NULL", clEnqueueWriteBuffer(NULL, b, CL_TRUE, 0, 16, v, 0, NULL, NULL));
	code("write, buffer NULL", clEnqueueWriteBuffer(q, NULL, CL_TRUE, 0, 16, v, 0, NULL, NULL));
	code("write, pointer NULL",
	     clEnqueueWriteBuffer(q, b, CL_TRUE, 0, 16, NULL, 0, NULL, NULL));
	code("write, beyond the end",
	     clEnqueueWriteBuffer(q, b, CL_TRUE, BYTES - 4, 16, v, 0, NULL, NULL));
	(void)clEnqueueMapBuffer(NULL, b, CL_TRUE, CL_MAP_READ, 0, 16, 0, NULL, NULL, &error);
	code("map, queue NULL", error);
	(void)clEnqueueMapBuffer(q, NULL, CL_TRUE, CL_MAP_READ, 0, 16, 0, NULL, NULL, &error);
	code("map, buffer NULL", error);
	(void)clEnqueueMapBuffer(q, b, CL_TRUE, CL_MAP_READ, BYTES - 4, 16, 0, NULL, NULL, &error);
	code("map, beyond the end", error);
	(void)clEnqueueMapBuffer(q, b, CL_TRUE, CL_MAP_READ, 0, 0, 0, NULL, NULL, &error);
	code("map, size 0", error);
	code("unmap, queue NULL", clEnqueueUnmapMemObject(NULL, b, v, 0, NULL, NULL));
	code("unmap, not mapped", clEnqueueUnmapMemObject(q, b, v, 0, NULL, NULL));
	code("unmap, pointer NULL", clEnqueueUnmapMemObject(q, b, NULL, 0, NULL, NULL));
}

static void copies(cl_command_queue q, cl_mem b)
{
	cl_int p = 1;

	code("copy, queue NULL", clEnqueueCopyBuffer(NULL, b, b, 0, 32, 16, 0, NULL, NULL));
	code("copy, buffer NULL", clEnqueueCopyBuffer(q, NULL, b, 0, 32, 16, 0, NULL, NULL));
	code("copy, overlap", clEnqueueCopyBuffer(q, b, b, 0, 8, 16, 0, NULL, NULL));
	code("copy, beyond the end", clEnqueueCopyBuffer(q, b, b, 0, BYTES - 4, 16, 0, NULL, NULL));
	code("fill, queue NULL", clEnqueueFillBuffer(NULL, b, &p, 4, 0, 16, 0, NULL, NULL));
	code("fill, buffer NULL", clEnqueueFillBuffer(q, NULL, &p, 4, 0, 16, 0, NULL, NULL));
	code("fill, pattern NULL", clEnqueueFillBuffer(q, b, NULL, 4, 0, 16, 0, NULL, NULL));
	code("fill, pattern of 3 bytes", clEnqueueFillBuffer(q, b, &p, 3, 0, 15, 0, NULL, NULL));
	code("fill, offset not aligned", clEnqueueFillBuffer(q, b, &p, 4, 2, 16, 0, NULL, NULL));
	code("fill, size no multiple", clEnqueueFillBuffer(q, b, &p, 4, 0, 18, 0, NULL, NULL));
	code("fill, beyond the end",
	     clEnqueueFillBuffer(q, b, &p, 4, BYTES - 4, 16, 0, NULL, NULL));
	code("migrate, queue NULL", clEnqueueMigrateMemObjects(NULL, 1, &b, 0, 0, NULL, NULL));
	code("migrate, no object", clEnqueueMigrateMemObjects(q, 0, NULL, 0, 0, NULL, NULL));
	code("migrate, wrong flags", clEnqueueMigrateMemObjects(q, 1, &b, 99, 0, NULL, NULL));
}

static void rectangles(cl_command_queue q, cl_mem b)
{
	size_t o[3] = {0}, r[3] = {16, 1, 1};
	cl_int v[4] = {0};

	code("read rect, queue NULL",
	     clEnqueueReadBufferRect(NULL, b, CL_TRUE, o, o, r, 0, 0, 0, 0, v, 0, NULL, NULL));
	code("read rect, buffer NULL",
	     clEnqueueReadBufferRect(q, NULL, CL_TRUE, o, o, r, 0, 0, 0, 0, v, 0, NULL, NULL));
	code("read rect, origin NULL",
	     clEnqueueReadBufferRect(q, b, CL_TRUE, NULL, o, r, 0, 0, 0, 0, v, 0, NULL, NULL));
	code("read rect, row too short",
	     clEnqueueReadBufferRect(q, b, CL_TRUE, o, o, r, 8, 0, 0, 0, v, 0, NULL, NULL));
	code("read rect, pointer NULL",
	     clEnqueueReadBufferRect(q, b, CL_TRUE, o, o, r, 0, 0, 0, 0, NULL, 0, NULL, NULL));
	code("write rect, queue NULL",
	     clEnqueueWriteBufferRect(NULL, b, CL_TRUE, o, o, r, 0, 0, 0, 0, v, 0, NULL, NULL));
	code("copy rect, queue NULL",
	     clEnqueueCopyBufferRect(NULL, b, b, o, o, r, 0, 0, 0, 0, 0, NULL, NULL));
	code("copy rect, overlap",
	     clEnqueueCopyBufferRect(q, b, b, o, o, r, 0, 0, 0, 0, 0, NULL, NULL));
}

static void waits(cl_command_queue q)
{
	cl_event none = NULL;

	code("marker, queue NULL", clEnqueueMarkerWithWaitList(NULL, 0, NULL, NULL));
	code("marker, list NULL", clEnqueueMarkerWithWaitList(q, 1, NULL, NULL));
	code("barrier, queue NULL", clEnqueueBarrierWithWaitList(NULL, 0, NULL, NULL));
	code("barrier, event NULL in the list", clEnqueueBarrierWithWaitList(q, 1, &none, NULL));
	code("flush, queue NULL", clFlush(NULL));
	code("finish, queue NULL", clFinish(NULL));
	code("wait, no event", clWaitForEvents(0, NULL));
	code("wait, list NULL", clWaitForEvents(1, NULL));
	code("wait, event NULL", clWaitForEvents(1, &none));
	code("user event, event NULL", clSetUserEventStatus(NULL, CL_COMPLETE));
	code("callback, event NULL", clSetEventCallback(NULL, CL_COMPLETE, NULL, NULL));
	code("profiling, event NULL",
	     clGetEventProfilingInfo(NULL, CL_PROFILING_COMMAND_END, 0, NULL, NULL));
	code("finish after the errors", clFinish(q));
}

void section_errors(struct bed *bed)
{
	launches(bed);
	arguments(bed);
	transfers(bed->queue, bed->buffer);
	copies(bed->queue, bed->buffer);
	rectangles(bed->queue, bed->buffer);
	waits(bed->queue);
	say_contents(bed, "buffer after the errors", bed->buffer, 0);
}
