/* SPDX-License-Identifier: MIT */
/*
 * Checks an OpenCL device through the interface of version 1.2, and prints TAP: data and order of
 * commands, events, errors, references, threads. The same checks run on the device double and on a
 * device that executes the kernels.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "tests/helper/cl-api.h"

/* Each dimension is a constant: PoCL 7.1 runs no kernel that calls get_group_id(variable). */
static const char source[] =
	"kernel void double_fill(global uint *out, uint value, ulong ns)\n"
	"{ out[get_global_id(0)] = value + (uint)(ns & 0); }\n"
	"kernel void double_copy(global uint *out, global const uint *in, ulong ns)\n"
	"{ out[get_global_id(0)] = in[get_global_id(0)]; }\n"
	"kernel void double_add(global uint *out, global const uint *a, global const uint *b)\n"
	"{ size_t i = get_global_id(0); out[i] = a[i] + b[i]; }\n"
	"kernel void double_increment(global uint *out, ulong ns)\n"
	"{ out[get_global_id(0)]++; }\n"
	"kernel void double_ids(global ulong *out)\n"
	"{\n"
	"	size_t x = get_global_id(0) - get_global_offset(0);\n"
	"	size_t y = get_global_id(1) - get_global_offset(1);\n"
	"	size_t z = get_global_id(2) - get_global_offset(2);\n"
	"	size_t n = (z * get_global_size(1) + y) * get_global_size(0) + x;\n"
	"	out[6 * n] = get_global_id(0);\n"
	"	out[6 * n + 1] = get_global_id(1);\n"
	"	out[6 * n + 2] = get_global_id(2);\n"
	"	out[6 * n + 3] = get_group_id(0);\n"
	"	out[6 * n + 4] = get_group_id(1);\n"
	"	out[6 * n + 5] = get_group_id(2);\n"
	"}\n"
	"kernel void scratch(local uint *tile, global uint *out) { out[0] = 1; }\n";

static void check_data(void)
{
	cl_mem a = buffer(N * 4), b = buffer(N * 4), c = buffer(N * 4);
	cl_kernel fill = kernel_of("double_fill"), add = kernel_of("double_add");
	cl_uint value = 5, *map, host[N];
	cl_ulong ns = 1000;
	cl_int code;
	bool is_right = true;

	for (cl_uint i = 0; i < N; i++)
		host[i] = i;
	must(clEnqueueWriteBuffer(queue, b, CL_FALSE, 0, sizeof(host), host, 0, NULL, NULL),
	     "clEnqueueWriteBuffer");
	set(fill, 0, sizeof(a), &a);
	set(fill, 1, sizeof(value), &value);
	set(fill, 2, sizeof(ns), &ns);
	launch_only(queue, fill);
	/* The launch above has a copy of its arguments. */
	value = 1000;
	set(fill, 1, sizeof(value), &value);
	set(add, 0, sizeof(c), &c);
	set(add, 1, sizeof(a), &a);
	set(add, 2, sizeof(b), &b);
	launch_only(queue, add);
	map = clEnqueueMapBuffer(queue, c, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, N * 4, 0, NULL,
				 NULL, &code);
	must(code, "clEnqueueMapBuffer");
	for (cl_uint i = 0; i < N; i++)
		is_right = is_right && map[i] == i + 5;
	check(is_right, "a blocking map sees the results of earlier kernels");
	map[3] = 77;
	must(clEnqueueUnmapMemObject(queue, c, map, 0, NULL, NULL), "clEnqueueUnmapMemObject");
	must(clEnqueueCopyBuffer(queue, c, a, 12, 0, 4, 0, NULL, NULL), "clEnqueueCopyBuffer");
	check(element(queue, a, 0) == 77, "a copy after an unmap sees what the host has written");
	check(element(queue, a, 1) == 5, "a copy changes only its region");
}

static void check_maps(void)
{
	cl_mem mem = buffer(N * 4);
	cl_kernel increment = increment_of(mem, 300000);
	unsigned wrong = 0;

	zero(mem);
	for (cl_uint i = 1; i <= 50; i++) {
		cl_int code;
		cl_uint *map;

		launch_only(queue, increment);
		map = clEnqueueMapBuffer(queue, mem, CL_TRUE, CL_MAP_READ, 0, N * 4, 0, NULL, NULL,
					 &code);
		must(code, "clEnqueueMapBuffer");
		wrong += map[N - 1] != i;
		must(clEnqueueUnmapMemObject(queue, mem, map, 0, NULL, NULL), "unmap");
	}
	check(wrong == 0, "50 blocking maps after kernels return no stale data");
}

