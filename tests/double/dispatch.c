/* SPDX-License-Identifier: MIT */
/*
 * The dispatch table of the device double, which the loader calls. No element is NULL. This file
 * also has the functions that the device does not support: images, samplers, pipes, shared virtual
 * memory, native kernels, programs in an intermediate language, and objects of graphics interfaces.
 * Each returns the error of the specification for such a device.
 */
#include "tests/double/api.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define WAITS cl_uint n_waits, const cl_event *waits, cl_event *ret_event

/*
 * CODE(name, error, parameters): a function that returns an error code.
 * NONE(type, name, error, parameters): a function that returns no object, and an error code in one
 * more parameter.
 */
#define UNSUPPORTED(CODE, NONE)                                                                    \
	NONE(cl_mem, clCreateImage2D, CL_INVALID_OPERATION, cl_context context,                    \
	     cl_mem_flags flags, const cl_image_format *format, size_t width, size_t height,       \
	     size_t row, void *host_ptr)                                                           \
	NONE(cl_mem, clCreateImage3D, CL_INVALID_OPERATION, cl_context context,                    \
	     cl_mem_flags flags, const cl_image_format *format, size_t width, size_t height,       \
	     size_t depth, size_t row, size_t slice, void *host_ptr)                               \
	CODE(clGetImageInfo, CL_INVALID_MEM_OBJECT, cl_mem image, cl_image_info name, size_t room, \
	     void *value, size_t *ret_size)                                                        \
	NONE(cl_sampler, clCreateSampler, CL_INVALID_OPERATION, cl_context context,                \
	     cl_bool normalized, cl_addressing_mode addressing, cl_filter_mode filter)             \
	CODE(clRetainSampler, CL_INVALID_SAMPLER, cl_sampler sampler)                              \
	CODE(clReleaseSampler, CL_INVALID_SAMPLER, cl_sampler sampler)                             \
	CODE(clGetSamplerInfo, CL_INVALID_SAMPLER, cl_sampler sampler, cl_sampler_info name,       \
	     size_t room, void *value, size_t *ret_size)                                           \
	CODE(clEnqueueReadImage, CL_INVALID_MEM_OBJECT, cl_command_queue queue, cl_mem image,      \
	     cl_bool blocking, const size_t *origin, const size_t *region, size_t row,             \
	     size_t slice, void *ptr, WAITS)                                                       \
	CODE(clEnqueueWriteImage, CL_INVALID_MEM_OBJECT, cl_command_queue queue, cl_mem image,     \
	     cl_bool blocking, const size_t *origin, const size_t *region, size_t row,             \
	     size_t slice, const void *ptr, WAITS)                                                 \
	CODE(clEnqueueCopyImage, CL_INVALID_MEM_OBJECT, cl_command_queue queue, cl_mem from,       \
	     cl_mem to, const size_t *from_origin, const size_t *to_origin, const size_t *region,  \
	     WAITS)                                                                                \
	CODE(clEnqueueCopyImageToBuffer, CL_INVALID_MEM_OBJECT, cl_command_queue queue,            \
	     cl_mem from, cl_mem to, const size_t *from_origin, const size_t *region,              \
	     size_t offset, WAITS)                                                                 \
	CODE(clEnqueueCopyBufferToImage, CL_INVALID_MEM_OBJECT, cl_command_queue queue,            \
	     cl_mem from, cl_mem to, size_t offset, const size_t *to_origin, const size_t *region, \
	     WAITS)                                                                                \
	NONE(void *, clEnqueueMapImage, CL_INVALID_MEM_OBJECT, cl_command_queue queue,             \
	     cl_mem image, cl_bool blocking, cl_map_flags flags, const size_t *origin,             \
	     const size_t *region, size_t *row, size_t *slice, WAITS)                              \
	CODE(clEnqueueNativeKernel, CL_INVALID_OPERATION, cl_command_queue queue,                  \
	     void(CL_CALLBACK * call)(void *), void *args, size_t args_size, cl_uint n_mems,       \
	     const cl_mem *mems, const void **addresses, WAITS)                                    \
	NONE(cl_mem, clCreateFromGLBuffer, CL_INVALID_GL_OBJECT, cl_context context,               \
	     cl_mem_flags flags, cl_GLuint buffer)                                                 \
	NONE(cl_mem, clCreateFromGLTexture2D, CL_INVALID_GL_OBJECT, cl_context context,            \
	     cl_mem_flags flags, cl_GLenum target, cl_GLint miplevel, cl_GLuint texture)           \
	NONE(cl_mem, clCreateFromGLTexture3D, CL_INVALID_GL_OBJECT, cl_context context,            \
	     cl_mem_flags flags, cl_GLenum target, cl_GLint miplevel, cl_GLuint texture)           \
	NONE(cl_mem, clCreateFromGLRenderbuffer, CL_INVALID_GL_OBJECT, cl_context context,         \
	     cl_mem_flags flags, cl_GLuint buffer)                                                 \
	CODE(clGetGLObjectInfo, CL_INVALID_GL_OBJECT, cl_mem mem, cl_gl_object_type *ret_type,     \
	     cl_GLuint *ret_name)                                                                  \
	CODE(clGetGLTextureInfo, CL_INVALID_GL_OBJECT, cl_mem mem, cl_gl_texture_info name,        \
	     size_t room, void *value, size_t *ret_size)                                           \
	CODE(clEnqueueAcquireGLObjects, CL_INVALID_OPERATION, cl_command_queue queue,              \
	     cl_uint n_objects, const cl_mem *objects, WAITS)                                      \
	CODE(clEnqueueReleaseGLObjects, CL_INVALID_OPERATION, cl_command_queue queue,              \
	     cl_uint n_objects, const cl_mem *objects, WAITS)                                      \
	CODE(clGetGLContextInfoKHR, CL_INVALID_GL_OBJECT, const cl_context_properties *properties, \
	     cl_gl_context_info name, size_t room, void *value, size_t *ret_size)                  \
	CODE(clCreateSubDevicesEXT, CL_INVALID_OPERATION, cl_device_id device,                     \
	     const cl_device_partition_property_ext *properties, cl_uint room,                     \
	     cl_device_id *devices, cl_uint *ret_n)                                                \
	CODE(clRetainDeviceEXT, CL_SUCCESS, cl_device_id device)                                   \
	CODE(clReleaseDeviceEXT, CL_SUCCESS, cl_device_id device)                                  \
	NONE(cl_event, clCreateEventFromGLsyncKHR, CL_INVALID_GL_OBJECT, cl_context context,       \
	     cl_GLsync sync)                                                                       \
	NONE(cl_mem, clCreateImage, CL_INVALID_OPERATION, cl_context context, cl_mem_flags flags,  \
	     const cl_image_format *format, const cl_image_desc *description, void *host_ptr)      \
	CODE(clEnqueueFillImage, CL_INVALID_MEM_OBJECT, cl_command_queue queue, cl_mem image,      \
	     const void *fill_color, const size_t origin[3], const size_t region[3], WAITS)        \
	NONE(cl_mem, clCreateFromGLTexture, CL_INVALID_GL_OBJECT, cl_context context,              \
	     cl_mem_flags flags, cl_GLenum target, cl_GLint miplevel, cl_GLuint texture)           \
	NONE(cl_mem, clCreateFromEGLImageKHR, CL_INVALID_GL_OBJECT, cl_context context,            \
	     CLeglDisplayKHR display, CLeglImageKHR image, cl_mem_flags flags,                     \
	     const cl_egl_image_properties_khr *properties)                                        \
	CODE(clEnqueueAcquireEGLObjectsKHR, CL_INVALID_OPERATION, cl_command_queue queue,          \
	     cl_uint n_objects, const cl_mem *objects, WAITS)                                      \
	CODE(clEnqueueReleaseEGLObjectsKHR, CL_INVALID_OPERATION, cl_command_queue queue,          \
	     cl_uint n_objects, const cl_mem *objects, WAITS)                                      \
	NONE(cl_event, clCreateEventFromEGLSyncKHR, CL_INVALID_GL_OBJECT, cl_context context,      \
	     CLeglSyncKHR sync, CLeglDisplayKHR display)                                           \
	NONE(cl_mem, clCreatePipe, CL_INVALID_OPERATION, cl_context context, cl_mem_flags flags,   \
	     cl_uint packet_size, cl_uint max_packets, const cl_pipe_properties *properties)       \
	CODE(clGetPipeInfo, CL_INVALID_MEM_OBJECT, cl_mem pipe, cl_pipe_info name, size_t room,    \
	     void *value, size_t *ret_size)                                                        \
	CODE(clEnqueueSVMFree, CL_INVALID_OPERATION, cl_command_queue queue, cl_uint n_pointers,   \
	     void **pointers,                                                                      \
	     void(CL_CALLBACK * call)(cl_command_queue queue, cl_uint n_pointers, void **pointers, \
				      void *data),                                                 \
	     void *data, WAITS)                                                                    \
	CODE(clEnqueueSVMMemcpy, CL_INVALID_OPERATION, cl_command_queue queue, cl_bool blocking,   \
	     void *to, const void *from, size_t size, WAITS)                                       \
	CODE(clEnqueueSVMMemFill, CL_INVALID_OPERATION, cl_command_queue queue, void *memory,      \
	     const void *pattern, size_t pattern_size, size_t size, WAITS)                         \
	CODE(clEnqueueSVMMap, CL_INVALID_OPERATION, cl_command_queue queue, cl_bool blocking,      \
	     cl_map_flags flags, void *memory, size_t size, WAITS)                                 \
	CODE(clEnqueueSVMUnmap, CL_INVALID_OPERATION, cl_command_queue queue, void *memory, WAITS) \
	NONE(cl_sampler, clCreateSamplerWithProperties, CL_INVALID_OPERATION, cl_context context,  \
	     const cl_sampler_properties *properties)                                              \
	CODE(clSetKernelArgSVMPointer, CL_INVALID_OPERATION, cl_kernel kernel, cl_uint index,      \
	     const void *value)                                                                    \
	CODE(clSetKernelExecInfo, CL_INVALID_OPERATION, cl_kernel kernel,                          \
	     cl_kernel_exec_info name, size_t room, const void *value)                             \
	CODE(clGetKernelSubGroupInfoKHR, CL_INVALID_OPERATION, cl_kernel kernel,                   \
	     cl_device_id device, cl_kernel_sub_group_info name, size_t input_size,                \
	     const void *input, size_t room, void *value, size_t *ret_size)                        \
	NONE(cl_program, clCreateProgramWithIL, CL_INVALID_OPERATION, cl_context context,          \
	     const void *il, size_t length)                                                        \
	CODE(clEnqueueSVMMigrateMem, CL_INVALID_OPERATION, cl_command_queue queue,                 \
	     cl_uint n_pointers, const void **pointers, const size_t *sizes,                       \
	     cl_mem_migration_flags flags, WAITS)                                                  \
	CODE(clGetKernelSubGroupInfo, CL_INVALID_OPERATION, cl_kernel kernel, cl_device_id device, \
	     cl_kernel_sub_group_info name, size_t input_size, const void *input, size_t room,     \
	     void *value, size_t *ret_size)                                                        \
	CODE(clSetDefaultDeviceCommandQueue, CL_INVALID_OPERATION, cl_context context,             \
	     cl_device_id device, cl_command_queue queue)                                          \
	CODE(clSetProgramReleaseCallback, CL_INVALID_OPERATION, cl_program program,                \
	     void(CL_CALLBACK * call)(cl_program program, void *data), void *data)                 \
	CODE(clSetProgramSpecializationConstant, CL_INVALID_OPERATION, cl_program program,         \
	     cl_uint id, size_t size, const void *value)                                           \
	NONE(cl_mem, clCreateImageWithProperties, CL_INVALID_OPERATION, cl_context context,        \
	     const cl_mem_properties *properties, cl_mem_flags flags,                              \
	     const cl_image_format *format, const cl_image_desc *description, void *host_ptr)      \
	CODE(clSetContextDestructorCallback, CL_INVALID_OPERATION, cl_context context,             \
	     void(CL_CALLBACK * call)(cl_context, void *), void *data)

