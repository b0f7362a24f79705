/* SPDX-License-Identifier: MIT */
/*
 * Kernels of the application: a copy of their arguments, and for each kernel that is sliced a
 * second kernel from the rectified program, which gets the same arguments before it is launched.
 */
#ifndef COMPUTE_CL_SLICE_KERNEL_H
#define COMPUTE_CL_SLICE_KERNEL_H

#include <pthread.h>
#include <stdbool.h>

#include "compute/cl/record.h"
#include "compute/cl/slice-kind.h"
#include "compute/cl/target.h"

struct slice_program;
struct slice_argument;

struct slice_kernel {
	struct record record;
	cl_kernel handle;
	pthread_mutex_t mutex;	       /* protects the members below */
	struct slice_program *program; /* NULL: not created from source, or from unknown source */
	struct slice_kind *kind;       /* of the program, if there is one; constant */
	cl_kernel twin;		       /* NULL: none yet */
	const char *reason;	       /* why it is never sliced, as a clause; NULL: not known */
	cl_uint n_arguments;	       /* arguments that were set at least once */
	struct slice_argument *arguments;
	bool is_declared; /* see gover-slice.h */
	cl_uint declared; /* the argument that gets the offset of a part */
};

/* Returns the record, or NULL. It exists as long as the caller may use the kernel. */
struct slice_kernel *slice_kernel_find(cl_kernel handle);

/*
 * Returns the kernel to launch for parts, with all arguments set, or NULL with the reason as a
 * clause. It is the twin, or the kernel itself if the application has declared an argument.
 */
cl_kernel slice_kernel_for_parts(struct slice_kernel *kernel, const char **ret_reason);

/*
 * Launches a part of a kernel with a declared argument, which has the value @value during the
 * launch. Returns the result of @enqueue.
 */
cl_int slice_kernel_with(struct slice_kernel *kernel, const cl_uint value[4],
			 cl_int (*enqueue)(void *userdata), void *userdata);

/* Declares an argument: see gover-slice.h. */
cl_int CL_API_CALL slice_kernel_declare(cl_kernel handle, cl_uint index);

void slice_kernel_install(cl_icd_dispatch *table);

#endif
