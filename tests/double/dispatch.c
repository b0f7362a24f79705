/* SPDX-License-Identifier: MIT */
/* The dispatch table of the device double, which the loader calls. No element is NULL. */
#include "tests/double/api.h"

#define ROW(name)  .name = double_##name,
#define NONE(name) .name = double_unsupported,

const cl_icd_dispatch double_dispatch = {
	/* clang-format off */
	DOUBLE_FUNCTIONS(ROW)
	DOUBLE_UNSUPPORTED(ROW)
	/* Functions of other systems. */
	NONE(clGetDeviceIDsFromD3D10KHR)
	NONE(clCreateFromD3D10BufferKHR)
	NONE(clCreateFromD3D10Texture2DKHR)
	NONE(clCreateFromD3D10Texture3DKHR)
	NONE(clEnqueueAcquireD3D10ObjectsKHR)
	NONE(clEnqueueReleaseD3D10ObjectsKHR)
	NONE(clGetDeviceIDsFromD3D11KHR)
	NONE(clCreateFromD3D11BufferKHR)
	NONE(clCreateFromD3D11Texture2DKHR)
	NONE(clCreateFromD3D11Texture3DKHR)
	NONE(clCreateFromDX9MediaSurfaceKHR)
	NONE(clEnqueueAcquireD3D11ObjectsKHR)
	NONE(clEnqueueReleaseD3D11ObjectsKHR)
	NONE(clGetDeviceIDsFromDX9MediaAdapterKHR)
	NONE(clEnqueueAcquireDX9MediaSurfacesKHR)
	NONE(clEnqueueReleaseDX9MediaSurfacesKHR)
	/* clang-format on */
};
