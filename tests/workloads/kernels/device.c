/* SPDX-License-Identifier: MIT */
/* Choice of an OpenCL device, and names of error codes. */
#define CL_TARGET_OPENCL_VERSION 300 /* for the names of all error codes */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "tests/workloads/kernels/device.h"

#define MAX_PLATFORMS 32
#define MAX_DEVICES   64
#define MAX_NAME      256

struct platforms {
	cl_platform_id id[MAX_PLATFORMS];
	cl_uint n;
};

static void find_platforms(struct platforms *found)
{
	if (clGetPlatformIDs(MAX_PLATFORMS, found->id, &found->n) != CL_SUCCESS)
		found->n = 0;
	if (found->n > MAX_PLATFORMS)
		found->n = MAX_PLATFORMS;
}

static void platform_name(cl_platform_id platform, char name[MAX_NAME])
{
	if (clGetPlatformInfo(platform, CL_PLATFORM_NAME, MAX_NAME, name, NULL) != CL_SUCCESS)
		name[0] = '\0';
}

/* Returns the index of the platform that matches @wanted (an index or a part of a name), or -1. */
static int match_platform(const struct platforms *found, const char *wanted)
{
	char name[MAX_NAME];
	int64_t index;

	if (parse_int(wanted, 0, MAX_PLATFORMS, &index) == 0)
		return index < found->n ? (int)index : -1;
	for (cl_uint i = 0; i < found->n; i++) {
		platform_name(found->id[i], name);
		if (strstr(name, wanted))
			return (int)i;
	}
	return -1;
}

/* Splits PLATFORM[:DEVICE]. Returns false if a part is too long or DEVICE is no index. */
static bool split(const char *choice, char platform[MAX_NAME], int64_t *ret_device)
{
	const char *colon = strrchr(choice, ':');
	size_t length = colon ? (size_t)(colon - choice) : strlen(choice);

	if (length >= MAX_NAME)
		return false;
	memcpy(platform, choice, length);
	platform[length] = '\0';
	if (length == 0)
		memcpy(platform, "0", 2);
	*ret_device = 0;
	return !colon || parse_int(colon + 1, 0, MAX_DEVICES - 1, ret_device) == 0;
}

int device_choose(const char *choice, cl_platform_id *ret_platform, cl_device_id *ret_device,
		  char *message, size_t size)
{
	cl_device_id devices[MAX_DEVICES];
	struct platforms found = {.n = 0};
	char wanted[MAX_NAME];
	cl_uint n_devices = 0;
	int64_t device;
	int platform;

	if (!split(choice ? choice : "", wanted, &device)) {
		(void)snprintf(message, size, "device '%s': wrong form (allowed: PLATFORM[:INDEX])",
			       choice);
		return -ENODEV;
	}
	find_platforms(&found);
	platform = match_platform(&found, wanted);
	if (platform < 0) {
		(void)snprintf(message, size, "platform '%s': not found (%u platforms exist)",
			       wanted, found.n);
		return -ENODEV;
	}
	if (clGetDeviceIDs(found.id[platform], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices,
			   &n_devices) != CL_SUCCESS)
		n_devices = 0;
	if (device >= n_devices) {
		(void)snprintf(message, size,
			       "device %d of platform %d: not found (%u devices exist)",
			       (int)device, platform, n_devices);
		return -ENODEV;
	}
	*ret_platform = found.id[platform];
	*ret_device = devices[device];
	return 0;
}