static void check_rect(void)
{
	cl_mem mem = buffer(64);
	unsigned char host[64], part[4] = {0};
	const size_t origin[3] = {2, 1, 1}, zero_origin[3] = {0, 0, 0}, region[3] = {2, 2, 1};
	const size_t too_large[3] = {2, 2, 4};

	for (unsigned i = 0; i < 64; i++)
		host[i] = (unsigned char)i;
	must(clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, 64, host, 0, NULL, NULL), "write");
	must(clEnqueueReadBufferRect(queue, mem, CL_TRUE, origin, zero_origin, region, 4, 16, 2, 4,
				     part, 0, NULL, NULL),
	     "clEnqueueReadBufferRect");
	check(memcmp(part, (unsigned char[]){22, 23, 26, 27}, 4) == 0, "a rectangle is read");
	must(clEnqueueWriteBufferRect(queue, mem, CL_TRUE, zero_origin, zero_origin, region, 8, 32,
				      2, 4, part, 0, NULL, NULL),
	     "clEnqueueWriteBufferRect");
	must(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, 64, host, 0, NULL, NULL), "read");
	check(host[0] == 22 && host[1] == 23 && host[2] == 2 && host[8] == 26 && host[9] == 27,
	      "a rectangle is written");
	check_code(clEnqueueReadBufferRect(queue, mem, CL_TRUE, origin, zero_origin, too_large, 4,
					   16, 2, 4, part, 0, NULL, NULL),
		   CL_INVALID_VALUE, "a rectangle outside of the buffer is rejected");
}

static void check_ids(void)
{
	cl_mem mem = buffer(6 * 8 * 24);
	cl_kernel ids = kernel_of("double_ids");
	const size_t offset[3] = {10, 20, 30}, global[3] = {4, 3, 2}, local[3] = {2, 1, 1};
	cl_ulong host[24][6];
	bool is_right = true;

	set(ids, 0, sizeof(mem), &mem);
	must(clEnqueueNDRangeKernel(queue, ids, 3, offset, global, local, 0, NULL, NULL), "ids");
	must(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof(host), host, 0, NULL, NULL),
	     "read");
	for (size_t i = 0; i < 24; i++)
		is_right = is_right && host[i][0] == 10 + i % 4 && host[i][1] == 20 + i / 4 % 3 &&
			   host[i][2] == 30 + i / 12 && host[i][3] == i % 4 / 2 &&
			   host[i][4] == i / 4 % 3 && host[i][5] == i / 12;
	check(is_right, "the indices of a 3-D launch with an offset are right");
}

