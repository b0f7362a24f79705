/* SPDX-License-Identifier: MIT */
/*
 * Adds programs and kernels to the OpenCL target without a device (stub-cl.h), and records the last
 * launches: kernel, sizes, arguments and wait list. Every program contains one kernel with the name
 * k.
 */
#ifndef TESTS_UNIT_COMPUTE_STUB_CL_KERNELS_H
#define TESTS_UNIT_COMPUTE_STUB_CL_KERNELS_H

#include "tests/unit/compute/stub-cl.h"

#define PARTS_MAX   64
#define ARGUMENTS   4
#define OBJECTS_MAX 200

/* A program or a kernel of the target. */
struct object {
	unsigned int references;
	char *text; /* of a program */
	struct object *program;
	cl_uint arguments[ARGUMENTS][4]; /* of a kernel */
};

struct part {
	const struct object *kernel;
	cl_uint dimensions;
	size_t offset[3], global[3], local[3];
	cl_uint n;
	cl_event wait;
	cl_uint arguments[ARGUMENTS][4];
};

static struct {
	unsigned int live, builds, fail_builds, n;
	int fail_at; /* the launch that is refused; -1: none */
	cl_int fail;
	cl_ulong item_ns; /* if not 0, the length of a launch is this for each work-item */
	struct part parts[PARTS_MAX];
} seen = {.fail_at = -1};

/*
 * No handle is used twice, so that no test depends on estimates of another one, except the one that
 * a test wants for the next object.
 */
static struct object objects[OBJECTS_MAX];
static unsigned int n_objects;
static struct object *next_object;

static void *new_object(struct object *of_program, const char *text)
{
	struct object *object = next_object ? next_object : &objects[n_objects++];

	if (n_objects > OBJECTS_MAX || object->references > 0)
		abort();
	next_object = NULL;
	*object = (struct object){.references = 1, .program = of_program};
	object->text = text ? strdup(text) : NULL;
	seen.live++;
	return object;
}

static cl_int retain(void *handle)
{
	((struct object *)handle)->references++;
	return CL_SUCCESS;
}

static cl_int release(void *handle)
{
	struct object *object = handle;

	if (object->references == 0)
		abort();
	if (--object->references > 0)
		return CL_SUCCESS;
	free(object->text);
	object->text = NULL;
	seen.live--;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL retain_program(cl_program handle)
{
	return retain(handle);
}

static cl_int CL_API_CALL release_program(cl_program handle)
{
	return release(handle);
}

static cl_int CL_API_CALL retain_kernel(cl_kernel handle)
{
	return retain(handle);
}

static cl_int CL_API_CALL release_kernel(cl_kernel handle)
{
	return release(handle);
}

static cl_program CL_API_CALL create_program(cl_context context, cl_uint n, const char **texts,
					     const size_t *lengths, cl_int *ret_err)
{
	(void)context, (void)n, (void)lengths, (void)ret_err;
	return new_object(NULL, texts[0]);
}

static cl_int CL_API_CALL build_program(cl_program handle, cl_uint n, const cl_device_id *devices,
					const char *options,
					void(CL_CALLBACK *notify)(cl_program, void *),
					void *userdata)
{
	(void)handle, (void)n, (void)devices, (void)options, (void)notify, (void)userdata;
	seen.builds++;
	if (seen.fail_builds == 0)
		return CL_SUCCESS;
	seen.fail_builds--;
	return CL_BUILD_PROGRAM_FAILURE;
}

static cl_int CL_API_CALL program_info(cl_program handle, cl_program_info name, size_t size,
				       void *value, size_t *ret_size)
{
	(void)handle, (void)ret_size;
	if (name != CL_PROGRAM_CONTEXT)
		return CL_INVALID_VALUE;
	memset(value, 0, size);
	return CL_SUCCESS;
}

static cl_kernel CL_API_CALL create_kernel(cl_program of, const char *name, cl_int *ret_err)
{
	(void)ret_err;
	return strcmp(name, "k") == 0 ? new_object((struct object *)of, NULL) : NULL;
}

static cl_int CL_API_CALL kernel_info(cl_kernel handle, cl_kernel_info name, size_t size,
				      void *value, size_t *ret_size)
{
	struct object *object = (struct object *)handle;
	cl_uint n = ARGUMENTS;

	if (ret_size)
		*ret_size = 2;
	if (!value)
		return CL_SUCCESS;
	if (name == CL_KERNEL_PROGRAM)
		memcpy(value, &object->program, size);
	else if (name == CL_KERNEL_NUM_ARGS)
		memcpy(value, &n, size);
	else
		memcpy(value, "k", 2);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL set_argument(cl_kernel handle, cl_uint index, size_t size,
				       const void *value)
{
	struct object *object = (struct object *)handle;

	if (index >= ARGUMENTS || size > sizeof(object->arguments[0]))
		return CL_INVALID_ARG_INDEX;
	memcpy(object->arguments[index], value, size);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info name, size_t size,
				      void *value, size_t *ret_size)
{
	cl_uint units = 1;

	(void)device, (void)name, (void)ret_size;
	memcpy(value, &units, size);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL launch(cl_command_queue on, cl_kernel handle, cl_uint dimensions,
				 const size_t *offset, const size_t *global, const size_t *local,
				 cl_uint n, const cl_event *list, cl_event *event)
{
	struct part *part = &seen.parts[seen.n % PARTS_MAX];

	if ((int)seen.n == seen.fail_at) {
		seen.fail_at = -1;
		return seen.fail;
	}
	if (dimensions > 3)
		return stub.fail;
	seen.n++;
	*part = (struct part){.kernel = (struct object *)handle, .dimensions = dimensions};
	for (cl_uint i = 0; i < dimensions; i++) {
		part->offset[i] = offset ? offset[i] : 0;
		part->global[i] = global[i];
		part->local[i] = local ? local[i] : 0;
	}
	part->n = n;
	part->wait = n > 0 ? list[0] : NULL;
	memcpy(part->arguments, part->kernel->arguments, sizeof(part->arguments));
	if (seen.item_ns)
		stub.length = seen.item_ns * global[0];
	return stub_launch(on, handle, dimensions, offset, global, local, n, list, event);
}

static void *CL_API_CALL no_extension(cl_platform_id platform, const char *name)
{
	(void)platform, (void)name;
	return NULL;
}

/* Loads the layer above this target. */
static inline const cl_icd_dispatch *kernels_load_layer(void)
{
	static cl_icd_dispatch target;

	target = stub_table;
	target.clCreateProgramWithSource = create_program;
	target.clBuildProgram = build_program;
	target.clGetProgramInfo = program_info;
	target.clRetainProgram = retain_program;
	target.clReleaseProgram = release_program;
	target.clCreateKernel = create_kernel;
	target.clGetKernelInfo = kernel_info;
	target.clSetKernelArg = set_argument;
	target.clRetainKernel = retain_kernel;
	target.clReleaseKernel = release_kernel;
	target.clGetDeviceInfo = device_info;
	target.clEnqueueNDRangeKernel = launch;
	target.clGetExtensionFunctionAddressForPlatform = no_extension;
	return stub_load_layer_on(&target);
}

#endif
