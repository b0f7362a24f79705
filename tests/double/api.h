/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL functions that the device double implements, with the types of the OpenCL headers.
 * double_clX() implements clX(). dispatch.c contains the functions that OpenCL 1.2 does not
 * require of a device without images.
 */
#ifndef TESTS_DOUBLE_API_H
#define TESTS_DOUBLE_API_H

#include "tests/double/object.h"

#define DOUBLE_FUNCTIONS(X)                         \
	X(clGetPlatformIDs)                         \
	X(clGetPlatformInfo)                        \
	X(clGetDeviceIDs)                           \
	X(clGetDeviceInfo)                          \
	X(clCreateContext)                          \
	X(clCreateContextFromType)                  \
	X(clRetainContext)                          \
	X(clReleaseContext)                         \
	X(clGetContextInfo)                         \
	X(clCreateCommandQueue)                     \
	X(clCreateCommandQueueWithProperties)       \
	X(clRetainCommandQueue)                     \
	X(clReleaseCommandQueue)                    \
	X(clGetCommandQueueInfo)                    \
	X(clSetCommandQueueProperty)                \
	X(clFlush)                                  \
	X(clFinish)                                 \
	X(clCreateBuffer)                           \
	X(clCreateBufferWithProperties)             \
	X(clCreateSubBuffer)                        \
	X(clRetainMemObject)                        \
	X(clReleaseMemObject)                       \
	X(clGetMemObjectInfo)                       \
	X(clSetMemObjectDestructorCallback)         \
	X(clGetSupportedImageFormats)               \
	X(clCreateProgramWithSource)                \
	X(clCreateProgramWithBinary)                \
	X(clCreateProgramWithBuiltInKernels)        \
	X(clRetainProgram)                          \
	X(clReleaseProgram)                         \
	X(clBuildProgram)                           \
	X(clCompileProgram)                         \
	X(clLinkProgram)                            \
	X(clUnloadCompiler)                         \
	X(clUnloadPlatformCompiler)                 \
	X(clGetProgramInfo)                         \
	X(clGetProgramBuildInfo)                    \
	X(clCreateKernel)                           \
	X(clCreateKernelsInProgram)                 \
	X(clCloneKernel)                            \
	X(clRetainKernel)                           \
	X(clReleaseKernel)                          \
	X(clSetKernelArg)                           \
	X(clGetKernelInfo)                          \
	X(clGetKernelArgInfo)                       \
	X(clGetKernelWorkGroupInfo)                 \
	X(clWaitForEvents)                          \
	X(clGetEventInfo)                           \
	X(clRetainEvent)                            \
	X(clReleaseEvent)                           \
	X(clGetEventProfilingInfo)                  \
	X(clCreateUserEvent)                        \
	X(clSetUserEventStatus)                     \
	X(clSetEventCallback)                       \
	X(clEnqueueReadBuffer)                      \
	X(clEnqueueWriteBuffer)                     \
	X(clEnqueueCopyBuffer)                      \
	X(clEnqueueReadBufferRect)                  \
	X(clEnqueueWriteBufferRect)                 \
	X(clEnqueueCopyBufferRect)                  \
	X(clEnqueueFillBuffer)                      \
	X(clEnqueueMapBuffer)                       \
	X(clEnqueueUnmapMemObject)                  \
	X(clEnqueueMigrateMemObjects)               \
	X(clEnqueueNDRangeKernel)                   \
	X(clEnqueueTask)                            \
	X(clEnqueueMarker)                          \
	X(clEnqueueWaitForEvents)                   \
	X(clEnqueueBarrier)                         \
	X(clEnqueueMarkerWithWaitList)              \
	X(clEnqueueBarrierWithWaitList)             \
	X(clGetExtensionFunctionAddress)            \
	X(clGetExtensionFunctionAddressForPlatform) \
	X(clCreateSubDevices)                       \
	X(clRetainDevice)                           \
	X(clReleaseDevice)                          \
	X(clGetDeviceAndHostTimer)                  \
	X(clGetHostTimer)

/* The types of functions have other names in newer headers, but the table is the same. */
#define DECLARE(name) __typeof__(*((struct _cl_icd_dispatch *)0)->name) double_##name;
DOUBLE_FUNCTIONS(DECLARE)
#undef DECLARE

/* Defines clRetainX() and clReleaseX(). */
#define DOUBLE_REFERENCES(x, type, kind, error)             \
	cl_int double_clRetain##x(type handle)              \
	{                                                   \
		return object_retain(handle, kind, error);  \
	}                                                   \
                                                            \
	cl_int double_clRelease##x(type handle)             \
	{                                                   \
		return object_release(handle, kind, error); \
	}

/* An exported function: see exports.map. */
cl_int clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *platforms, cl_uint *ret_n);

#endif
