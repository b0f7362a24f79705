/* SPDX-License-Identifier: MIT */
/* The state and the functions of a client that checks an OpenCL device: TAP, and objects for a
 * check. */
#ifndef TESTS_HELPER_CL_API_H
#define TESTS_HELPER_CL_API_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#define N 1024 /* work-items of a launch */

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static unsigned n_checks, n_failed;
static bool is_double; /* the device is the double */

static inline void check(bool is_true, const char *what)
{
	n_checks++;
	n_failed += !is_true;
	printf("%sok %u - %s\n", is_true ? "" : "not ", n_checks, what);
}

static inline void check_code(cl_int got, cl_int wanted, const char *what)
{
	check(got == wanted, what);
	if (got != wanted)
		printf("# got %d, wanted %d\n", got, wanted);
}

/* Ends the program if a call fails that the checks rely on. */
static inline void must(cl_int code, const char *what)
{
	if (code == CL_SUCCESS)
		return;
	printf("Bail out! %s: error %d\n", what, code);
	exit(1);
}

/* The objects of the present check, which forget_all() releases. */
static struct {
	cl_mem mems[8];
	cl_kernel kernels[8];
	cl_event events[16];
	unsigned n_mems, n_kernels, n_events;
} own;

static inline void forget_all(void)
{
	must(clFinish(queue), "clFinish");
	while (own.n_events > 0)
		must(clReleaseEvent(own.events[--own.n_events]), "clReleaseEvent");
	while (own.n_kernels > 0)
		must(clReleaseKernel(own.kernels[--own.n_kernels]), "clReleaseKernel");
	while (own.n_mems > 0)
		must(clReleaseMemObject(own.mems[--own.n_mems]), "clReleaseMemObject");
}

static inline cl_kernel new_kernel(const char *name)
{
	cl_int code;
	cl_kernel kernel = clCreateKernel(program, name, &code);

	must(code, name);
	return kernel;
}

static inline cl_kernel kernel_of(const char *name)
{
	return own.kernels[own.n_kernels++] = new_kernel(name);
}

static inline cl_mem new_buffer(size_t size)
{
	cl_int code;
	cl_mem mem = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &code);

	must(code, "clCreateBuffer");
	return mem;
}

static inline cl_mem buffer(size_t size)
{
	return own.mems[own.n_mems++] = new_buffer(size);
}

static inline cl_event user_event(void)
{
	cl_int code;
	cl_event event = clCreateUserEvent(context, &code);

	must(code, "clCreateUserEvent");
	return own.events[own.n_events++] = event;
}

static inline cl_command_queue queue_with(cl_command_queue_properties properties)
{
	cl_int code;
	cl_command_queue made = clCreateCommandQueue(context, device, properties, &code);

	must(code, "clCreateCommandQueue");
	return made;
}

static inline void set(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
	must(clSetKernelArg(kernel, index, size, value), "clSetKernelArg");
}

static inline cl_kernel new_increment(cl_mem mem, cl_ulong ns)
{
	cl_kernel kernel = new_kernel("double_increment");

	set(kernel, 0, sizeof(mem), &mem);
	set(kernel, 1, sizeof(ns), &ns);
	return kernel;
}

static inline cl_kernel increment_of(cl_mem mem, cl_ulong ns)
{
	return own.kernels[own.n_kernels++] = new_increment(mem, ns);
}

static inline void launch_only(cl_command_queue on, cl_kernel kernel)
{
	size_t global = N, local = 64;

	must(clEnqueueNDRangeKernel(on, kernel, 1, NULL, &global, &local, 0, NULL, NULL),
	     "clEnqueueNDRangeKernel");
}

static inline cl_event launch(cl_command_queue on, cl_kernel kernel, const cl_event *wait)
{
	size_t global = N, local = 64;
	cl_event event;

	must(clEnqueueNDRangeKernel(on, kernel, 1, NULL, &global, &local, wait ? 1 : 0, wait,
				    &event),
	     "clEnqueueNDRangeKernel");
	return own.events[own.n_events++] = event;
}

static inline void zero(cl_mem mem)
{
	cl_uint pattern = 0;

	must(clEnqueueFillBuffer(queue, mem, &pattern, sizeof(pattern), 0, N * 4, 0, NULL, NULL),
	     "clEnqueueFillBuffer");
}

/* Reads element @i of @mem after all commands in @from. */
static inline cl_uint element(cl_command_queue from, cl_mem mem, size_t i)
{
	cl_uint value = 0;

	must(clEnqueueReadBuffer(from, mem, CL_TRUE, i * 4, 4, &value, 0, NULL, NULL),
	     "clEnqueueReadBuffer");
	return value;
}

static inline cl_int status_of(cl_event event)
{
	cl_int status = 99;

	must(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
			    NULL),
	     "clGetEventInfo");
	return status;
}

#endif
