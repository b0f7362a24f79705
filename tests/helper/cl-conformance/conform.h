/* SPDX-License-Identifier: MIT */
/*
 * cl-conformance: a test of OpenCL layers. It prints a transcript of what an application observes:
 * error codes, data, the order of events. The transcript contains no address, time or handle, so
 * it must be the same with and without a layer, on any device.
 *
 * A section is a function that starts from a fresh bed. Sections do not depend on each other.
 *
 * The program ends with a message if a basic call fails, for example the creation of a buffer.
 */
#ifndef TESTS_CL_CONFORMANCE_H
#define TESTS_CL_CONFORMANCE_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdbool.h>
#include <stddef.h>

#include "tests/workloads/kernels/device.h"

#define N     256 /* elements of a buffer of the bed */
#define BYTES (N * sizeof(cl_int))
#define LOOPS 5000 /* argument of the kernel slow: about a millisecond on a CPU */

/* The objects that each section starts with. */
struct bed {
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue; /* in order, with profiling */
	cl_program program;
	/* fill(out, value); add(data, value); slow(out, value, loops); ids(out) */
	cl_kernel fill, add, slow, ids;
	cl_mem buffer, other; /* N integers each, 0 at first */
};

struct section {
	const char *name;
	void (*run)(struct bed *bed);
};

/* The sections, in the order of the transcript. */
void section_map(struct bed *bed);
void section_errors(struct bed *bed);
void section_creation(struct bed *bed);
void section_events(struct bed *bed);
void section_callbacks(struct bed *bed);
void section_order(struct bed *bed);
void section_buffers(struct bed *bed);
void section_kernels(struct bed *bed);
void section_threads(struct bed *bed);
void section_programs(struct bed *bed);
void section_objects(struct bed *bed);
void section_memory(struct bed *bed);

/* Print one line of the transcript. code(): the name of @error. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void code(const char *call, cl_int error);

/* Ends the program with a message if @error is not CL_SUCCESS. For calls that are not tested. */
void must(cl_int error, const char *call);

/* Returns @size bytes, set to 0. */
void *allocate(size_t size);

const char *yes(bool value);

/* The names of an execution status and of a command type. */
const char *status_name(cl_int status);
const char *command_name(cl_command_type type);
cl_int event_status(cl_event event);

/*
 * The longest wait for an expected event, in ms: CL_PATIENCE_MS or 10,000. Tests with mistakes set
 * the variable, because a mistake can prevent the event.
 */
unsigned int patience_ms(void);

/* True if @event is complete or has failed within the patience. */
bool ends_soon(cl_event event);

/* Waits until @condition(@data) is true, at most the patience and at most @limit_ms. */
void await(bool (*condition)(void *data), void *data, unsigned int limit_ms);

/* A condition for await(): the atomic_int @calls, which callbacks count up, is above 0. */
bool has_calls(void *calls);

/*
 * A gate is a user event. Commands that wait for it run only after gate_open(). If a call waits for
 * a closed gate by mistake, the gate opens after the patience, so that the test continues.
 */
struct gate;

struct gate *gate_new(struct bed *bed);
cl_event *gate_event(struct gate *gate);
/* Opens the gate now. Returns false if it was opened by its time limit before. */
bool gate_open(struct gate *gate);
/* Opens the gate after @ms milliseconds from another thread. */
void gate_open_after(struct gate *gate, unsigned int ms);
/* True if the gate was opened, now or by gate_open_after(). */
bool gate_is_open(struct gate *gate);
void gate_free(struct gate *gate);

/* Sets the buffer and the value of a kernel (arguments 0 and 1). */
void set_arguments(cl_kernel kernel, cl_mem buffer, cl_int value);

/* Enqueue a kernel of the bed on N work-items. @gate may be NULL; returns the command's event. */
cl_event run_fill(struct bed *bed, cl_command_queue queue, cl_mem out, cl_int value,
		  struct gate *gate);
cl_event run_add(struct bed *bed, cl_command_queue queue, cl_mem data, cl_int value,
		 struct gate *gate);
cl_event run_slow(struct bed *bed, cl_command_queue queue, cl_mem out, cl_int value,
		  struct gate *gate);

enum kind { CONTEXT, QUEUE, BUFFER, PROGRAM, KERNEL, EVENT };

/* Returns the reference count of an OpenCL object. */
cl_uint references(enum kind kind, void *object);

/* Creates a buffer of N integers, all 0. */
cl_mem new_buffer(struct bed *bed);
cl_command_queue new_queue(struct bed *bed, cl_command_queue_properties properties);

/* The number of the N values that are not @value. */
unsigned int others(const cl_int *values, cl_int value);

/* Reads a buffer with a blocking read; returns a static array of N integers. */
const cl_int *contents(cl_command_queue queue, cl_mem buffer);
/* Prints "WHAT: all VALUE", or how many values differ. */
void say_contents(struct bed *bed, const char *what, cl_mem buffer, cl_int value);

/* Waits for and releases @event. */
void finish_event(cl_event event);

void sleep_ms(unsigned int ms);

#endif
