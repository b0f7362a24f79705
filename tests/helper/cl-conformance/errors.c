/* SPDX-License-Identifier: MIT */
/*
 * Error codes of calls with wrong arguments. Each call must fail, and only this call. Missing are
 * arguments that end the program in PoCL 3.1: kernel NULL, a wait list NULL, and work-groups of
 * size 0 in a launch.
 */
#include "tests/helper/cl-conformance/conform.h"

/* Prints the error that a call that creates an object writes to e. */
#define TRY(what, call)        \
	do {                   \
		(void)(call);  \
		code(what, e); \
	} while (0)

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

/* --- calls that create, query, retain and release objects --- */

static void buffers(struct bed *bed)
{
	cl_context c = bed->context;
	size_t region[2] = {0, 16}, beyond[2] = {BYTES, 16}, unaligned[2] = {4, 16}, empty[2] = {0};
	char memory[16];
	cl_int e;

	TRY("buffer, context NULL", clCreateBuffer(NULL, 0, 16, NULL, &e));
	TRY("buffer, size 0", clCreateBuffer(c, 0, 0, NULL, &e));
	TRY("buffer, two kinds of access",
	    clCreateBuffer(c, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 16, NULL, &e));
	TRY("buffer, memory missing", clCreateBuffer(c, CL_MEM_USE_HOST_PTR, 16, NULL, &e));
	TRY("buffer, memory without a flag", clCreateBuffer(c, 0, 16, memory, &e));
	TRY("buffer, too large", clCreateBuffer(c, 0, (size_t)1 << 50, NULL, &e));
	TRY("sub-buffer, buffer NULL",
	    clCreateSubBuffer(NULL, 0, CL_BUFFER_CREATE_TYPE_REGION, region, &e));
	TRY("sub-buffer, beyond the end",
	    clCreateSubBuffer(bed->buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, beyond, &e));
	TRY("sub-buffer, not aligned",
	    clCreateSubBuffer(bed->buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, unaligned, &e));
	TRY("sub-buffer, size 0",
	    clCreateSubBuffer(bed->buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, empty, &e));
	TRY("sub-buffer, wrong kind", clCreateSubBuffer(bed->buffer, 0, 1, region, &e));
}

static void queues(struct bed *bed)
{
	cl_int e;

	TRY("context, no device", clCreateContext(NULL, 0, NULL, NULL, NULL, &e));
	TRY("context, list NULL", clCreateContext(NULL, 1, NULL, NULL, NULL, &e));
	TRY("queue, context NULL", clCreateCommandQueue(NULL, bed->device, 0, &e));
	TRY("queue, device NULL", clCreateCommandQueue(bed->context, NULL, 0, &e));
	TRY("queue, wrong property", clCreateCommandQueue(bed->context, bed->device, 1u << 20, &e));
	TRY("user event, context NULL", clCreateUserEvent(NULL, &e));
	TRY("sampler, context NULL",
	    clCreateSampler(NULL, CL_FALSE, CL_ADDRESS_NONE, CL_FILTER_NEAREST, &e));
	code("devices, no result wanted",
	     clGetDeviceIDs(bed->platform, CL_DEVICE_TYPE_ALL, 0, NULL, NULL));
	code("platforms, no result wanted", clGetPlatformIDs(0, NULL, NULL));
}

static void programs(struct bed *bed)
{
	const char *text = "x", *none = NULL;
	cl_int e;

	TRY("program, context NULL", clCreateProgramWithSource(NULL, 1, &text, NULL, &e));
	TRY("program, no source", clCreateProgramWithSource(bed->context, 0, NULL, NULL, &e));
	TRY("program, source NULL", clCreateProgramWithSource(bed->context, 1, &none, NULL, &e));
	code("build, program NULL", clBuildProgram(NULL, 0, NULL, NULL, NULL, NULL));
	code("build, list of devices NULL",
	     clBuildProgram(bed->program, 1, NULL, NULL, NULL, NULL));
	TRY("kernel, program NULL", clCreateKernel(NULL, "fill", &e));
	TRY("kernel, wrong name", clCreateKernel(bed->program, "nothing", &e));
	TRY("kernel, name NULL", clCreateKernel(bed->program, NULL, &e));
	TRY("clone, kernel NULL", clCloneKernel(NULL, &e));
}

static void queries(struct bed *bed)
{
	char small;

	code("query of a context, wrong name", clGetContextInfo(bed->context, 12, 0, NULL, NULL));
	code("query of a queue, wrong name", clGetCommandQueueInfo(bed->queue, 12, 0, NULL, NULL));
	code("query of a buffer, wrong name", clGetMemObjectInfo(bed->buffer, 12, 0, NULL, NULL));
	code("query of a program, wrong name", clGetProgramInfo(bed->program, 12, 0, NULL, NULL));
	code("query of a kernel, wrong name", clGetKernelInfo(bed->fill, 12, 0, NULL, NULL));
	code("query of a device, wrong name", clGetDeviceInfo(bed->device, 12, 0, NULL, NULL));
	code("query of a platform, wrong name",
	     clGetPlatformInfo(bed->platform, 12, 0, NULL, NULL));
	code("query of a work-group, wrong name",
	     clGetKernelWorkGroupInfo(bed->fill, bed->device, 12, 0, NULL, NULL));
	code("query of an argument, wrong index",
	     clGetKernelArgInfo(bed->fill, 9, CL_KERNEL_ARG_NAME, 0, NULL, NULL));
	code("query, result too small",
	     clGetMemObjectInfo(bed->buffer, CL_MEM_SIZE, 1, &small, NULL));
	code("query of context NULL",
	     clGetContextInfo(NULL, CL_CONTEXT_NUM_DEVICES, 0, NULL, NULL));
	code("query of queue NULL", clGetCommandQueueInfo(NULL, CL_QUEUE_DEVICE, 0, NULL, NULL));
	code("query of buffer NULL", clGetMemObjectInfo(NULL, CL_MEM_SIZE, 0, NULL, NULL));
	code("query of program NULL", clGetProgramInfo(NULL, CL_PROGRAM_SOURCE, 0, NULL, NULL));
	code("query of kernel NULL", clGetKernelInfo(NULL, CL_KERNEL_NUM_ARGS, 0, NULL, NULL));
	code("query of event NULL", clGetEventInfo(NULL, CL_EVENT_COMMAND_TYPE, 0, NULL, NULL));
}

static void null_references(void)
{
	code("retain context NULL", clRetainContext(NULL));
	code("retain queue NULL", clRetainCommandQueue(NULL));
	code("retain buffer NULL", clRetainMemObject(NULL));
	code("retain program NULL", clRetainProgram(NULL));
	code("retain kernel NULL", clRetainKernel(NULL));
	code("retain event NULL", clRetainEvent(NULL));
	code("release context NULL", clReleaseContext(NULL));
	code("release queue NULL", clReleaseCommandQueue(NULL));
	code("release buffer NULL", clReleaseMemObject(NULL));
	code("release program NULL", clReleaseProgram(NULL));
	code("release kernel NULL", clReleaseKernel(NULL));
	code("release event NULL", clReleaseEvent(NULL));
}

void section_creation(struct bed *bed)
{
	buffers(bed);
	queues(bed);
	programs(bed);
	queries(bed);
	null_references();
}
