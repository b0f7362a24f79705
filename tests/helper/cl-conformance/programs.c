/* SPDX-License-Identifier: MIT */
/* Programs: source, build log, options, binaries, compilation and linking. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/helper/cl-conformance/conform.h"

/* Different lines, so that a change of the first line is visible. */
static const char *const good[] = {"/* first */\n#define VALUE OPTION\n",
				   "__kernel void set(__global int *out)\n{\n",
				   "	out[get_global_id(0)] = VALUE * __LINE__;\n}\n"};
static const char bad[] = "__kernel void broken(__global int *out)\n{\n	*out = misspelled;\n}\n";

static cl_program make(struct bed *bed, cl_uint n, const char *const *text)
{
	cl_int error;
	cl_program program = clCreateProgramWithSource(bed->context, n, (const char **)(size_t)text,
						       NULL, &error);

	must(error, "clCreateProgramWithSource");
	return program;
}

static cl_build_status build_status(struct bed *bed, cl_program program)
{
	cl_build_status status = 99;

	must(clGetProgramBuildInfo(program, bed->device, CL_PROGRAM_BUILD_STATUS, sizeof(status),
				   &status, NULL),
	     "clGetProgramBuildInfo");
	return status;
}

static void run_set(struct bed *bed, const char *what, cl_program program, cl_int value)
{
	size_t global = N;
	cl_int error;
	cl_kernel kernel = clCreateKernel(program, "set", &error);

	code(what, error);
	if (error != CL_SUCCESS)
		return;
	must(clSetKernelArg(kernel, 0, sizeof(cl_mem), &bed->buffer), "clSetKernelArg");
	must(clEnqueueNDRangeKernel(bed->queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL),
	     "clEnqueueNDRangeKernel");
	say_contents(bed, what, bed->buffer, value);
	must(clReleaseKernel(kernel), "clReleaseKernel");
}

static void say_source(cl_program program, size_t expected)
{
	char text[1024] = "";
	size_t size = 0;

	code("query of the source",
	     clGetProgramInfo(program, CL_PROGRAM_SOURCE, sizeof(text), text, &size));
	say("source: %zu bytes, of the application %zu", size, expected);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		say("  %s", line);
}

static void source(struct bed *bed)
{
	cl_program program = make(bed, 3, good);
	size_t size = strlen(good[0]) + strlen(good[1]) + strlen(good[2]) + 1;
	char options[64] = "";
	cl_uint n = 0;

	say_source(program, size);
	say("status before the build: %d", build_status(bed, program));
	code("build", clBuildProgram(program, 1, &bed->device, "-DOPTION=7", NULL, NULL));
	say("status after the build: %d", build_status(bed, program));
	must(clGetProgramBuildInfo(program, bed->device, CL_PROGRAM_BUILD_OPTIONS, sizeof(options),
				   options, NULL),
	     "clGetProgramBuildInfo");
	say("options: '%s'", options);
	say_source(program, size);
	must(clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof(n), &n, NULL), "n");
	say("devices: %u", n);
	run_set(bed, "built from source", program, 35);
	must(clReleaseProgram(program), "clReleaseProgram");
}

static void failed_build(struct bed *bed)
{
	const char *text = bad;
	cl_program program = make(bed, 1, &text);
	char log[8192] = "";
	cl_int error;

	code("build of a wrong program", clBuildProgram(program, 1, &bed->device, "", NULL, NULL));
	say("its status: %d", build_status(bed, program));
	code("its log", clGetProgramBuildInfo(program, bed->device, CL_PROGRAM_BUILD_LOG,
					      sizeof(log), log, NULL));
	say("its log names the mistake: %s, its line: %s", yes(strstr(log, "misspelled") != NULL),
	    yes(strstr(log, ":3:") != NULL));
	(void)clCreateKernel(program, "broken", &error);
	code("kernel of a wrong program", error);
	must(clReleaseProgram(program), "clReleaseProgram");
}

static void kernels_of(struct bed *bed)
{
	char names[256] = "";
	cl_kernel kernels[8] = {NULL};
	cl_uint n = 0;
	size_t count = 0;

	must(clGetProgramInfo(bed->program, CL_PROGRAM_NUM_KERNELS, sizeof(count), &count, NULL),
	     "count");
	must(clGetProgramInfo(bed->program, CL_PROGRAM_KERNEL_NAMES, sizeof(names), names, NULL),
	     "names");
	say("kernels: %zu, names: %s", count, names);
	code("create all kernels", clCreateKernelsInProgram(bed->program, 8, kernels, &n));
	say("created: %u", n);
	for (cl_uint i = 0; i < n; i++)
		must(clReleaseKernel(kernels[i]), "clReleaseKernel");
}

static void binaries(struct bed *bed)
{
	cl_program program = make(bed, 3, good), again;
	cl_int error, status = 99;
	const unsigned char *copy;
	unsigned char *binary;
	size_t size = 0;

	must(clBuildProgram(program, 1, &bed->device, "-DOPTION=3", NULL, NULL), "clBuildProgram");
	must(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL), "size");
	binary = allocate(size + 1);
	must(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL),
	     "binary");
	say("binary: present: %s", yes(size > 0));
	copy = binary;
	again = clCreateProgramWithBinary(bed->context, 1, &bed->device, &size, &copy, &status,
					  &error);
	code("program from a binary", error);
	code("its status", status);
	code("its build", clBuildProgram(again, 1, &bed->device, "", NULL, NULL));
	run_set(bed, "built from a binary", again, 15);
	must(clReleaseProgram(again), "clReleaseProgram");
	must(clReleaseProgram(program), "clReleaseProgram");
	free(binary);
}

static void CL_CALLBACK on_build(cl_program program, void *data)
{
	(void)program;
	atomic_fetch_add((atomic_int *)data, 1);
}

static void compile_and_link(struct bed *bed)
{
	cl_program parts = make(bed, 3, good), linked;
	static atomic_int calls;
	cl_int error;

	code("compile",
	     clCompileProgram(parts, 1, &bed->device, "-DOPTION=5", 0, NULL, NULL, NULL, NULL));
	linked = clLinkProgram(bed->context, 1, &bed->device, "", 1, &parts, NULL, NULL, &error);
	code("link", error);
	if (error == CL_SUCCESS) {
		run_set(bed, "compiled and linked", linked, 25);
		must(clReleaseProgram(linked), "clReleaseProgram");
	}
	must(clReleaseProgram(parts), "clReleaseProgram");

	parts = make(bed, 3, good);
	atomic_store(&calls, 0);
	code("build with a callback",
	     clBuildProgram(parts, 1, &bed->device, "-DOPTION=6", on_build, &calls));
	await(has_calls, &calls, 10000);
	say("callbacks of the build: %d", atomic_load(&calls));
	run_set(bed, "built with a callback", parts, 30);
	code("unload the compiler", clUnloadPlatformCompiler(bed->platform));
	must(clReleaseProgram(parts), "clReleaseProgram");
}

void section_programs(struct bed *bed)
{
	source(bed);
	failed_build(bed);
	kernels_of(bed);
	binaries(bed);
	compile_and_link(bed);
}
