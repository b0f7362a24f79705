/* SPDX-License-Identifier: MIT */
/* Arguments are captured when a kernel is enqueued. Indices that a kernel sees. Clones. Queries. */
#include "tests/helper/cl-conformance/conform.h"

static void captured(struct bed *bed)
{
	struct gate *gate = gate_new(bed);
	cl_event event = run_fill(bed, bed->queue, bed->buffer, 11, gate);

	set_arguments(bed->fill, bed->other, 12);
	say("gate: opened in time: %s", yes(gate_open(gate)));
	finish_event(event);
	say_contents(bed, "arguments changed after the launch", bed->buffer, 11);
	say_contents(bed, "buffer that was set after the launch", bed->other, 0);
	gate_free(gate);
}

/* The same without a gate and without an event: the launch may still wait in a layer. */
static void captured_at_once(struct bed *bed)
{
	cl_int value = 21;
	size_t global = N;

	set_arguments(bed->fill, bed->buffer, value);
	must(clEnqueueNDRangeKernel(bed->queue, bed->fill, 1, NULL, &global, NULL, 0, NULL, NULL),
	     "clEnqueueNDRangeKernel");
	value = 22;
	must(clSetKernelArg(bed->fill, 1, sizeof(value), &value), "clSetKernelArg");
	must(clSetKernelArg(bed->fill, 0, sizeof(cl_mem), &bed->other), "clSetKernelArg");
	must(clFinish(bed->queue), "clFinish");
	say_contents(bed, "arguments changed at once", bed->buffer, 21);
	say_contents(bed, "buffer that was set at once", bed->other, 0);
}

/* A kernel may be released, and its buffers too, when its launch is enqueued. */
static void released(struct bed *bed)
{
	struct gate *gate = gate_new(bed);
	cl_int error;
	size_t global = N;
	cl_kernel kernel = clCreateKernel(bed->program, "fill", &error);
	cl_event event;

	must(error, "clCreateKernel");
	set_arguments(kernel, bed->buffer, 31);
	must(clEnqueueNDRangeKernel(bed->queue, kernel, 1, NULL, &global, NULL, 1, gate_event(gate),
				    &event),
	     "clEnqueueNDRangeKernel");
	code("release the kernel of a launch", clReleaseKernel(kernel));
	say("gate: opened in time: %s", yes(gate_open(gate)));
	finish_event(event);
	say_contents(bed, "launch of a released kernel", bed->buffer, 31);
	gate_free(gate);
}

static void clones(struct bed *bed)
{
	cl_int error, value = 41;
	size_t global = N;
	cl_kernel clone;

	set_arguments(bed->fill, bed->buffer, value);
	clone = clCloneKernel(bed->fill, &error);
	code("clone", error);
	if (error != CL_SUCCESS)
		return;
	value = 42;
	must(clSetKernelArg(clone, 1, sizeof(value), &value), "clSetKernelArg");
	must(clEnqueueNDRangeKernel(bed->queue, bed->fill, 1, NULL, &global, NULL, 0, NULL, NULL),
	     "clEnqueueNDRangeKernel");
	say_contents(bed, "original after an argument of its clone", bed->buffer, 41);
	must(clEnqueueNDRangeKernel(bed->queue, clone, 1, NULL, &global, NULL, 0, NULL, NULL),
	     "clEnqueueNDRangeKernel");
	say_contents(bed, "clone", bed->buffer, 42);
	must(clReleaseKernel(clone), "clReleaseKernel");
}

/* --- indices --- */

static void say_indices(struct bed *bed, const char *what, cl_uint dimensions, const size_t *offset,
			const size_t *global, const size_t *local)
{
	static const char *const names[] = {"id", "offset", "size", "local", "group", "groups"};
	const cl_int *seen;

	must(clEnqueueFillBuffer(bed->queue, bed->buffer, "", 1, 0, BYTES, 0, NULL, NULL), "fill");
	must(clSetKernelArg(bed->ids, 0, sizeof(cl_mem), &bed->buffer), "clSetKernelArg");
	code(what, clEnqueueNDRangeKernel(bed->queue, bed->ids, dimensions, offset, global, local,
					  0, NULL, NULL));
	seen = contents(bed->queue, bed->buffer);
	for (int i = 0; i < 6; i++) {
		const cl_int *v = seen + 3 * i;

		say("  sum of %s: %d %d %d", names[i], v[0], v[1], v[2]);
	}
	say("  work-items: %d, dimensions: %d, product of local sizes: %d", seen[18], seen[19],
	    local ? seen[20] : 0);
}

