/* SPDX-License-Identifier: MIT */
/*
 * The functions that this device does not support: images, samplers, pipes, shared virtual memory,
 * native kernels, programs in an intermediate language, and objects of graphics interfaces. Each
 * returns the error of the specification for such a device.
 */
#include "tests/double/api.h"

/* An error code. */
#define CODE(name, code, ...)             \
	cl_int double_##name(__VA_ARGS__) \
	{                                 \
		return code;              \
	}

/* No object, and an error code in the last parameter. */
#define NONE(type, name, code, ...)                       \
	type double_##name(__VA_ARGS__, cl_int *ret_code) \
	{                                                 \
		return result(NULL, code, ret_code);      \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"

NONE(cl_mem, clCreateImage2D, CL_INVALID_OPERATION, cl_context context, cl_mem_flags flags,
     const cl_image_format *image_format, size_t image_width, size_t image_height,
     size_t image_row_pitch, void *host_ptr)
NONE(cl_mem, clCreateImage3D, CL_INVALID_OPERATION, cl_context context, cl_mem_flags flags,
     const cl_image_format *image_format, size_t image_width, size_t image_height,
     size_t image_depth, size_t image_row_pitch, size_t image_slice_pitch, void *host_ptr)
CODE(clGetImageInfo, CL_INVALID_MEM_OBJECT, cl_mem image, cl_image_info param_name,
     size_t param_value_size, void *param_value, size_t *param_value_size_ret)
NONE(cl_sampler, clCreateSampler, CL_INVALID_OPERATION, cl_context context,
     cl_bool normalized_coords, cl_addressing_mode addressing_mode, cl_filter_mode filter_mode)
CODE(clRetainSampler, CL_INVALID_SAMPLER, cl_sampler sampler)
CODE(clReleaseSampler, CL_INVALID_SAMPLER, cl_sampler sampler)
CODE(clGetSamplerInfo, CL_INVALID_SAMPLER, cl_sampler sampler, cl_sampler_info param_name,
     size_t param_value_size, void *param_value, size_t *param_value_size_ret)
CODE(clEnqueueReadImage, CL_INVALID_MEM_OBJECT, cl_command_queue command_queue, cl_mem image,
     cl_bool blocking_read, const size_t *origin, const size_t *region, size_t row_pitch,
     size_t slice_pitch, void *ptr, cl_uint num_events_in_wait_list,
     const cl_event *event_wait_list, cl_event *event)
CODE(clEnqueueWriteImage, CL_INVALID_MEM_OBJECT, cl_command_queue command_queue, cl_mem image,
     cl_bool blocking_write, const size_t *origin, const size_t *region, size_t input_row_pitch,
     size_t input_slice_pitch, const void *ptr, cl_uint num_events_in_wait_list,
     const cl_event *event_wait_list, cl_event *event)
CODE(clEnqueueCopyImage, CL_INVALID_MEM_OBJECT, cl_command_queue command_queue, cl_mem src_image,
     cl_mem dst_image, const size_t *src_origin, const size_t *dst_origin, const size_t *region,
     cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
CODE(clEnqueueCopyImageToBuffer, CL_INVALID_MEM_OBJECT, cl_command_queue command_queue,
     cl_mem src_image, cl_mem dst_buffer, const size_t *src_origin, const size_t *region,
     size_t dst_offset, cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
     cl_event *event)
CODE(clEnqueueCopyBufferToImage, CL_INVALID_MEM_OBJECT, cl_command_queue command_queue,
     cl_mem src_buffer, cl_mem dst_image, size_t src_offset, const size_t *dst_origin,
     const size_t *region, cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
     cl_event *event)
NONE(void *, clEnqueueMapImage, CL_INVALID_MEM_OBJECT, cl_command_queue command_queue, cl_mem image,
     cl_bool blocking_map, cl_map_flags map_flags, const size_t *origin, const size_t *region,
     size_t *image_row_pitch, size_t *image_slice_pitch, cl_uint num_events_in_wait_list,
     const cl_event *event_wait_list, cl_event *event)
CODE(clEnqueueNativeKernel, CL_INVALID_OPERATION, cl_command_queue command_queue,
     void(CL_CALLBACK *user_func)(void *), void *args, size_t cb_args, cl_uint num_mem_objects,
     const cl_mem *mem_list, const void **args_mem_loc, cl_uint num_events_in_wait_list,
     const cl_event *event_wait_list, cl_event *event)
NONE(cl_mem, clCreateFromGLBuffer, CL_INVALID_GL_OBJECT, cl_context context, cl_mem_flags flags,
     cl_GLuint bufobj)
NONE(cl_mem, clCreateFromGLTexture2D, CL_INVALID_GL_OBJECT, cl_context context, cl_mem_flags flags,
     cl_GLenum target, cl_GLint miplevel, cl_GLuint texture)
NONE(cl_mem, clCreateFromGLTexture3D, CL_INVALID_GL_OBJECT, cl_context context, cl_mem_flags flags,
     cl_GLenum target, cl_GLint miplevel, cl_GLuint texture)
NONE(cl_mem, clCreateFromGLRenderbuffer, CL_INVALID_GL_OBJECT, cl_context context,
     cl_mem_flags flags, cl_GLuint renderbuffer)
CODE(clGetGLObjectInfo, CL_INVALID_GL_OBJECT, cl_mem memobj, cl_gl_object_type *gl_object_type,
     cl_GLuint *gl_object_name)
CODE(clGetGLTextureInfo, CL_INVALID_GL_OBJECT, cl_mem memobj, cl_gl_texture_info param_name,
     size_t param_value_size, void *param_value, size_t *param_value_size_ret)
CODE(clEnqueueAcquireGLObjects, CL_INVALID_OPERATION, cl_command_queue command_queue,
     cl_uint num_objects, const cl_mem *mem_objects, cl_uint num_events_in_wait_list,
     const cl_event *event_wait_list, cl_event *event)
CODE(clEnqueueReleaseGLObjects, CL_INVALID_OPERATION, cl_command_queue command_queue,
     cl_uint num_objects, const cl_mem *mem_objects, cl_uint num_events_in_wait_list,
     const cl_event *event_wait_list, cl_event *event)
CODE(clGetGLContextInfoKHR, CL_INVALID_GL_OBJECT, const cl_context_properties *properties,
     cl_gl_context_info param_name, size_t param_value_size, void *param_value,
     size_t *param_value_size_ret)
CODE(clCreateSubDevicesEXT, CL_INVALID_OPERATION, cl_device_id in_device,
     const cl_device_partition_property_ext *partition_properties, cl_uint num_entries,
     cl_device_id *out_devices, cl_uint *num_devices)
CODE(clRetainDeviceEXT, CL_SUCCESS, cl_device_id device)
CODE(clReleaseDeviceEXT, CL_SUCCESS, cl_device_id device)
NONE(cl_event, clCreateEventFromGLsyncKHR, CL_INVALID_GL_OBJECT, cl_context context, cl_GLsync sync)
NONE(cl_mem, clCreateImage, CL_INVALID_OPERATION, cl_context context, cl_mem_flags flags,
     const cl_image_format *image_format, const cl_image_desc *image_desc, void *host_ptr)
CODE(clEnqueueFillImage, CL_INVALID_MEM_OBJECT, cl_command_queue command_queue, cl_mem image,
     const void *fill_color, const size_t origin[3], const size_t region[3],
     cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
NONE(cl_mem, clCreateFromGLTexture, CL_INVALID_GL_OBJECT, cl_context context, cl_mem_flags flags,
     cl_GLenum target, cl_GLint miplevel, cl_GLuint texture)
NONE(cl_mem, clCreateFromEGLImageKHR, CL_INVALID_GL_OBJECT, cl_context context,
     CLeglDisplayKHR display, CLeglImageKHR image, cl_mem_flags flags,
     const cl_egl_image_properties_khr *properties)
CODE(clEnqueueAcquireEGLObjectsKHR, CL_INVALID_OPERATION, cl_command_queue command_queue,
     cl_uint num_objects, const cl_mem *mem_objects, cl_uint num_events_in_wait_list,
     const cl_event *event_wait_list, cl_event *event)
CODE(clEnqueueReleaseEGLObjectsKHR, CL_INVALID_OPERATION, cl_command_queue command_queue,
     cl_uint num_objects, const cl_mem *mem_objects, cl_uint num_events_in_wait_list,
     const cl_event *event_wait_list, cl_event *event)
NONE(cl_event, clCreateEventFromEGLSyncKHR, CL_INVALID_GL_OBJECT, cl_context context,
     CLeglSyncKHR sync, CLeglDisplayKHR display)
NONE(cl_mem, clCreatePipe, CL_INVALID_OPERATION, cl_context context, cl_mem_flags flags,
     cl_uint pipe_packet_size, cl_uint pipe_max_packets, const cl_pipe_properties *properties)
CODE(clGetPipeInfo, CL_INVALID_MEM_OBJECT, cl_mem pipe, cl_pipe_info param_name,
     size_t param_value_size, void *param_value, size_t *param_value_size_ret)

void *double_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size,
			unsigned int alignment)
{
	return NULL;
}

void double_clSVMFree(cl_context context, void *svm_pointer)
{
}

CODE(clEnqueueSVMFree, CL_INVALID_OPERATION, cl_command_queue command_queue,
     cl_uint num_svm_pointers, void **svm_pointers,
     void(CL_CALLBACK *pfn_free_func)(cl_command_queue queue, cl_uint num_svm_pointers,
				      void ** /* svm_pointers[] */, void *user_data),
     void *user_data, cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
     cl_event *event)
CODE(clEnqueueSVMMemcpy, CL_INVALID_OPERATION, cl_command_queue command_queue,
     cl_bool blocking_copy, void *dst_ptr, const void *src_ptr, size_t size,
     cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
CODE(clEnqueueSVMMemFill, CL_INVALID_OPERATION, cl_command_queue command_queue, void *svm_ptr,
     const void *pattern, size_t pattern_size, size_t size, cl_uint num_events_in_wait_list,
     const cl_event *event_wait_list, cl_event *event)
CODE(clEnqueueSVMMap, CL_INVALID_OPERATION, cl_command_queue command_queue, cl_bool blocking_map,
     cl_map_flags map_flags, void *svm_ptr, size_t size, cl_uint num_events_in_wait_list,
     const cl_event *event_wait_list, cl_event *event)
CODE(clEnqueueSVMUnmap, CL_INVALID_OPERATION, cl_command_queue command_queue, void *svm_ptr,
     cl_uint num_events_in_wait_list, const cl_event *event_wait_list, cl_event *event)
NONE(cl_sampler, clCreateSamplerWithProperties, CL_INVALID_OPERATION, cl_context context,
     const cl_sampler_properties *sampler_properties)
CODE(clSetKernelArgSVMPointer, CL_INVALID_OPERATION, cl_kernel kernel, cl_uint arg_index,
     const void *arg_value)
CODE(clSetKernelExecInfo, CL_INVALID_OPERATION, cl_kernel kernel, cl_kernel_exec_info param_name,
     size_t param_value_size, const void *param_value)
CODE(clGetKernelSubGroupInfoKHR, CL_INVALID_OPERATION, cl_kernel in_kernel, cl_device_id in_device,
     cl_kernel_sub_group_info param_name, size_t input_value_size, const void *input_value,
     size_t param_value_size, void *param_value, size_t *param_value_size_ret)
NONE(cl_program, clCreateProgramWithIL, CL_INVALID_OPERATION, cl_context context, const void *il,
     size_t length)
CODE(clEnqueueSVMMigrateMem, CL_INVALID_OPERATION, cl_command_queue command_queue,
     cl_uint num_svm_pointers, const void **svm_pointers, const size_t *sizes,
     cl_mem_migration_flags flags, cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
     cl_event *event)
CODE(clGetKernelSubGroupInfo, CL_INVALID_OPERATION, cl_kernel kernel, cl_device_id device,
     cl_kernel_sub_group_info param_name, size_t input_value_size, const void *input_value,
     size_t param_value_size, void *param_value, size_t *param_value_size_ret)
CODE(clSetDefaultDeviceCommandQueue, CL_INVALID_OPERATION, cl_context context, cl_device_id device,
     cl_command_queue command_queue)
CODE(clSetProgramReleaseCallback, CL_INVALID_OPERATION, cl_program program,
     void(CL_CALLBACK *pfn_notify)(cl_program program, void *user_data), void *user_data)
CODE(clSetProgramSpecializationConstant, CL_INVALID_OPERATION, cl_program program, cl_uint spec_id,
     size_t spec_size, const void *spec_value)
NONE(cl_mem, clCreateImageWithProperties, CL_INVALID_OPERATION, cl_context context,
     const cl_mem_properties *properties, cl_mem_flags flags, const cl_image_format *image_format,
     const cl_image_desc *image_desc, void *host_ptr)
CODE(clSetContextDestructorCallback, CL_INVALID_OPERATION, cl_context context,
     void(CL_CALLBACK *call)(cl_context, void *), void *data)

void *double_unsupported(void)
{
	return NULL;
}
