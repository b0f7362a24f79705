/* SPDX-License-Identifier: MIT */
/*
 * cl-slice ACTION: launches for the tests of kernel slicing. Prints what each work-item has seen.
 * Actions: indices: every function for indices and sizes, in launches of one and two dimensions,
 * and a line number; language2: the same in OpenCL C 2 or later, or "none"; declared: a kernel from
 * a binary that declares its argument for the offset (gover-slice.h) in one and two dimensions;
 * times: the times of a long launch; log: the build log of a wrong program, and the source.
 */
#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/cl/gover-slice.h"

#define WORDS 24

/* The words of a work-item begin at its place in the whole launch. */
static const char indices[] =
	"#define LAST get_work_dim() - 1\n"
	"__kernel void indices(__global uint *out, uint words)\n"
	"{\n"
	"	uint at = get_global_id(0) + get_global_id(1) * get_global_size(0);\n"
	"	__global uint *mine = out + at * words;\n"
	"	for (uint d = 0; d < 4; d++) {\n"
	"		mine[d] = get_global_id(d);\n"
	"		mine[4 + d] = get_group_id(d);\n"
	"		mine[8 + d] = get_num_groups(d) | get_global_size(d) << 16;\n"
	"		mine[12 + d] = get_global_offset(d) | get_local_size(d) << 16;\n"
	"	}\n"
	"	mine[16] = get_work_dim();\n"
	"	mine[17] = get_local_id(0) | get_local_id(1) << 16;\n"
	"	mine[18] = __LINE__ + get_group_id(LAST);\n"
	"#if __OPENCL_C_VERSION__ >= 200\n"
	"	mine[19] = get_global_linear_id();\n"
	"	mine[20] = get_local_linear_id();\n"
	"	mine[21] = get_enqueued_local_size(0);\n"
	"#endif\n"
	"}\n";

static const char declared[] =
	"__kernel void declared(__global uint *out, uint words, uint4 slice)\n"
	"{\n"
	"	uint x = (get_group_id(0) + slice.s0) * get_local_size(0) + get_local_id(0);\n"
	"	uint y = (get_group_id(1) + slice.s1) * get_local_size(1) + get_local_id(1);\n"
	"	__global uint *mine = out + (x + y * slice.s2 * get_local_size(0)) * words;\n"
	"	mine[0] = x;\n"
	"	mine[1] = y;\n"
	"	mine[2] = slice.s2;\n"
	"	mine[3] = slice.s3;\n"
	"	mine[4]++;\n"
	"}\n";

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

static void must(cl_int err, const char *what)
{
	if (err == CL_SUCCESS)
		return;
	fprintf(stderr, "cl-slice: %s: error %d\n", what, err);
	exit(1);
}

static void open_device(void)
{
	cl_int err;

	must(clGetPlatformIDs(1, &platform, NULL), "platform");
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
	must(err, "context");
	queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &err);
	must(err, "queue");
}

static cl_program build(const char *text, const char *options)
{
	cl_int err;
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &err);

	must(err, "program");
	must(clBuildProgram(program, 1, &device, options, NULL, NULL), "build");
	return program;
}

/* Makes the same program from its binary. */
static cl_program from_binary(cl_program source)
{
	const unsigned char *parts[1];
	unsigned char *binary;
	cl_program program;
	size_t size;
	cl_int err;

	must(clGetProgramInfo(source, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL), "size");
	binary = malloc(size);
	if (!binary)
		exit(1);
	must(clGetProgramInfo(source, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL),
	     "binary");
	parts[0] = binary;
	program = clCreateProgramWithBinary(context, 1, &device, &size, parts, NULL, &err);
	must(err, "program from the binary");
	must(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
	free(binary);
	(void)clReleaseProgram(source);
	return program;
}

/* Launches @kernel twice and prints its output of @items work-items. */
static void print_launch(cl_kernel kernel, cl_uint dimensions, const size_t *global,
			 const size_t *local, size_t items)
{
	size_t bytes = items * WORDS * sizeof(cl_uint);
	cl_uint *out = calloc(items * WORDS, sizeof(*out)), words = WORDS;
	cl_int err;
	cl_mem buffer;

	if (!out)
		exit(1);
	buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes, out, &err);
	must(err, "buffer");
	must(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "argument");
	must(clSetKernelArg(kernel, 1, sizeof(words), &words), "argument");
	for (int i = 0; i < 2; i++)
		must(clEnqueueNDRangeKernel(queue, kernel, dimensions, NULL, global, local, 0, NULL,
					    NULL),
		     "launch");
	must(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, out, 0, NULL, NULL), "read");
	printf("launch %u: %zu * %zu\n", dimensions, global[0], dimensions > 1 ? global[1] : 1);
	for (size_t i = 0; i < items * WORDS; i++)
		printf("%u%c", out[i], i % WORDS == WORDS - 1 ? '\n' : ' ');
	(void)clReleaseMemObject(buffer);
	free(out);
}