void device_list(void)
{
	cl_device_id devices[MAX_DEVICES];
	char platform[MAX_NAME], name[MAX_NAME];
	struct platforms found = {.n = 0};

	find_platforms(&found);
	for (cl_uint p = 0; p < found.n; p++) {
		cl_uint n = 0;

		platform_name(found.id[p], platform);
		if (clGetDeviceIDs(found.id[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &n) !=
		    CL_SUCCESS)
			continue;
		for (cl_uint d = 0; d < n && d < MAX_DEVICES; d++) {
			if (clGetDeviceInfo(devices[d], CL_DEVICE_NAME, sizeof(name), name, NULL) !=
			    CL_SUCCESS)
				name[0] = '\0';
			printf("%u:%u  %s, %s\n", p, d, platform, name);
		}
	}
}

#define ERROR(name)         \
	{                   \
		name, #name \
	}

static const struct {
	cl_int code;
	const char *name;
} errors[] = {
	ERROR(CL_SUCCESS),
	ERROR(CL_DEVICE_NOT_FOUND),
	ERROR(CL_DEVICE_NOT_AVAILABLE),
	ERROR(CL_COMPILER_NOT_AVAILABLE),
	ERROR(CL_MEM_OBJECT_ALLOCATION_FAILURE),
	ERROR(CL_OUT_OF_RESOURCES),
	ERROR(CL_OUT_OF_HOST_MEMORY),
	ERROR(CL_PROFILING_INFO_NOT_AVAILABLE),
	ERROR(CL_MEM_COPY_OVERLAP),
	ERROR(CL_IMAGE_FORMAT_MISMATCH),
	ERROR(CL_IMAGE_FORMAT_NOT_SUPPORTED),
	ERROR(CL_BUILD_PROGRAM_FAILURE),
	ERROR(CL_MAP_FAILURE),
	ERROR(CL_MISALIGNED_SUB_BUFFER_OFFSET),
	ERROR(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
	ERROR(CL_COMPILE_PROGRAM_FAILURE),
	ERROR(CL_LINKER_NOT_AVAILABLE),
	ERROR(CL_LINK_PROGRAM_FAILURE),
	ERROR(CL_DEVICE_PARTITION_FAILED),
	ERROR(CL_KERNEL_ARG_INFO_NOT_AVAILABLE),
	ERROR(CL_INVALID_VALUE),
	ERROR(CL_INVALID_DEVICE_TYPE),
	ERROR(CL_INVALID_PLATFORM),
	ERROR(CL_INVALID_DEVICE),
	ERROR(CL_INVALID_CONTEXT),
	ERROR(CL_INVALID_QUEUE_PROPERTIES),
	ERROR(CL_INVALID_COMMAND_QUEUE),
	ERROR(CL_INVALID_HOST_PTR),
	ERROR(CL_INVALID_MEM_OBJECT),
	ERROR(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR),
	ERROR(CL_INVALID_IMAGE_SIZE),
	ERROR(CL_INVALID_SAMPLER),
	ERROR(CL_INVALID_BINARY),
	ERROR(CL_INVALID_BUILD_OPTIONS),
	ERROR(CL_INVALID_PROGRAM),
	ERROR(CL_INVALID_PROGRAM_EXECUTABLE),
	ERROR(CL_INVALID_KERNEL_NAME),
	ERROR(CL_INVALID_KERNEL_DEFINITION),
	ERROR(CL_INVALID_KERNEL),
	ERROR(CL_INVALID_ARG_INDEX),
	ERROR(CL_INVALID_ARG_VALUE),
	ERROR(CL_INVALID_ARG_SIZE),
	ERROR(CL_INVALID_KERNEL_ARGS),
	ERROR(CL_INVALID_WORK_DIMENSION),
	ERROR(CL_INVALID_WORK_GROUP_SIZE),
	ERROR(CL_INVALID_WORK_ITEM_SIZE),
	ERROR(CL_INVALID_GLOBAL_OFFSET),
	ERROR(CL_INVALID_EVENT_WAIT_LIST),
	ERROR(CL_INVALID_EVENT),
	ERROR(CL_INVALID_OPERATION),
	ERROR(CL_INVALID_GL_OBJECT),
	ERROR(CL_INVALID_BUFFER_SIZE),
	ERROR(CL_INVALID_MIP_LEVEL),
	ERROR(CL_INVALID_GLOBAL_WORK_SIZE),
	ERROR(CL_INVALID_PROPERTY),
	ERROR(CL_INVALID_IMAGE_DESCRIPTOR),
	ERROR(CL_INVALID_COMPILER_OPTIONS),
	ERROR(CL_INVALID_LINKER_OPTIONS),
	ERROR(CL_INVALID_DEVICE_PARTITION_COUNT),
	ERROR(CL_INVALID_PIPE_SIZE),
	ERROR(CL_INVALID_DEVICE_QUEUE),
	ERROR(CL_INVALID_SPEC_ID),
	ERROR(CL_MAX_SIZE_RESTRICTION_EXCEEDED),
	ERROR(CL_BUILD_ERROR),
	ERROR(CL_BUILD_IN_PROGRESS),
	ERROR(CL_KERNEL_ARG_TYPE_NONE),
};

const char *device_error_name(cl_int error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == error)
			return errors[i].name;
	return "unknown error code";
}
