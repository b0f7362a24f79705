/* SPDX-License-Identifier: MIT */
/* Reference counts, and what the queries of objects, the device and the platform return. */
#include <stdatomic.h>
#include <string.h>

#include "tests/helper/cl-conformance/conform.h"

/* Prints the count of a new object, then after retain and after release. */
#define SAY_COUNTS(what, object, kind, retain, release)                                     \
	do {                                                                                \
		cl_uint first_ = references(kind, object), second_;                         \
                                                                                            \
		must(retain(object), "retain");                                             \
		second_ = references(kind, object);                                         \
		must(release(object), "release");                                           \
		say("references of a new %s: %u, retained: %u, released: %u", what, first_, \
		    second_, references(kind, object));                                     \
	} while (0)

static void counts(struct bed *bed)
{
	const char *text = "__kernel void empty(void) {}";
	cl_int error;
	cl_context context = clCreateContext(NULL, 1, &bed->device, NULL, NULL, &error);
	struct bed other = {.device = bed->device, .context = context};
	cl_event user = clCreateUserEvent(context, &error);

	SAY_COUNTS("context with one event", context, CONTEXT, clRetainContext, clReleaseContext);
	other.queue = new_queue(&other, 0);
	other.buffer = new_buffer(&other);
	other.program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
	must(error, "clCreateProgramWithSource");
	must(clBuildProgram(other.program, 0, NULL, "", NULL, NULL), "clBuildProgram");
	SAY_COUNTS("queue", other.queue, QUEUE, clRetainCommandQueue, clReleaseCommandQueue);
	SAY_COUNTS("buffer", other.buffer, BUFFER, clRetainMemObject, clReleaseMemObject);
	SAY_COUNTS("program", other.program, PROGRAM, clRetainProgram, clReleaseProgram);
	other.fill = clCreateKernel(other.program, "empty", &error);
	must(error, "clCreateKernel");
	SAY_COUNTS("kernel", other.fill, KERNEL, clRetainKernel, clReleaseKernel);
	say("references of a program with a kernel: %u", references(PROGRAM, other.program));
	SAY_COUNTS("user event", user, EVENT, clRetainEvent, clReleaseEvent);
	must(clReleaseKernel(other.fill), "clReleaseKernel");
	must(clReleaseProgram(other.program), "clReleaseProgram");
	must(clReleaseMemObject(other.buffer), "clReleaseMemObject");
	must(clReleaseCommandQueue(other.queue), "clReleaseCommandQueue");
	must(clReleaseEvent(user), "clReleaseEvent");
	must(clReleaseContext(context), "clReleaseContext");
}

/* --- queries --- */

static void ownership(struct bed *bed)
{
	cl_context context = NULL;
	cl_device_id device = NULL;
	cl_mem_object_type type = 0;
	cl_mem_flags flags = 0;
	size_t size = 0;
	cl_uint devices = 0;

	must(clGetCommandQueueInfo(bed->queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL),
	     "context");
	must(clGetCommandQueueInfo(bed->queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL),
	     "device");
	say("queue: own context: %s, own device: %s", yes(context == bed->context),
	    yes(device == bed->device));
	must(clGetContextInfo(bed->context, CL_CONTEXT_NUM_DEVICES, sizeof(devices), &devices,
			      NULL),
	     "devices");
	must(clGetContextInfo(bed->context, CL_CONTEXT_DEVICES, sizeof(device), &device, NULL),
	     "device");
	say("context: %u device, own device: %s", devices, yes(device == bed->device));
	must(clGetMemObjectInfo(bed->buffer, CL_MEM_TYPE, sizeof(type), &type, NULL), "type");
	must(clGetMemObjectInfo(bed->buffer, CL_MEM_FLAGS, sizeof(flags), &flags, NULL), "flags");
	must(clGetMemObjectInfo(bed->buffer, CL_MEM_SIZE, sizeof(size), &size, NULL), "size");
	must(clGetMemObjectInfo(bed->buffer, CL_MEM_CONTEXT, sizeof(context), &context, NULL),
	     "context");
	say("buffer: type %x, flags %x, size %zu, own context: %s", type, (unsigned int)flags, size,
	    yes(context == bed->context));
}

/* A hash of the bytes that all queries of a kind return, with their sizes and error codes. */
static unsigned int hash(unsigned int sum, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 16777619u;
	return sum;
}

/* A query that returns handles depends on addresses. */
static bool returns_handle(cl_uint name)
{
	return name == CL_DEVICE_PLATFORM || name == CL_DEVICE_PARENT_DEVICE;
}

/* PoCL derives these sizes from the memory that the machine has left. */
static bool varies(cl_uint name)
{
	return name == CL_DEVICE_GLOBAL_MEM_SIZE || name == CL_DEVICE_MAX_MEM_ALLOC_SIZE ||
	       name == CL_DEVICE_IMAGE_MAX_BUFFER_SIZE;
}

static void device_info(struct bed *bed)
{
	char value[8192];
	unsigned int sum = 2166136261u, n = 0;

	for (cl_uint name = 0x1000; name < 0x1080; name++) {
		size_t size = 0;
		cl_int error;

		memset(value, 0, sizeof(value));
		if (returns_handle(name) || varies(name))
			continue;
		error = clGetDeviceInfo(bed->device, name, sizeof(value), value, &size);
		sum = hash(sum, &error, sizeof(error));
		if (error == CL_SUCCESS && size <= sizeof(value))
			sum = hash(sum, value, size);
		n += error == CL_SUCCESS;
	}
	say("device: %u queries with a result, hash %08x", n, sum);
	sum = 2166136261u;
	for (cl_uint name = CL_PLATFORM_PROFILE; name <= CL_PLATFORM_PROFILE + 16; name++) {
		size_t size = 0;

		memset(value, 0, sizeof(value));
		if (clGetPlatformInfo(bed->platform, name, sizeof(value), value, &size) ==
		    CL_SUCCESS)
			sum = hash(sum, value, size);
	}
	say("platform: hash %08x", sum);
}

static void extensions(struct bed *bed)
{
	cl_platform_id platforms[16];
	cl_device_id devices[16];
	cl_uint n_platforms = 0, n_devices = 0;
	bool found = false;

	must(clGetPlatformIDs(16, platforms, &n_platforms), "clGetPlatformIDs");
	for (cl_uint i = 0; i < n_platforms; i++)
		found = found || platforms[i] == bed->platform;
	must(clGetDeviceIDs(bed->platform, CL_DEVICE_TYPE_ALL, 16, devices, &n_devices), "devices");
	say("platforms: %u, own platform found: %s, devices: %u", n_platforms, yes(found),
	    n_devices);
	say("address of an unknown extension function: %s",
	    clGetExtensionFunctionAddressForPlatform(bed->platform, "clNothingKHR") ? "present"
										    : "NULL");
}

static void CL_CALLBACK on_context(cl_context context, void *data)
{
	(void)context;
	atomic_fetch_add((atomic_int *)data, 1);
}

static void context_destructor(struct bed *bed)
{
	static atomic_int calls;
	cl_int error;
	cl_context context = clCreateContext(NULL, 1, &bed->device, NULL, NULL, &error);

	must(error, "clCreateContext");
	atomic_store(&calls, 0);
	code("destructor of a context",
	     clSetContextDestructorCallback(context, on_context, &calls));
	must(clReleaseContext(context), "clReleaseContext");
	await(has_calls, &calls, 2000);
	say("its calls: %d", atomic_load(&calls));
}

void section_objects(struct bed *bed)
{
	counts(bed);
	ownership(bed);
	device_info(bed);
	extensions(bed);
	context_destructor(bed);
}
