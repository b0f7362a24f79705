/* SPDX-License-Identifier: MIT */
/*
 * Kernel slicing: a launch that is predicted to take longer than a turn is cut into parts, which
 * wait for their turns one by one. So a program that launches long kernels exceeds its turn by one
 * part at most. FairGV (TPDS 2017) 3.3.2; SliVER (2023) 3.3. What stays whole, and why, is in
 * docs/slicing.md.
 */
#ifndef COMPUTE_CL_SLICE_H
#define COMPUTE_CL_SLICE_H

#include <stdbool.h>
#include <stdint.h>

#include "compute/cl/target.h"
#include "compute/tenant/link.h"

/*
 * Launches that take longer are cut. A turn of a lone tenant is longer than this, but another
 * tenant can come.
 */
#define SLICE_LAUNCH_NS 6000000u
/* A part should take this fraction of a turn, and at most SLICE_LAUNCH_NS. */
#define SLICE_PARTS_OF_TURN 4
/* A part has at least this many work-groups for each compute unit, so that the device is used. */
#define SLICE_GROUPS_OF_UNIT 4

/* A launch whose time is not known is cut if it has enough work-groups for this many parts. */
#define SLICE_NEW_PARTS 4u

/* A launch as the program passes it to clEnqueueNDRangeKernel(). */
struct slice_call {
	cl_command_queue queue;
	cl_kernel kernel;
	cl_uint dimensions;
	const size_t *offset, *global, *local;
	cl_uint n;
	const cl_event *list;
	cl_event *event;
	const void *id; /* see slice_id() */
};

/* Returns the object of estimate_find() for launches of a kernel. Takes no lock. */
const void *slice_id(cl_kernel handle);

/*
 * Returns the event that has the time @name of the launch of @event: @event itself, or that of its
 * first part. The program may use @event, so both exist.
 */
cl_event slice_timed_event(cl_event event, cl_profiling_info name);

/* The application builds a program: the rectified program of an earlier build is released. */
void slice_note_build(cl_program handle, cl_uint n, const cl_device_id *devices,
		      const char *options);

/* Declares an argument: see gover-slice.h. */
cl_int CL_API_CALL slice_declare(cl_kernel handle, cl_uint index);

/* Called once, before the following functions. */
void slice_setup(const struct tenant_setup *setup);

/* Returns true if launches are sliced at all. */
bool slice_is_on(void);

/* Returns true if slice_launch() must be called for a launch with @items work-items. */
bool slice_is_wanted(const struct slice_call *call, uint64_t items);

/*
 * Cuts a launch into parts and submits them. Returns false if it must be launched whole; nothing
 * was submitted then. Otherwise *ret_result is the result for the program.
 */
bool slice_launch(const struct slice_call *call, uint64_t items, cl_int *ret_result);

void slice_install(cl_icd_dispatch *table);

#endif
