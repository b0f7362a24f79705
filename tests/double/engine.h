/* SPDX-License-Identifier: MIT */
/*
 * Commands and events of this process. A command is submitted to the device as soon as all commands
 * it waits for are submitted: the device runs launches in submission order, so their order holds
 * without the host. Only user events delay a submission. Therefore a stopped process does not delay
 * work that it has enqueued, up to DEVICE_CLIENT_QUEUE launches.
 *
 * One thread of the process, the completer, waits for the ends of launches, applies the effects of
 * commands to memory in their order and completes their events. A second thread runs callbacks.
 * Commands that are no kernels take no time on the device.
 */
#ifndef TESTS_DOUBLE_ENGINE_H
#define TESTS_DOUBLE_ENGINE_H

#include "tests/double/object.h"

struct launch;

/* A copy of rows of bytes between host and device, or within the device. */
struct rect {
	unsigned char *to;
	const unsigned char *from;
	size_t region[3]; /* bytes, rows, slices */
	size_t to_row, to_slice, from_row, from_slice;
};

struct fill {
	unsigned char *to;
	size_t size, pattern_size;
	unsigned char pattern[128];
};

/* The effect of a command. */
struct work {
	enum { WORK_NOTHING, WORK_COPY, WORK_FILL, WORK_LAUNCH } kind;
	bool is_marker;	  /* without a wait list it waits for all earlier commands */
	bool is_internal; /* no command of the application: never a fault */
	bool is_barrier;  /* a marker that later commands wait for */
	cl_mem mems[2];	  /* held until the command is complete; may be NULL */
	union {
		struct rect rect;
		struct fill fill;
		struct launch *launch; /* owned by the command */
	};
};

/* The wait list and the results of an enqueue call. */
struct order {
	cl_bool is_blocking;
	cl_uint n_waits;
	const cl_event *waits;
	cl_event *ret_event; /* may be NULL */
};

/* Connects this process with the device. Returns 0 or a negative errno. Later calls do nothing. */
int engine_start(void);

/* Enqueues a command. Takes work->launch also on failure. */
cl_int engine_enqueue(cl_command_queue queue, cl_command_type type, const struct work *work,
		      const struct order *order);

/* Waits until all commands in @queue are complete. */
cl_int engine_finish(cl_command_queue queue);

/* Counts @bytes of device memory. Returns CL_SUCCESS or the error of clCreateBuffer(). */
cl_int engine_allocate(size_t bytes);
void engine_free(size_t bytes);
cl_ulong engine_memory_bytes(void);
bool engine_is_lost(void);

#endif
