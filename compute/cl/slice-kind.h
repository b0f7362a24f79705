/* SPDX-License-Identifier: MIT */
/*
 * Kinds of kernels: all kernels of a build of a program with the same name. Many programs create a
 * kernel for each launch. What was measured for one of them predicts the others, and a new kernel
 * with the handle of a released one is of its own kind.
 */
#ifndef COMPUTE_CL_SLICE_KIND_H
#define COMPUTE_CL_SLICE_KIND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "compute/cl/target.h"
#include "compute/tenant/estimate.h"

struct slice_kind {
	struct slice_kind *next; /* of the same program */
	char *name;
	uintptr_t program;
	/* Objects of estimate_find() for whole launches and for parts. */
	const void *id, *parts_id;
	pthread_mutex_t mutex; /* protects the members below */
	bool is_counted;       /* the layer has reported that it is launched whole */
	bool is_reported;      /* the layer has reported that it is sliced */
	/* The first launch whose time was to be measured: predicts launches of other sizes. */
	const struct estimate *first;
	uint64_t first_items;
	/* The parts of the last sliced launch. NULL: none. */
	struct estimate *parts;
	uint64_t part_groups;
};

/* @program: a number of the build of the program. Returns NULL if memory is short. */
struct slice_kind *slice_kind_new(uintptr_t program, const char *name);
void slice_kind_free(struct slice_kind *kind);

/* Records the kind of a kernel that was created, until slice_kind_forget(). */
void slice_kind_note(cl_kernel handle, const struct slice_kind *kind);
void slice_kind_forget(cl_kernel handle);

/* Returns the object of estimate_find() for launches of a kernel. Takes no lock. */
const void *slice_kind_id(cl_kernel handle);

#endif