static const struct {
	cl_uint dimensions;
	size_t global[2], local[2];
} launches[] = {
	{1, {16, 1}, {16, 1}}, {1, {176, 1}, {16, 1}}, {1, {37, 1}, {1, 1}},
	{2, {24, 20}, {8, 4}}, {2, {4, 60}, {4, 2}},   {2, {60, 1}, {2, 1}},
};

static void print_indices(const char *options)
{
	cl_program program = build(indices, options);
	cl_int err;
	cl_kernel kernel = clCreateKernel(program, "indices", &err);

	must(err, "kernel");
	for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
		print_launch(kernel, launches[i].dimensions, launches[i].global, launches[i].local,
			     launches[i].global[0] * launches[i].global[1]);
	(void)clReleaseKernel(kernel);
	(void)clReleaseProgram(program);
}

static void do_indices(void)
{
	print_indices("");
}

static void do_language2(void)
{
	char version[128] = "";

	must(clGetDeviceInfo(device, CL_DEVICE_OPENCL_C_VERSION, sizeof(version), version, NULL),
	     "version");
	if (strncmp(version, "OpenCL C 3", 10) == 0)
		print_indices("-cl-std=CL3.0");
	else if (strncmp(version, "OpenCL C 2", 10) == 0)
		print_indices("-cl-std=CL2.0");
	else
		printf("none\n");
}

static void do_declared(void)
{
	cl_program program = from_binary(build(declared, ""));
	cl_int err;
	cl_kernel kernel = clCreateKernel(program, "declared", &err);

	must(err, "kernel");
	/* Without the layer, the argument remains as it is set here. */
	fprintf(stderr, "declared: %d\n", gover_slice_declare(platform, kernel, 2));
	for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++) {
		const size_t *global = launches[i].global, *local = launches[i].local;
		cl_uint slice[4] = {0, 0, (cl_uint)(global[0] / local[0]),
				    (cl_uint)(global[1] / local[1])};

		must(clSetKernelArg(kernel, 2, sizeof(slice), slice), "argument");
		print_launch(kernel, launches[i].dimensions, global, local, global[0] * global[1]);
	}
	(void)clReleaseKernel(kernel);
	(void)clReleaseProgram(program);
}

/* Prints whether the times of the launch contain those of all its work: 0.5 ms for each group. */
static void do_times(void)
{
	const char text[] = "__kernel void times(ulong ns_per_group) {}";
	cl_program program = build(text, "");
	cl_ulong ns_per_group = 500000, start = 0, end = 0;
	size_t global = 40 * 64, local = 64;
	cl_event event;
	cl_int err;
	cl_kernel kernel = clCreateKernel(program, "times", &err);

	must(err, "kernel");
	must(clSetKernelArg(kernel, 0, sizeof(ns_per_group), &ns_per_group), "argument");
	for (int i = 0; i < 3; i++) {
		must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL,
					    &event),
		     "launch");
		must(clWaitForEvents(1, &event), "wait");
		must(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start),
					     &start, NULL),
		     "start");
		must(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end,
					     NULL),
		     "end");
		printf("the times contain the launch: %d\n", end - start >= 40 * ns_per_group);
		(void)clReleaseEvent(event);
	}
	(void)clReleaseKernel(kernel);
	(void)clReleaseProgram(program);
}

static void do_log(void)
{
	const char *text = "__kernel void k(void)\n{\n\tint a = nothing;\n}\n";
	cl_program program;
	char log[8192] = "", source[256] = "";
	cl_int err;

	program = clCreateProgramWithSource(context, 1, &text, NULL, &err);
	must(err, "program");
	printf("build %d\n", clBuildProgram(program, 1, &device, "", NULL, NULL));
	must(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL),
	     "log");
	must(clGetProgramInfo(program, CL_PROGRAM_SOURCE, sizeof(source), source, NULL), "source");
	printf("source %s\nline of the error: %d\n", source, strstr(log, ":3:") != NULL);
	(void)clReleaseProgram(program);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} actions[] = {
		{"indices", do_indices},   {"language2", do_language2},
		{"declared", do_declared}, {"times", do_times},
		{"log", do_log},
	};

	for (size_t i = 0; argc > 1 && i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (strcmp(argv[1], actions[i].name) != 0)
			continue;
		open_device();
		actions[i].run();
		must(clFinish(queue), "finish");
		(void)clReleaseCommandQueue(queue);
		(void)clReleaseContext(context);
		return 0;
	}
	return 2;
}