#define CODE(name, code, ...)                    \
	static cl_int double_##name(__VA_ARGS__) \
	{                                        \
		return code;                     \
	}
#define NONE(type, name, code, ...)                              \
	static type double_##name(__VA_ARGS__, cl_int *ret_code) \
	{                                                        \
		return result(NULL, code, ret_code);             \
	}
UNSUPPORTED(CODE, NONE)
#undef CODE
#undef NONE

static void *double_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size,
			       cl_uint alignment)
{
	return NULL;
}

static void double_clSVMFree(cl_context context, void *memory)
{
}

/* Functions of other systems, of unknown type. */
static void *unknown(void)
{
	return NULL;
}

#define ROW(name)		    .name = double_##name,
#define CODE(name, code, ...)	    ROW(name)
#define NONE(type, name, code, ...) ROW(name)
#define UNKNOWN(name)		    .name = unknown,

const cl_icd_dispatch double_dispatch = {
	/* clang-format off */
	DOUBLE_FUNCTIONS(ROW)
	UNSUPPORTED(CODE, NONE)
	ROW(clSVMAlloc)
	ROW(clSVMFree)
	UNKNOWN(clGetDeviceIDsFromD3D10KHR)
	UNKNOWN(clCreateFromD3D10BufferKHR)
	UNKNOWN(clCreateFromD3D10Texture2DKHR)
	UNKNOWN(clCreateFromD3D10Texture3DKHR)
	UNKNOWN(clEnqueueAcquireD3D10ObjectsKHR)
	UNKNOWN(clEnqueueReleaseD3D10ObjectsKHR)
	UNKNOWN(clGetDeviceIDsFromD3D11KHR)
	UNKNOWN(clCreateFromD3D11BufferKHR)
	UNKNOWN(clCreateFromD3D11Texture2DKHR)
	UNKNOWN(clCreateFromD3D11Texture3DKHR)
	UNKNOWN(clCreateFromDX9MediaSurfaceKHR)
	UNKNOWN(clEnqueueAcquireD3D11ObjectsKHR)
	UNKNOWN(clEnqueueReleaseD3D11ObjectsKHR)
	UNKNOWN(clGetDeviceIDsFromDX9MediaAdapterKHR)
	UNKNOWN(clEnqueueAcquireDX9MediaSurfacesKHR)
	UNKNOWN(clEnqueueReleaseDX9MediaSurfacesKHR)
	/* clang-format on */
};
