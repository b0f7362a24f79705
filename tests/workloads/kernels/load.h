/* SPDX-License-Identifier: MIT */
/*
 * gover-kernels: the parts that a workload uses. A workload is a table of functions
 * (struct workload) on a set of buffers and kernels (struct load). The runner calls step() until a
 * round is complete, then starts the next round. Each launch of a round is one work unit.
 *
 * A round starts from the inputs, which no kernel changes, and from the salt of the round. The
 * results of a round therefore depend only on size, local size and salt, and a result that is left
 * from an earlier round is an error that --check reports.
 *
 * An OpenCL error or a failed allocation ends the program with a message.
 */
#ifndef TESTS_WORKLOADS_KERNELS_LOAD_H
#define TESTS_WORKLOADS_KERNELS_LOAD_H

#include "tests/workloads/kernels/device.h"
#include <stdbool.h>
#include <stdint.h>

#define LOAD_KERNELS   4
#define LOAD_BUFFERS   8
#define LOAD_IN_FLIGHT 256     /* largest number of launches in flight */
#define LOAD_ROUNDING  5.97e-8 /* half of the distance between 1 and the next float */

struct load;

struct workload {
	const char *name;
	const char *summary; /* what a launch computes, for --help */
	const char *unit;    /* meaning of the size, for --help */
	const char *source;
	const char *kernels[LOAD_KERNELS];
	uint32_t size_min, size_max, size_default;
	bool local_memory; /* the local size must be set, because kernels use local memory */
	/* Creates buffers. Sets the arguments that no launch changes. */
	void (*setup)(struct load *load);
	/* Enqueues launch number @step of the round. Returns true if another launch follows. */
	bool (*step)(struct load *load, unsigned int step);
	/* Compares the results of the last round with a computation on the CPU. */
	bool (*check)(struct load *load);
};

struct load_buffer {
	cl_mem mem;
	size_t bytes;
};

/* Launches that may not be finished. A ring with @first as the oldest. */
struct flight {
	cl_event events[LOAD_IN_FLIGHT];
	unsigned int first, n, max;
};

struct load {
	const struct workload *kind;
	uint32_t size;
	uint32_t local;	  /* work-items of a work-group; 0: chosen by the device */
	uint32_t salt;	  /* changes with each round */
	bool profile;	  /* add the time of each launch to @busy_ns */
	uint64_t done;	  /* finished launches */
	uint64_t busy_ns; /* device time of finished launches; only with @profile */
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernels[LOAD_KERNELS];
	struct load_buffer buffers[LOAD_BUFFERS];
	unsigned int n_buffers;
	struct flight flight;
};

/* All workloads, ends with NULL. */
extern const struct workload *const load_workloads[];

/* Ends the program with a message if @error is not CL_SUCCESS. @call: name of the function. */
void load_expect(cl_int error, const char *call);

/* Returns @n * @size bytes, set to 0. */
void *load_alloc(size_t n, size_t size);

/* Creates the next buffer. Its first content is @content, or zeros if @content is NULL. */
unsigned int load_add_buffer(struct load *load, size_t bytes, void *content);

/* Creates the next buffer with @n random integers, of which only the bits in @mask are set. */
unsigned int load_add_random(struct load *load, uint32_t n, uint32_t mask);

void load_set_buffer(struct load *load, unsigned int kernel, cl_uint index, unsigned int buffer);
void load_set_uint(struct load *load, unsigned int kernel, cl_uint index, uint32_t value);

/*
 * Enqueues a kernel on at least @x (* @y) work-items and counts it as one work unit. The sizes are
 * rounded up to whole work-groups; the kernel ignores the surplus. Waits first if too many launches
 * are in flight.
 */
void load_launch_1d(struct load *load, unsigned int kernel, size_t x);
void load_launch_2d(struct load *load, unsigned int kernel, size_t x, size_t y);

/* Like load_launch_1d() with exactly one work-group. */
void load_launch_group(struct load *load, unsigned int kernel);

/* Waits for all launches in flight. */
void load_drain(struct load *load);

/* The side of the square work-group of load_launch_2d(): 8 for a local size of 64 to 255. */
uint32_t load_side(const struct load *load);

/* Reads a buffer. The caller frees the result. */
void *load_read(struct load *load, unsigned int buffer);

/* A number that depends on @seed only, with all 32 bits mixed. */
uint32_t load_mix(uint32_t seed);
/* The same as a number in [0, 1). A float can hold it exactly. */
float load_unit(uint32_t seed);

/*
 * Compare @n results with the expected values and print the first difference. A float may differ
 * by @bound[i], or by @bound[0] if @one_bound.
 */
bool load_same_uints(const char *name, const uint32_t *got, const uint32_t *expected, size_t n);
bool load_near_floats(const char *name, const float *got, const double *expected,
		      const double *bound, bool one_bound, size_t n);

#endif