static void check_user_events(void)
{
	cl_mem mem = buffer(N * 4);
	cl_kernel increment = increment_of(mem, 1000);
	cl_event gate = user_event(), done, failing, after;

	zero(mem);
	done = launch(queue, increment, &gate);
	must(clFlush(queue), "clFlush");
	usleep(20000);
	check(status_of(done) > CL_COMPLETE, "a kernel waits for a user event");
	must(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
	must(clWaitForEvents(1, &done), "clWaitForEvents");
	check(status_of(done) == CL_COMPLETE, "it runs after the user event");
	check_code(clSetUserEventStatus(gate, CL_COMPLETE), CL_INVALID_OPERATION,
		   "a user event completes once");
	failing = user_event();
	after = launch(queue, increment, &failing);
	must(clSetUserEventStatus(failing, -42), "clSetUserEventStatus");
	check_code(clWaitForEvents(1, &after), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
		   "a failed user event fails the wait for its command");
	check(status_of(after) < 0, "and the command");
	check(status_of(failing) == -42, "a user event has its error as status");
	check(element(queue, mem, 0) == 1, "a failed command has no effect");
}

/* More commands than the device double accepts at once, all of which wait for one event. */
static void check_long_chain(void)
{
	cl_mem mem = buffer(N * 4);
	cl_kernel increment = increment_of(mem, 1000);
	cl_event gate = user_event();

	zero(mem);
	launch(queue, increment, &gate);
	for (int i = 1; i < 3000; i++)
		launch_only(queue, increment);
	must(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
	check(element(queue, mem, N - 1) == 3000, "3000 kernels behind a user event run");
}

static void check_out_of_order(void)
{
	cl_command_queue any = queue_with(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_mem a = buffer(N * 4), b = buffer(N * 4);
	cl_kernel on_a = increment_of(a, 2000000), on_b = increment_of(b, 1000);
	cl_event gate = user_event(), first, second, marker;

	zero(a);
	zero(b);
	must(clFinish(queue), "clFinish");
	first = launch(any, on_a, &gate);
	second = launch(any, on_b, NULL);
	must(clWaitForEvents(1, &second), "clWaitForEvents");
	check(status_of(first) > CL_COMPLETE, "commands of an out-of-order queue overtake");
	must(clEnqueueMarkerWithWaitList(any, 0, NULL, &marker), "marker");
	own.events[own.n_events++] = marker;
	usleep(5000);
	check(status_of(marker) > CL_COMPLETE, "a marker waits for all earlier commands");
	must(clEnqueueBarrierWithWaitList(any, 0, NULL, NULL), "barrier");
	second = launch(any, on_b, NULL);
	must(clFlush(any), "clFlush");
	usleep(5000);
	check(status_of(second) > CL_COMPLETE, "later commands wait for a barrier");
	must(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
	must(clFinish(any), "clFinish");
	check(status_of(marker) == CL_COMPLETE && status_of(second) == CL_COMPLETE,
	      "clFinish waits for all of them");
	check(element(queue, a, 0) == 1 && element(queue, b, 0) == 2, "each ran once");
	clReleaseCommandQueue(any);
}

static atomic_int called[3], failed_calls;

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *data)
{
	(void)event;
	atomic_fetch_add(&called[*(const int *)data], 1);
	if (status < 0)
		atomic_fetch_add(&failed_calls, 1);
}

static bool within_20_s(atomic_int *value, int wanted)
{
	for (int i = 0; i < 4000 && atomic_load(value) != wanted; i++)
		usleep(5000);
	return atomic_load(value) == wanted;
}

static void check_callbacks(void)
{
	static const int states[3] = {CL_COMPLETE, CL_RUNNING, CL_SUBMITTED};
	static const int index[3] = {0, 1, 2};
	cl_mem mem = buffer(N * 4);
	cl_kernel increment = increment_of(mem, 1000);
	cl_event event = launch(queue, increment, NULL);

	for (int i = 0; i < 3; i++)
		must(clSetEventCallback(event, states[i], on_event, (void *)(size_t)&index[i]),
		     "clSetEventCallback");
	must(clFlush(queue), "clFlush");
	check(within_20_s(&called[0], 1) && within_20_s(&called[1], 1) &&
		      within_20_s(&called[2], 1),
	      "each callback is called once");
	must(clFinish(queue), "clFinish");
	must(clSetEventCallback(event, CL_COMPLETE, on_event, (void *)(size_t)&index[0]),
	     "clSetEventCallback");
	check(within_20_s(&called[0], 2), "a callback of a complete event is called");
	check(atomic_load(&failed_calls) == 0, "callbacks get no error");
	check_code(clSetEventCallback(event, 7, on_event, NULL), CL_INVALID_VALUE,
		   "a callback for an unknown state is rejected");
}

static void check_profiling(void)
{
	cl_command_queue timed = queue_with(CL_QUEUE_PROFILING_ENABLE);
	cl_mem mem = buffer(N * 4);
	cl_kernel increment = increment_of(mem, 3000000);
	cl_event event = launch(timed, increment, NULL), plain;
	cl_ulong t[4];

	must(clFinish(timed), "clFinish");
	for (cl_uint i = 0; i < 4; i++)
		must(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED + i, sizeof(t[i]),
					     &t[i], NULL),
		     "clGetEventProfilingInfo");
	check(t[0] <= t[1] && t[1] <= t[2] && t[2] <= t[3], "profiling times are in order");
	if (is_double)
		check(t[3] - t[2] == 3000000, "a kernel lasts exactly its time");
	plain = launch(queue, increment, NULL);
	must(clFinish(queue), "clFinish");
	check_code(clGetEventProfilingInfo(plain, CL_PROFILING_COMMAND_START, sizeof(t[0]), &t[0],
					   NULL),
		   CL_PROFILING_INFO_NOT_AVAILABLE, "a queue without profiling has no times");
	clReleaseCommandQueue(timed);
}

static void check_kernel_errors(void)
{
	cl_mem mem = buffer(N * 4);
	cl_kernel kernel = kernel_of("double_fill"), tile = kernel_of("scratch");
	size_t global = N, none = 0, local = 7, huge = 1 << 20;
	cl_uint value = 1;
	cl_int code;

	check_code(clSetKernelArg(kernel, 9, 4, &value), CL_INVALID_ARG_INDEX, "argument index");
	check_code(clSetKernelArg(kernel, 1, 8, &value), CL_INVALID_ARG_SIZE, "size of a value");
	check_code(clSetKernelArg(kernel, 0, 4, &mem), CL_INVALID_ARG_SIZE, "size of a buffer");
	check_code(clSetKernelArg(kernel, 1, 4, NULL), CL_INVALID_ARG_VALUE, "value missing");
	check_code(clSetKernelArg(tile, 0, 64, &value), CL_INVALID_ARG_VALUE,
		   "value of local memory");
	check_code(clSetKernelArg(tile, 0, 0, NULL), CL_INVALID_ARG_SIZE, "no local memory");
	check_code(clSetKernelArg(tile, 0, 64, NULL), CL_SUCCESS, "local memory");
	check_code(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL),
		   CL_INVALID_KERNEL_ARGS, "arguments not set");
	kernel = increment_of(mem, 1000);
	check_code(clEnqueueNDRangeKernel(queue, kernel, 4, NULL, &global, NULL, 0, NULL, NULL),
		   CL_INVALID_WORK_DIMENSION, "four dimensions");
	/* OpenCL 3.0 allows a launch without work-items. PoCL 3.1 crashes without the wait list. */
	if (is_double) {
		check_code(
			clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &none, NULL, 0, NULL, NULL),
			CL_INVALID_GLOBAL_WORK_SIZE, "no work-items");
		check_code(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 1, NULL,
						  NULL),
			   CL_INVALID_EVENT_WAIT_LIST, "no wait list");
	}
	check_code(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL),
		   CL_INVALID_WORK_GROUP_SIZE, "work-groups that do not divide the size");
	code = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &huge, &huge, 0, NULL, NULL);
	check(code == CL_INVALID_WORK_GROUP_SIZE || code == CL_INVALID_WORK_ITEM_SIZE,
	      "a work-group that is too large");
	check_code(clEnqueueNDRangeKernel(NULL, kernel, 1, NULL, &global, NULL, 0, NULL, NULL),
		   CL_INVALID_COMMAND_QUEUE, "no queue");
	clCreateKernel(program, "missing", &code);
	check_code(code, CL_INVALID_KERNEL_NAME, "unknown kernel");
}

