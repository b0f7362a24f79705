/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL objects of the device double. Each begins with the dispatch table for the loader.
 * An object counts the references of the application, which it reports, and holds: one for all
 * references together and one for each internal user. The last hold frees it.
 */
#ifndef TESTS_DOUBLE_OBJECT_H
#define TESTS_DOUBLE_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_icd.h>

#include "tests/double/device/duration.h"
#include "tests/double/device/source.h"

enum object_kind {
	OBJECT_FREED,
	OBJECT_CONTEXT = 0x60c70001,
	OBJECT_QUEUE,
	OBJECT_MEM,
	OBJECT_PROGRAM,
	OBJECT_KERNEL,
	OBJECT_EVENT,
};

struct object {
	const cl_icd_dispatch *dispatch;
	atomic_uint kind; /* enum object_kind */
	atomic_uint references, holds;
	void (*destroy)(void *object);
};

struct _cl_platform_id {
	const cl_icd_dispatch *dispatch;
};

struct _cl_device_id {
	const cl_icd_dispatch *dispatch;
};

struct _cl_context {
	struct object object;
	cl_context_properties *properties; /* with the final 0, or NULL */
	size_t n_properties;
};

/* The lists are protected by the lock of engine.c. */
struct _cl_command_queue {
	struct object object;
	cl_context context;
	cl_command_queue_properties properties;
	cl_event first, last; /* commands that are not complete */
	cl_event barrier;     /* later commands wait for it, or NULL */
};

struct destructor {
	struct destructor *next;
	void(CL_CALLBACK *call)(cl_mem, void *);
	void *data;
};

struct _cl_mem {
	struct object object;
	cl_context context;
	cl_mem parent; /* of a sub-buffer, which has an origin in it */
	size_t origin, size;
	cl_mem_flags flags;
	unsigned char *data;
	void *host;	  /* of the application (CL_MEM_USE_HOST_PTR), or NULL */
	size_t mapped;	  /* bytes of a private mapping at data, or 0 */
	atomic_uint maps; /* regions that the application has mapped */
	struct destructor *destructors;
};

struct _cl_program {
	struct object object;
	cl_context context;
	char *text; /* with a final NUL */
	size_t size;
	char *options; /* of the last build, or NULL */
	struct source *source;
	cl_build_status status;
	cl_program_binary_type type;
	atomic_uint kernels;	  /* objects that use source */
	struct duration duration; /* given by the options */
	bool has_duration;
};

struct argument {
	bool is_set;
	size_t size;
	cl_mem mem; /* of a global or constant argument */
	unsigned char bytes[128];
};

struct _cl_kernel {
	struct object object;
	cl_program program;
	const struct source_kernel *head;
	const struct source_argument *kinds; /* of its arguments */
	struct argument *arguments;
	pthread_mutex_t lock; /* of arguments */
};

extern const cl_icd_dispatch double_dispatch;
extern struct _cl_platform_id double_platform;
extern struct _cl_device_id double_device;

/* Gives a new object one reference. @destroy frees it and what it contains. */
void object_init(struct object *object, enum object_kind kind, void (*destroy)(void *object));

/* True if @handle is an object of @kind. NULL and freed objects are none. */
bool object_is(const void *handle, enum object_kind kind);

void object_hold(void *handle);
void object_unhold(void *handle); /* NULL is allowed */

/* Adds or removes a reference. Both return CL_SUCCESS, or @error if @handle is not of @kind. */
cl_int object_retain(void *handle, enum object_kind kind, cl_int error);
cl_int object_release(void *handle, enum object_kind kind, cl_int error);
cl_uint object_references(const void *handle);

/*
 * Answers a clGet...Info() call with @size bytes at @data. Returns CL_INVALID_VALUE if the buffer
 * of the application is too small.
 */
cl_int info_bytes(const void *data, size_t size, size_t room, void *ret_value, size_t *ret_size);
cl_int info_string(const char *text, size_t room, void *ret_value, size_t *ret_size);

/* The same with a value of the type @type. */
#define INFO(type, value, room, ret_value, ret_size) \
	info_bytes(&(type){value}, sizeof(type), room, ret_value, ret_size)

/* Writes the result of a function that creates an object. */
static inline void *result(void *object, cl_int code, cl_int *ret_code)
{
	if (ret_code)
		*ret_code = code;
	return object;
}

#endif
