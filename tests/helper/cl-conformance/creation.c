/* SPDX-License-Identifier: MIT */
/* Error codes of calls that create, query, retain and release objects. */
#include "tests/helper/cl-conformance/conform.h"

static void buffers(struct bed *bed)
{
	cl_context c = bed->context;
	size_t region[2] = {0, 16}, beyond[2] = {BYTES, 16}, unaligned[2] = {4, 16}, empty[2] = {0};
	char memory[16];
	cl_int e;

	(void)clCreateBuffer(NULL, 0, 16, NULL, &e);
	code("buffer, context NULL", e);
	(void)clCreateBuffer(c, 0, 0, NULL, &e);
	code("buffer, size 0", e);
	(void)clCreateBuffer(c, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 16, NULL, &e);
	code("buffer, two kinds of access", e);
	(void)clCreateBuffer(c, CL_MEM_USE_HOST_PTR, 16, NULL, &e);
	code("buffer, memory missing", e);
	(void)clCreateBuffer(c, 0, 16, memory, &e);
	code("buffer, memory without a flag", e);
	(void)clCreateBuffer(c, 0, (size_t)1 << 50, NULL, &e);
	code("buffer, too large", e);
	(void)clCreateSubBuffer(NULL, 0, CL_BUFFER_CREATE_TYPE_REGION, region, &e);
	code("sub-buffer, buffer NULL", e);
	(void)clCreateSubBuffer(bed->buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, beyond, &e);
	code("sub-buffer, beyond the end", e);
	(void)clCreateSubBuffer(bed->buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, unaligned, &e);
	code("sub-buffer, not aligned", e);
	(void)clCreateSubBuffer(bed->buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, empty, &e);
	code("sub-buffer, size 0", e);
	(void)clCreateSubBuffer(bed->buffer, 0, 1, region, &e);
	code("sub-buffer, wrong kind", e);
}

static void queues(struct bed *bed)
{
	cl_int e;

	(void)clCreateContext(NULL, 0, NULL, NULL, NULL, &e);
	code("context, no device", e);
	(void)clCreateContext(NULL, 1, NULL, NULL, NULL, &e);
	code("context, list NULL", e);
	(void)clCreateCommandQueue(NULL, bed->device, 0, &e);
	code("queue, context NULL", e);
	(void)clCreateCommandQueue(bed->context, NULL, 0, &e);
	code("queue, device NULL", e);
	(void)clCreateCommandQueue(bed->context, bed->device, 1u << 20, &e);
	code("queue, wrong property", e);
	(void)clCreateUserEvent(NULL, &e);
	code("user event, context NULL", e);
	(void)clCreateSampler(NULL, CL_FALSE, CL_ADDRESS_NONE, CL_FILTER_NEAREST, &e);
	code("sampler, context NULL", e);
	code("devices, no result wanted",
	     clGetDeviceIDs(bed->platform, CL_DEVICE_TYPE_ALL, 0, NULL, NULL));
	code("platforms, no result wanted", clGetPlatformIDs(0, NULL, NULL));
}

static void programs(struct bed *bed)
{
	const char *text = "x", *none = NULL;
	cl_int e;

	(void)clCreateProgramWithSource(NULL, 1, &text, NULL, &e);
	code("program, context NULL", e);
	(void)clCreateProgramWithSource(bed->context, 0, NULL, NULL, &e);
	code("program, no source", e);
	(void)clCreateProgramWithSource(bed->context, 1, &none, NULL, &e);
	code("program, source NULL", e);
	code("build, program NULL", clBuildProgram(NULL, 0, NULL, NULL, NULL, NULL));
	code("build, list of devices NULL",
	     clBuildProgram(bed->program, 1, NULL, NULL, NULL, NULL));
	(void)clCreateKernel(NULL, "fill", &e);
	code("kernel, program NULL", e);
	(void)clCreateKernel(bed->program, "nothing", &e);
	code("kernel, wrong name", e);
	(void)clCreateKernel(bed->program, NULL, &e);
	code("kernel, name NULL", e);
	(void)clCloneKernel(NULL, &e);
	code("clone, kernel NULL", e);
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
