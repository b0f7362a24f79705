/* SPDX-License-Identifier: MIT */
/*
 * cl-calls ACTION [N]: a small OpenCL program for the tests of the layer. Prints "ready" before its
 * work and results after it. Actions: launch: N launches of a short kernel; spin: launches until it
 * is killed; events: work that waits for user events; threads: N threads with a queue each; memory:
 * buffers of N bytes until one is refused; fork: a child and its parent launch; idle: creates a
 * context and sleeps for N ms.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/helper/sandbox.h"

#define ITEMS	    256
#define BUFFERS_MAX 1000
#define THREADS_MAX 16

static const char source[] = "__kernel void add(__global int *a, int rounds)"
			     "{"
			     "	int x = a[get_global_id(0)];"
			     "	for (int i = 0; i < rounds; i++)"
			     "		x = x * 3 + i;"
			     "	a[get_global_id(0)] = x;"
			     "}";

static cl_context context;
static cl_device_id device;
static cl_program program;

static void must(cl_int err, const char *what)
{
	if (err == CL_SUCCESS)
		return;
	fprintf(stderr, "%s: error %d\n", what, err);
	exit(1);
}

static void open_device(void)
{
	const char *text = source;
	cl_platform_id platform;
	cl_int err;

	must(clGetPlatformIDs(1, &platform, NULL), "platform");
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
	must(err, "context");
	program = clCreateProgramWithSource(context, 1, &text, NULL, &err);
	must(err, "program");
	must(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
}

struct work {
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem buffer;
};

static struct work create_work(int rounds)
{
	struct work w;
	cl_int err, zero[ITEMS] = {0};

	w.queue = clCreateCommandQueue(context, device, 0, &err);
	must(err, "queue");
	w.kernel = clCreateKernel(program, "add", &err);
	must(err, "kernel");
	w.buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(zero),
				  zero, &err);
	must(err, "buffer");
	must(clSetKernelArg(w.kernel, 0, sizeof(cl_mem), &w.buffer), "argument");
	must(clSetKernelArg(w.kernel, 1, sizeof(rounds), &rounds), "argument");
	return w;
}

static void launch(const struct work *w, cl_uint n, const cl_event *list, cl_event *event)
{
	size_t items = ITEMS;

	sandbox_step();
	must(clEnqueueNDRangeKernel(w->queue, w->kernel, 1, NULL, &items, NULL, n, list, event),
	     "launch");
}

/* Reads the result with a blocking map and returns its sum. */
static unsigned int sum_of(const struct work *w)
{
	unsigned int sum = 0;
	cl_int err, *a;

	a = clEnqueueMapBuffer(w->queue, w->buffer, CL_TRUE, CL_MAP_READ, 0, ITEMS * sizeof(*a), 0,
			       NULL, NULL, &err);
	must(err, "map");
	for (int i = 0; i < ITEMS; i++)
		sum = sum * 31 + (unsigned int)a[i];
	must(clEnqueueUnmapMemObject(w->queue, w->buffer, a, 0, NULL, NULL), "unmap");
	must(clFinish(w->queue), "finish");
	return sum;
}

static void release_work(struct work *w)
{
	(void)clReleaseMemObject(w->buffer);
	(void)clReleaseKernel(w->kernel);
	(void)clReleaseCommandQueue(w->queue);
}

static void *launch_many(void *userdata)
{
	unsigned int *n = userdata;
	struct work w = create_work(100);

	for (unsigned int i = *n; i > 0; i--) {
		launch(&w, 0, NULL, NULL);
		if (i % 16 == 0)
			must(clFinish(w.queue), "finish");
	}
	*n = sum_of(&w);
	release_work(&w);
	return NULL;
}

static void do_launch(unsigned int n)
{
	(void)launch_many(&n);
	printf("sum %u\n", n);
}

static void do_spin(unsigned int n)
{
	struct work w = create_work(1000);

	(void)n;
	for (;;) {
		for (int i = 0; i < 16; i++)
			launch(&w, 0, NULL, NULL);
		must(clFinish(w.queue), "finish");
	}
}

static void do_events(unsigned int n)
{
	struct work w = create_work(100);

	for (unsigned int i = 0; i < n; i++) {
		cl_int err;
		cl_event user = clCreateUserEvent(context, &err), done;

		must(err, "user event");
		launch(&w, 1, &user, NULL);
		for (int k = 0; k < 20; k++)
			launch(&w, 0, NULL, k == 19 ? &done : NULL);
		must(clSetUserEventStatus(user, CL_COMPLETE), "set user event");
		must(clWaitForEvents(1, &done), "wait");
		(void)clReleaseEvent(user);
		(void)clReleaseEvent(done);
	}
	printf("sum %u\n", sum_of(&w));
	release_work(&w);
}

static void do_threads(unsigned int n)
{
	pthread_t threads[THREADS_MAX];
	unsigned int results[THREADS_MAX];

	for (unsigned int i = 0; i < n && i < THREADS_MAX; i++) {
		results[i] = 200;
		if (pthread_create(&threads[i], NULL, launch_many, &results[i]) != 0)
			exit(1);
	}
	for (unsigned int i = 0; i < n && i < THREADS_MAX; i++) {
		(void)pthread_join(threads[i], NULL);
		printf("sum %u\n", results[i]);
	}
}

/*
 * Allocates until an allocation fails, three times. PoCL 7.1 destroys a buffer some time after its
 * release, so that the second and third time wait until the memory of the first time is free.
 */
static void do_memory(unsigned int bytes)
{
	static cl_mem buffers[BUFFERS_MAX];
	unsigned int n = 0, n_first = 0, refusals = 0;
	int waits_left = 20000;

	for (int round = 0; round < 3; round++) {
		cl_int err = CL_SUCCESS;

		for (n = 0; n < BUFFERS_MAX;) {
			buffers[n] = clCreateBuffer(context, 0, bytes, NULL, &err);
			n += buffers[n] != NULL;
			refusals += err != CL_SUCCESS;
			if (err != CL_SUCCESS && (n >= n_first || waits_left-- == 0))
				break;
			if (err != CL_SUCCESS)
				(void)usleep(1000);
		}
		if (round == 0)
			n_first = n;
		printf("buffers %u error %d\n", n, err);
		while (n > 0)
			(void)clReleaseMemObject(buffers[--n]);
	}
	printf("refusals %u\n", refusals);
}

/* OpenCL does not work in a forked child, so that the child only starts another program. */
static void do_fork(unsigned int n)
{
	char count[16];
	int status = 0;
	pid_t child;

	(void)snprintf(count, sizeof(count), "%u", n);
	do_launch(n);
	(void)fflush(stdout);
	child = fork();
	if (child == 0) {
		(void)execl("/proc/self/exe", "cl-calls", "launch", count, NULL);
		_exit(1);
	}
	(void)waitpid(child, &status, 0);
	do_launch(n);
	if (status != 0)
		exit(1);
}

static void do_idle(unsigned int ms)
{
	(void)usleep(ms * 1000);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(unsigned int n);
	} actions[] = {
		{"launch", do_launch},	 {"spin", do_spin},	{"events", do_events},
		{"threads", do_threads}, {"memory", do_memory}, {"fork", do_fork},
		{"idle", do_idle},
	};

	for (size_t i = 0; argc > 1 && i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (strcmp(argv[1], actions[i].name) != 0)
			continue;
		open_device();
		printf("ready\n");
		(void)fflush(stdout);
		actions[i].run(argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 0);
		(void)clReleaseProgram(program);
		(void)clReleaseContext(context);
		return 0;
	}
	return 2;
}
