/* SPDX-License-Identifier: MIT */
/*
 * A tenant of a compute device: keeps a number of kernels of a given length in flight for some
 * time, and prints "done N seconds S rate R". On the device double a kernel lasts --us; on other
 * devices it runs --loops of arithmetic. SIGTERM ends it early, with the same line. --timed adds
 * "device_ns N": the time of all kernels by their events.
 */
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#define DEPTH_MAX 1024

static const char source[] = "__kernel void tenant(__global uint *out, ulong ns, uint loops)\n"
			     "{\n"
			     "	uint x = (uint)get_global_id(0) + (uint)ns;\n"
			     "	for (uint i = 0; i < loops; i++)\n"
			     "		x = x * 1664525u + 1013904223u;\n"
			     "	out[get_global_id(0)] = x;\n"
			     "}\n";

static double us = 1000, seconds = 1, think_us;
static unsigned long depth = 1, launches, loops = 1000, groups = 1, allocate;
static bool timed;
static cl_ulong device_ns;
static volatile sig_atomic_t stopped;

static void on_term(int signal_number)
{
	(void)signal_number;
	stopped = 1;
}

/* Ends the program if @code is an error. It then releases nothing, so a leak checker must not run.
 */
static void check(cl_int code, const char *what)
{
	if (code == CL_SUCCESS)
		return;
	fprintf(stderr, "cl-tenant: %s: error %d\n", what, code);
	_exit(1);
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{"us", required_argument, NULL, 'u'},
		{"seconds", required_argument, NULL, 's'},
		{"depth", required_argument, NULL, 'd'},
		{"think-us", required_argument, NULL, 't'},
		{"launches", required_argument, NULL, 'n'},
		{"loops", required_argument, NULL, 'l'},
		{"groups", required_argument, NULL, 'g'},
		{"allocate", required_argument, NULL, 'a'},
		{"timed", no_argument, NULL, 'p'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'u':
			us = strtod(optarg, NULL);
			break;
		case 's':
			seconds = strtod(optarg, NULL);
			break;
		case 'd':
			depth = strtoul(optarg, NULL, 10);
			break;
		case 't':
			think_us = strtod(optarg, NULL);
			break;
		case 'n':
			launches = strtoul(optarg, NULL, 10);
			break;
		case 'l':
			loops = strtoul(optarg, NULL, 10);
			break;
		case 'g':
			groups = strtoul(optarg, NULL, 10);
			break;
		case 'a':
			allocate = strtoul(optarg, NULL, 10);
			break;
		case 'p':
			timed = true;
			break;
		default:
			fputs("usage: cl-tenant [--us N] [--seconds N] [--depth N] [--think-us N]\n"
			      "       [--launches N] [--loops N] [--groups N] [--allocate BYTES]\n"
			      "       [--timed]\n",
			      stderr);
			exit(2);
		}
	}
	if (depth < 1 || depth > DEPTH_MAX) {
		fprintf(stderr, "cl-tenant: --depth: %lu (allowed: 1 to %d)\n", depth, DEPTH_MAX);
		exit(2);
	}
}

/* The kernel holds its program. The caller releases the kernel and *ret_out. */
static cl_kernel make_kernel(cl_context context, cl_device_id device, cl_mem *ret_out)
{
	const char *text = source;
	cl_ulong ns = (cl_ulong)(us * 1000);
	cl_uint n = (cl_uint)loops;
	cl_program program;
	cl_kernel kernel;
	cl_mem out;
	cl_int code;

	program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
	check(code, "clCreateProgramWithSource");
	check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	kernel = clCreateKernel(program, "tenant", &code);
	check(code, "clCreateKernel");
	out = clCreateBuffer(context, CL_MEM_READ_WRITE,
			     allocate ? allocate : groups * 64 * sizeof(cl_uint), NULL, &code);
	check(code, "clCreateBuffer");
	check(clSetKernelArg(kernel, 0, sizeof(out), &out), "clSetKernelArg");
	check(clSetKernelArg(kernel, 1, sizeof(ns), &ns), "clSetKernelArg");
	check(clSetKernelArg(kernel, 2, sizeof(n), &n), "clSetKernelArg");
	check(clReleaseProgram(program), "clReleaseProgram");
	*ret_out = out;
	return kernel;
}

static void think(void)
{
	struct timespec pause = {(time_t)(think_us / 1e6), (long)(think_us * 1e3) % 1000000000};

	if (think_us > 0)
		nanosleep(&pause, NULL);
}

static cl_ulong time_of(cl_event event, cl_profiling_info name)
{
	cl_ulong ns = 0;

	check(clGetEventProfilingInfo(event, name, sizeof(ns), &ns, NULL),
	      "clGetEventProfilingInfo");
	return ns;
}

/* Waits for the end of a kernel. */
static void finish(cl_event event)
{
	check(clWaitForEvents(1, &event), "clWaitForEvents");
	if (timed)
		device_ns += time_of(event, CL_PROFILING_COMMAND_END) -
			     time_of(event, CL_PROFILING_COMMAND_START);
	check(clReleaseEvent(event), "clReleaseEvent");
}

/* Keeps @depth kernels in flight until the end. Returns the number that are done. */
static unsigned long run(cl_command_queue queue, cl_kernel kernel, double end_s)
{
	cl_event events[DEPTH_MAX];
	size_t global = groups * 64, local = 64;
	unsigned long sent = 0, done = 0;

	for (;;) {
		bool is_over = stopped || now_s() >= end_s || (launches && sent == launches);

		if (!is_over && sent - done < depth) {
			check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0,
						     NULL, &events[sent % depth]),
			      "clEnqueueNDRangeKernel");
			sent++;
			check(clFlush(queue), "clFlush");
			continue;
		}
		if (sent == done)
			return done;
		finish(events[done % depth]);
		done++;
		think();
	}
}

int main(int argc, char **argv)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem out;
	cl_int code;
	unsigned long done;
	double begin_s, took_s;

	parse(argc, argv);
	signal(SIGTERM, on_term);
	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	check(code, "clCreateContext");
	queue = clCreateCommandQueue(context, device, timed ? CL_QUEUE_PROFILING_ENABLE : 0, &code);
	check(code, "clCreateCommandQueue");
	kernel = make_kernel(context, device, &out);
	begin_s = now_s();
	done = run(queue, kernel, begin_s + seconds);
	took_s = now_s() - begin_s;
	check(clFinish(queue), "clFinish");
	check(clReleaseKernel(kernel), "clReleaseKernel");
	check(clReleaseMemObject(out), "clReleaseMemObject");
	check(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
	check(clReleaseContext(context), "clReleaseContext");
	printf("done %lu seconds %.3f rate %.2f", done, took_s, (double)done / took_s);
	if (timed)
		printf(" device_ns %llu", (unsigned long long)device_ns);
	printf("\n");
	return 0;
}