static void check_memory_errors(void)
{
	cl_mem mem = buffer(N * 4);
	cl_uint value = 0;
	cl_buffer_region region = {1, 64};
	cl_int code;

	clCreateBuffer(context, CL_MEM_READ_WRITE, 0, NULL, &code);
	check_code(code, CL_INVALID_BUFFER_SIZE, "a buffer without bytes");
	clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 64, NULL, &code);
	check_code(code, CL_INVALID_VALUE, "contradictory flags");
	clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 64, NULL, &code);
	check_code(code, CL_INVALID_HOST_PTR, "no host memory to copy");
	clCreateBuffer(NULL, CL_MEM_READ_WRITE, 64, NULL, &code);
	check_code(code, CL_INVALID_CONTEXT, "no context");
	check_code(clEnqueueReadBuffer(queue, mem, CL_TRUE, N * 4, 4, &value, 0, NULL, NULL),
		   CL_INVALID_VALUE, "a read behind the end");
	check_code(clEnqueueReadBuffer(queue, NULL, CL_TRUE, 0, 4, &value, 0, NULL, NULL),
		   CL_INVALID_MEM_OBJECT, "a read of no buffer");
	check_code(clEnqueueCopyBuffer(queue, mem, mem, 0, 4, 8, 0, NULL, NULL),
		   CL_MEM_COPY_OVERLAP, "an overlapping copy");
	check_code(clEnqueueFillBuffer(queue, mem, &value, 3, 0, 6, 0, NULL, NULL),
		   CL_INVALID_VALUE, "a pattern of three bytes");
	clCreateSubBuffer(mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
	check_code(code, CL_MISALIGNED_SUB_BUFFER_OFFSET, "a misaligned sub-buffer");
	check_code(clWaitForEvents(0, NULL), CL_INVALID_VALUE, "a wait for nothing");
	check_code(clReleaseMemObject(NULL), CL_INVALID_MEM_OBJECT, "release of nothing");
}

static void check_build_errors(void)
{
	const char *wrong = "kernel void a(global int x {}\n", *empty = "int f(void) { return 1; }";
	size_t size = 0;
	cl_program made;
	cl_int code;

	made = clCreateProgramWithSource(context, 1, &wrong, NULL, &code);
	must(code, "clCreateProgramWithSource");
	clCreateKernel(made, "a", &code);
	check_code(code, CL_INVALID_PROGRAM_EXECUTABLE, "a kernel of a program that is not built");
	check_code(clBuildProgram(made, 1, &device, "", NULL, NULL), CL_BUILD_PROGRAM_FAILURE,
		   "a program with an error");
	must(clGetProgramBuildInfo(made, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size), "log");
	check(size > 1, "a failed build has a log");
	must(clReleaseProgram(made), "clReleaseProgram");
	made = clCreateProgramWithSource(context, 1, &empty, NULL, &code);
	must(code, "clCreateProgramWithSource");
	check_code(clBuildProgram(made, 0, NULL, NULL, NULL, NULL), CL_SUCCESS,
		   "a program without kernels");
	must(clReleaseProgram(made), "clReleaseProgram");
}

