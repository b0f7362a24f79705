/* SPDX-License-Identifier: MIT */
/* Several threads, with queues and kernels of their own or shared, and several contexts. */
#include <pthread.h>
#include <sched.h>

#include "tests/helper/cl-conformance/conform.h"

#define THREADS	 4
#define LAUNCHES 100

struct worker {
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem buffer;
	cl_int step;
	cl_int error; /* the first error */
	pthread_t thread;
	pthread_barrier_t *start;
};

static void keep_error(struct worker *worker, cl_int error)
{
	if (worker->error == CL_SUCCESS)
		worker->error = error;
}

/* Adds @step in each launch, and sets the argument again each time. */
static void *launch(void *argument)
{
	struct worker *worker = argument;
	size_t global = N;

	(void)pthread_barrier_wait(worker->start);
	for (int i = 0; i < LAUNCHES; i++) {
		cl_int value = worker->step + i % 2;

		keep_error(worker,
			   clSetKernelArg(worker->kernel, 0, sizeof(cl_mem), &worker->buffer));
		keep_error(worker, clSetKernelArg(worker->kernel, 1, sizeof(value), &value));
		(void)sched_yield(); /* so that other threads set their arguments now */
		keep_error(worker, clEnqueueNDRangeKernel(worker->queue, worker->kernel, 1, NULL,
							  &global, NULL, 0, NULL, NULL));
		if (i % 10 == 9)
			keep_error(worker, clFinish(worker->queue));
	}
	return NULL;
}

static void run_workers(struct bed *bed, const char *what, struct worker workers[THREADS])
{
	pthread_barrier_t start;

	(void)pthread_barrier_init(&start, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		workers[i].start = &start;
		workers[i].step = 10 * (i + 1);
		workers[i].buffer = new_buffer(bed);
		if (pthread_create(&workers[i].thread, NULL, launch, &workers[i]) != 0)
			must(CL_OUT_OF_RESOURCES, "pthread_create");
	}
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(workers[i].thread, NULL);
	(void)pthread_barrier_destroy(&start);
	for (int i = 0; i < THREADS; i++) {
		must(clFinish(workers[i].queue), "clFinish");
		code(what, workers[i].error);
		say_contents(bed, what, workers[i].buffer,
			     LAUNCHES * workers[i].step + LAUNCHES / 2);
		must(clReleaseMemObject(workers[i].buffer), "clReleaseMemObject");
	}
}

static void own_queues(struct bed *bed)
{
	struct worker workers[THREADS] = {{0}};
	cl_int error;

	for (int i = 0; i < THREADS; i++) {
		workers[i].queue = new_queue(bed, 0);
		workers[i].kernel = clCreateKernel(bed->program, "add", &error);
		must(error, "clCreateKernel");
	}
	run_workers(bed, "thread with its own queue", workers);
	for (int i = 0; i < THREADS; i++) {
		must(clReleaseKernel(workers[i].kernel), "clReleaseKernel");
		must(clReleaseCommandQueue(workers[i].queue), "clReleaseCommandQueue");
	}
}

static void shared_queue(struct bed *bed)
{
	struct worker workers[THREADS] = {{0}};
	cl_int error;

	/* All arguments are set in the original, as the specification demands for a clone. */
	finish_event(run_add(bed, bed->queue, bed->buffer, 1, NULL));
	for (int i = 0; i < THREADS; i++) {
		workers[i].queue = bed->queue;
		workers[i].kernel = clCloneKernel(bed->add, &error);
		must(error, "clCloneKernel");
	}
	run_workers(bed, "thread with a shared queue and a clone", workers);
	for (int i = 0; i < THREADS; i++)
		must(clReleaseKernel(workers[i].kernel), "clReleaseKernel");
}

/* Two contexts, each with its objects, used in turn; and objects of the wrong context. */
static void contexts(struct bed *bed)
{
	static const char text[] =
		"__kernel void set(__global int *o) { o[get_global_id(0)] = 4; }";
	const char *source = text;
	size_t global = N;
	cl_int error;
	cl_context context = clCreateContext(NULL, 1, &bed->device, NULL, NULL, &error);
	struct bed second = {.device = bed->device, .context = context};
	cl_event event;
	cl_kernel kernel;

	must(error, "clCreateContext");
	second.queue = new_queue(&second, 0);
	second.buffer = new_buffer(&second);
	second.program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
	must(error, "clCreateProgramWithSource");
	must(clBuildProgram(second.program, 0, NULL, "", NULL, NULL), "clBuildProgram");
	kernel = clCreateKernel(second.program, "set", &error);
	must(error, "clCreateKernel");
	must(clSetKernelArg(kernel, 0, sizeof(cl_mem), &second.buffer), "clSetKernelArg");
	event = run_slow(bed, bed->queue, bed->buffer, 3, NULL);
	code("launch in the second context",
	     clEnqueueNDRangeKernel(second.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
	say_contents(bed, "first context", bed->buffer, 3);
	say_contents(&second, "second context", second.buffer, 4);
	code("launch on a queue of another context",
	     clEnqueueNDRangeKernel(bed->queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
	code("copy from another context",
	     clEnqueueCopyBuffer(bed->queue, second.buffer, bed->buffer, 0, 0, BYTES, 0, NULL,
				 NULL));
	code("wait for an event of another context",
	     clEnqueueNDRangeKernel(second.queue, kernel, 1, NULL, &global, NULL, 1, &event, NULL));
	say_contents(bed, "first context after the errors", bed->buffer, 3);
	finish_event(event);
	must(clReleaseKernel(kernel), "clReleaseKernel");
	must(clReleaseProgram(second.program), "clReleaseProgram");
	must(clReleaseMemObject(second.buffer), "clReleaseMemObject");
	must(clReleaseCommandQueue(second.queue), "clReleaseCommandQueue");
	must(clReleaseContext(context), "clReleaseContext");
}

void section_threads(struct bed *bed)
{
	own_queues(bed);
	shared_queue(bed);
	contexts(bed);
}