static void indices(struct bed *bed)
{
	static const size_t offset[3] = {5, 3, 2}, global[3] = {24, 6, 4}, local[3] = {4, 3, 2};
	static const size_t one[3] = {1, 1, 1}, wide[3] = {1024, 1, 1};

	say_indices(bed, "1 dimension", 1, NULL, global, local);
	say_indices(bed, "1 dimension with an offset", 1, offset, global, local);
	say_indices(bed, "2 dimensions", 2, NULL, global, local);
	say_indices(bed, "2 dimensions with an offset", 2, offset, global, local);
	say_indices(bed, "3 dimensions", 3, NULL, global, local);
	say_indices(bed, "3 dimensions with an offset", 3, offset, global, local);
	say_indices(bed, "one work-item", 1, NULL, one, one);
	say_indices(bed, "many work-groups", 1, NULL, wide, local);
}

static void tasks(struct bed *bed)
{
	set_arguments(bed->fill, bed->other, 51);
	code("task", clEnqueueTask(bed->queue, bed->fill, 0, NULL, NULL));
	say("values written by a task: %u", others(contents(bed->queue, bed->other), 0));
}

static void CL_CALLBACK native(void *arguments)
{
	cl_int **values = arguments;

	(*values)[0] = 61;
}

static void native_kernels(struct bed *bed)
{
	cl_device_exec_capabilities able = 0;
	cl_int value = 0, *argument = &value;

	must(clGetDeviceInfo(bed->device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(able), &able,
			     NULL),
	     "clGetDeviceInfo");
	code("native kernel", clEnqueueNativeKernel(bed->queue, native, &argument, sizeof(argument),
						    0, NULL, NULL, 0, NULL, NULL));
	must(clFinish(bed->queue), "clFinish");
	say("native kernels: supported: %s, written: %d", yes(able & CL_EXEC_NATIVE_KERNEL), value);
}

static void queries(struct bed *bed)
{
	cl_program program = NULL;
	cl_uint n = 0;
	char name[64] = "", type[64] = "";
	size_t size = 0, compiled[3] = {9, 9, 9};
	cl_ulong local = 99;

	must(clGetKernelInfo(bed->slow, CL_KERNEL_NUM_ARGS, sizeof(n), &n, NULL), "n");
	must(clGetKernelInfo(bed->slow, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL), "name");
	must(clGetKernelInfo(bed->slow, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL), "p");
	say("kernel %s: %u arguments, own program: %s", name, n, yes(program == bed->program));
	for (cl_uint i = 0; i < n; i++) {
		cl_kernel_arg_address_qualifier address = 0;

		code("argument info", clGetKernelArgInfo(bed->slow, i, CL_KERNEL_ARG_NAME,
							 sizeof(name), name, NULL));
		(void)clGetKernelArgInfo(bed->slow, i, CL_KERNEL_ARG_TYPE_NAME, sizeof(type), type,
					 NULL);
		(void)clGetKernelArgInfo(bed->slow, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
					 sizeof(address), &address, NULL);
		say("argument %u: %s %s, address %x", i, type, name, address);
	}
	must(clGetKernelWorkGroupInfo(bed->slow, bed->device, CL_KERNEL_WORK_GROUP_SIZE,
				      sizeof(size), &size, NULL),
	     "size");
	must(clGetKernelWorkGroupInfo(bed->slow, bed->device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
				      sizeof(compiled), compiled, NULL),
	     "compiled");
	must(clGetKernelWorkGroupInfo(bed->slow, bed->device, CL_KERNEL_LOCAL_MEM_SIZE,
				      sizeof(local), &local, NULL),
	     "local");
	say("work-group: at most %zu, compiled for %zu %zu %zu, local memory %lu", size,
	    compiled[0], compiled[1], compiled[2], (unsigned long)local);
}

void section_kernels(struct bed *bed)
{
	captured(bed);
	captured_at_once(bed);
	released(bed);
	clones(bed);
	indices(bed);
	tasks(bed);
	native_kernels(bed);
	queries(bed);
}