static void check_binary(void)
{
	size_t size = 0;
	unsigned char *binary;
	const unsigned char *given;
	cl_int code, status = -1;
	cl_program again;

	must(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL), "size");
	binary = malloc(size);
	if (!binary)
		exit(1);
	must(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL),
	     "binary");
	given = binary;
	again = clCreateProgramWithBinary(context, 1, &device, &size, &given, &status, &code);
	must(code, "clCreateProgramWithBinary");
	must(clBuildProgram(again, 1, &device, "", NULL, NULL), "clBuildProgram");
	clReleaseKernel(clCreateKernel(again, "double_ids", &code));
	check_code(code, CL_SUCCESS, "a program is made of its binary");
	clReleaseProgram(again);
	free(binary);
}

static atomic_int destroyed;

static void CL_CALLBACK on_destroy(cl_mem mem, void *data)
{
	(void)mem;
	(void)data;
	atomic_fetch_add(&destroyed, 1);
}

static void check_references(void)
{
	cl_mem mem = new_buffer(N * 4), part;
	cl_kernel kernel = new_increment(mem, 20000000);
	cl_buffer_region region = {0, 1024};
	cl_uint references = 0;
	cl_int code;

	must(clSetMemObjectDestructorCallback(mem, on_destroy, NULL), "destructor");
	must(clRetainMemObject(mem), "clRetainMemObject");
	must(clGetMemObjectInfo(mem, CL_MEM_REFERENCE_COUNT, sizeof(references), &references, NULL),
	     "clGetMemObjectInfo");
	check(references >= 2, "references are counted");
	must(clReleaseMemObject(mem), "clReleaseMemObject");
	part = clCreateSubBuffer(mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
	must(code, "clCreateSubBuffer");
	launch_only(queue, kernel);
	must(clReleaseKernel(kernel), "clReleaseKernel");
	must(clReleaseMemObject(mem), "clReleaseMemObject");
	must(clFinish(queue), "clFinish");
	check(atomic_load(&destroyed) == 0, "a sub-buffer keeps its buffer");
	must(clReleaseMemObject(part), "clReleaseMemObject");
	check(within_20_s(&destroyed, 1), "the last release destroys a buffer");
}

static void *run_thread(void *data)
{
	cl_uint *ret_value = data;
	cl_command_queue mine = queue_with(0);
	cl_mem mem = new_buffer(N * 4);
	cl_kernel increment = new_increment(mem, 20000);
	cl_uint pattern = 0;

	must(clEnqueueFillBuffer(mine, mem, &pattern, 4, 0, N * 4, 0, NULL, NULL), "fill");
	for (int i = 0; i < 200; i++) {
		launch_only(mine, increment);
		if (i % 16 == 0)
			must(clFinish(mine), "clFinish");
	}
	*ret_value = element(mine, mem, N - 1);
	clReleaseCommandQueue(mine);
	clReleaseMemObject(mem);
	clReleaseKernel(increment);
	return NULL;
}

static void check_threads(void)
{
	pthread_t threads[4];
	cl_uint values[4] = {0};
	bool is_right = true;

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, run_thread, &values[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		is_right = is_right && values[i] == 200;
	}
	check(is_right, "four threads with a queue each get their results");
}

static void (*const checks[])(void) = {
	check_data,	   check_maps,		check_rect,	     check_ids,
	check_user_events, check_long_chain,	check_out_of_order,  check_callbacks,
	check_profiling,   check_kernel_errors, check_memory_errors, check_build_errors,
	check_binary,	   check_references,	check_threads,
};

int main(void)
{
	const char *text = source;
	cl_platform_id platform;
	char name[64] = "";
	cl_int code;

	setvbuf(stdout, NULL, _IOLBF, 0);
	must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	must(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL), "name");
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	is_double = strcmp(name, "gover device double") == 0;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	must(code, "clCreateContext");
	queue = queue_with(0);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
	must(code, "clCreateProgramWithSource");
	must(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		checks[i]();
		forget_all();
	}
	must(clReleaseProgram(program), "clReleaseProgram");
	must(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
	must(clReleaseContext(context), "clReleaseContext");
	printf("1..%u\n", n_checks);
	return n_failed > 0;
}
