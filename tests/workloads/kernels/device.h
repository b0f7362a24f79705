/* SPDX-License-Identifier: MIT */
/*
 * Choice of an OpenCL device, and names of error codes. Shared by gover-kernels and the conformance
 * test of OpenCL layers.
 */
#ifndef TESTS_WORKLOADS_KERNELS_DEVICE_H
#define TESTS_WORKLOADS_KERNELS_DEVICE_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <stddef.h>

/*
 * Selects a device. @choice is PLATFORM[:DEVICE]: PLATFORM is an index or a part of the platform's
 * name, DEVICE an index. NULL or "" means 0:0. Returns 0, or -ENODEV with a sentence in
 * @message[@size] if no device matches.
 */
int device_choose(const char *choice, cl_platform_id *ret_platform, cl_device_id *ret_device,
		  char *message, size_t size);

/* Prints each device as "PLATFORM:DEVICE  name of the platform, name of the device". */
void device_list(void);

/* Returns the name of an error code, for example "CL_INVALID_VALUE". Never returns NULL. */
const char *device_error_name(cl_int error);

#endif
