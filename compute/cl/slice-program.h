/* SPDX-License-Identifier: MIT */
/*
 * Programs that the application has created from source. The layer keeps the source and the
 * parameters of the last build, and builds a second program from the rectified source when a kernel
 * is sliced for the first time. The program of the application remains as it is: its binaries, its
 * build log and its whole launches are those of the target.
 */
#ifndef COMPUTE_CL_SLICE_PROGRAM_H
#define COMPUTE_CL_SLICE_PROGRAM_H

#include "compute/cl/target.h"

struct slice_kind;
struct slice_program;

/* Returns the record of a program and adds a reference to it, or returns NULL. */
struct slice_program *slice_program_hold(cl_program handle);
void slice_program_drop(struct slice_program *program);

/* Returns the kind of the kernels with a name, which belongs to @program; NULL: memory is short. */
struct slice_kind *slice_program_kind(struct slice_program *program, const char *name);

/*
 * Returns the rectified program, which belongs to @program, or NULL with the reason as a clause.
 * The first call builds it, which can take as long as the build of the application did.
 */
cl_program slice_program_twin(struct slice_program *program, const char **ret_reason);

void slice_program_install(cl_icd_dispatch *table);

/* The application builds a program: the rectified program of an earlier build is released. */
void slice_program_note_build(cl_program handle, cl_uint n, const cl_device_id *devices,
			      const char *options);

#endif
