/* SPDX-License-Identifier: MIT */
/* Transfers of buffers, images and shared virtual memory, and commands on any memory object. */
#include <stddef.h>

#include "compute/cl/submit.h"
#include "compute/cl/target.h"

/* Defines a hook of a command that acquires or releases objects of another API. */
#define SHARE(hook, function)                                                                  \
	static cl_int CL_API_CALL hook(cl_command_queue queue, cl_uint n_objects,              \
				       const cl_mem *objects, cl_uint n, const cl_event *list, \
				       cl_event *event)                                        \
	{                                                                                      \
		SUBMIT_TRANSFER(SUBMIT_SHARE, queue, n_objects, n, list, event,                \
				target.function(queue, n_objects, objects, n, list, event));   \
	}

static cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
				      size_t offset, size_t size, void *to, cl_uint n,
				      const cl_event *list, cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_READ, queue, size, n, list, event,
			target.clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, n,
						   list, event));
}

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
				       size_t offset, size_t size, const void *from, cl_uint n,
				       const cl_event *list, cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_WRITE, queue, size, n, list, event,
			target.clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, from, n,
						    list, event));
}

static cl_int CL_API_CALL copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to,
				      size_t from_offset, size_t to_offset, size_t size, cl_uint n,
				      const cl_event *list, cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_COPY, queue, size, n, list, event,
			target.clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, size, n,
						   list, event));
}

static cl_int CL_API_CALL read_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
				    const size_t *origin, const size_t *host_origin,
				    const size_t *region, size_t row_pitch, size_t slice_pitch,
				    size_t host_row_pitch, size_t host_slice_pitch, void *to,
				    cl_uint n, const cl_event *list, cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_READ, queue, submit_volume(region), n, list, event,
			target.clEnqueueReadBufferRect(
				queue, buffer, blocking, origin, host_origin, region, row_pitch,
				slice_pitch, host_row_pitch, host_slice_pitch, to, n, list, event));
}

static cl_int CL_API_CALL write_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
				     const size_t *origin, const size_t *host_origin,
				     const size_t *region, size_t row_pitch, size_t slice_pitch,
				     size_t host_row_pitch, size_t host_slice_pitch,
				     const void *from, cl_uint n, const cl_event *list,
				     cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_WRITE, queue, submit_volume(region), n, list, event,
			target.clEnqueueWriteBufferRect(queue, buffer, blocking, origin,
							host_origin, region, row_pitch, slice_pitch,
							host_row_pitch, host_slice_pitch, from, n,
							list, event));
}

static cl_int CL_API_CALL copy_rect(cl_command_queue queue, cl_mem from, cl_mem to,
				    const size_t *from_origin, const size_t *to_origin,
				    const size_t *region, size_t from_row_pitch,
				    size_t from_slice_pitch, size_t to_row_pitch,
				    size_t to_slice_pitch, cl_uint n, const cl_event *list,
				    cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_COPY, queue, submit_volume(region), n, list, event,
			target.clEnqueueCopyBufferRect(
				queue, from, to, from_origin, to_origin, region, from_row_pitch,
				from_slice_pitch, to_row_pitch, to_slice_pitch, n, list, event));
}

static cl_int CL_API_CALL fill_buffer(cl_command_queue queue, cl_mem buffer, const void *pattern,
				      size_t pattern_size, size_t offset, size_t size, cl_uint n,
				      const cl_event *list, cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_FILL, queue, size, n, list, event,
			target.clEnqueueFillBuffer(queue, buffer, pattern, pattern_size, offset,
						   size, n, list, event));
}

static cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem memory, void *mapped, cl_uint n,
				const cl_event *list, cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_UNMAP, queue, 0, n, list, event,
			target.clEnqueueUnmapMemObject(queue, memory, mapped, n, list, event));
}

static cl_int CL_API_CALL migrate(cl_command_queue queue, cl_uint n_memory, const cl_mem *memory,
				  cl_mem_migration_flags flags, cl_uint n, const cl_event *list,
				  cl_event *event)
{
	SUBMIT_TRANSFER(
		SUBMIT_MIGRATE, queue, n_memory, n, list, event,
		target.clEnqueueMigrateMemObjects(queue, n_memory, memory, flags, n, list, event));
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
				    cl_map_flags flags, size_t offset, size_t size, cl_uint n,
				    const cl_event *list, cl_event *event, cl_int *ret_err)
{
	struct submission s;
	cl_int err = CL_SUCCESS;
	void *mapped;

	if (!submit_begin(&s, queue, submit_object(SUBMIT_MAP), size, false, n, list, event))
		return target.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, n,
						 list, event, ret_err);
	mapped = target.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, n, list,
					   s.event, &err);
	(void)submit_end(&s, err);
	if (ret_err)
		*ret_err = err;
	return mapped;
}

static cl_int CL_API_CALL read_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
				     const size_t *origin, const size_t *region, size_t row_pitch,
				     size_t slice_pitch, void *to, cl_uint n, const cl_event *list,
				     cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_READ, queue, submit_volume(region), n, list, event,
			target.clEnqueueReadImage(queue, image, blocking, origin, region, row_pitch,
						  slice_pitch, to, n, list, event));
}

static cl_int CL_API_CALL write_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
				      const size_t *origin, const size_t *region, size_t row_pitch,
				      size_t slice_pitch, const void *from, cl_uint n,
				      const cl_event *list, cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_WRITE, queue, submit_volume(region), n, list, event,
			target.clEnqueueWriteImage(queue, image, blocking, origin, region,
						   row_pitch, slice_pitch, from, n, list, event));
}

static cl_int CL_API_CALL copy_image(cl_command_queue queue, cl_mem from, cl_mem to,
				     const size_t *from_origin, const size_t *to_origin,
				     const size_t *region, cl_uint n, const cl_event *list,
				     cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_COPY, queue, submit_volume(region), n, list, event,
			target.clEnqueueCopyImage(queue, from, to, from_origin, to_origin, region,
						  n, list, event));
}

static cl_int CL_API_CALL copy_image_to_buffer(cl_command_queue queue, cl_mem from, cl_mem to,
					       const size_t *origin, const size_t *region,
					       size_t offset, cl_uint n, const cl_event *list,
					       cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_COPY, queue, submit_volume(region), n, list, event,
			target.clEnqueueCopyImageToBuffer(queue, from, to, origin, region, offset,
							  n, list, event));
}

static cl_int CL_API_CALL copy_buffer_to_image(cl_command_queue queue, cl_mem from, cl_mem to,
					       size_t offset, const size_t *origin,
					       const size_t *region, cl_uint n,
					       const cl_event *list, cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_COPY, queue, submit_volume(region), n, list, event,
			target.clEnqueueCopyBufferToImage(queue, from, to, offset, origin, region,
							  n, list, event));
}

static cl_int CL_API_CALL fill_image(cl_command_queue queue, cl_mem image, const void *color,
				     const size_t *origin, const size_t *region, cl_uint n,
				     const cl_event *list, cl_event *event)
{
	SUBMIT_TRANSFER(
		SUBMIT_FILL, queue, submit_volume(region), n, list, event,
		target.clEnqueueFillImage(queue, image, color, origin, region, n, list, event));
}

SHARE(acquire_gl, clEnqueueAcquireGLObjects)
SHARE(release_gl, clEnqueueReleaseGLObjects)
SHARE(acquire_egl, clEnqueueAcquireEGLObjectsKHR)
SHARE(release_egl, clEnqueueReleaseEGLObjectsKHR)

static void *CL_API_CALL map_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
				   cl_map_flags flags, const size_t *origin, const size_t *region,
				   size_t *ret_row_pitch, size_t *ret_slice_pitch, cl_uint n,
				   const cl_event *list, cl_event *event, cl_int *ret_err)
{
	struct submission s;
	cl_int err = CL_SUCCESS;
	void *mapped;

	if (!submit_begin(&s, queue, submit_object(SUBMIT_MAP), submit_volume(region), false, n,
			  list, event))
		return target.clEnqueueMapImage(queue, image, blocking, flags, origin, region,
						ret_row_pitch, ret_slice_pitch, n, list, event,
						ret_err);
	mapped = target.clEnqueueMapImage(queue, image, blocking, flags, origin, region,
					  ret_row_pitch, ret_slice_pitch, n, list, s.event, &err);
	(void)submit_end(&s, err);
	if (ret_err)
		*ret_err = err;
	return mapped;
}

static cl_int CL_API_CALL copy_svm(cl_command_queue queue, cl_bool blocking, void *to,
				   const void *from, size_t size, cl_uint n, const cl_event *list,
				   cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_COPY, queue, size, n, list, event,
			target.clEnqueueSVMMemcpy(queue, blocking, to, from, size, n, list, event));
}

static cl_int CL_API_CALL fill_svm(cl_command_queue queue, void *memory, const void *pattern,
				   size_t pattern_size, size_t size, cl_uint n,
				   const cl_event *list, cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_FILL, queue, size, n, list, event,
			target.clEnqueueSVMMemFill(queue, memory, pattern, pattern_size, size, n,
						   list, event));
}

static cl_int CL_API_CALL map_svm(cl_command_queue queue, cl_bool blocking, cl_map_flags flags,
				  void *memory, size_t size, cl_uint n, const cl_event *list,
				  cl_event *event)
{
	SUBMIT_TRANSFER(
		SUBMIT_MAP, queue, size, n, list, event,
		target.clEnqueueSVMMap(queue, blocking, flags, memory, size, n, list, event));
}

static cl_int CL_API_CALL unmap_svm(cl_command_queue queue, void *memory, cl_uint n,
				    const cl_event *list, cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_UNMAP, queue, 0, n, list, event,
			target.clEnqueueSVMUnmap(queue, memory, n, list, event));
}

static cl_int CL_API_CALL migrate_svm(cl_command_queue queue, cl_uint n_memory, const void **memory,
				      const size_t *sizes, cl_mem_migration_flags flags, cl_uint n,
				      const cl_event *list, cl_event *event)
{
	SUBMIT_TRANSFER(SUBMIT_MIGRATE, queue, n_memory, n, list, event,
			target.clEnqueueSVMMigrateMem(queue, n_memory, memory, sizes, flags, n,
						      list, event));
}

void transfer_install(cl_icd_dispatch *table)
{
	INSTALL(table, clEnqueueReadBuffer, read_buffer);
	INSTALL(table, clEnqueueWriteBuffer, write_buffer);
	INSTALL(table, clEnqueueCopyBuffer, copy_buffer);
	INSTALL(table, clEnqueueReadBufferRect, read_rect);
	INSTALL(table, clEnqueueWriteBufferRect, write_rect);
	INSTALL(table, clEnqueueCopyBufferRect, copy_rect);
	INSTALL(table, clEnqueueFillBuffer, fill_buffer);
	INSTALL(table, clEnqueueUnmapMemObject, unmap);
	INSTALL(table, clEnqueueMigrateMemObjects, migrate);
	INSTALL(table, clEnqueueMapBuffer, map_buffer);
	INSTALL(table, clEnqueueReadImage, read_image);
	INSTALL(table, clEnqueueWriteImage, write_image);
	INSTALL(table, clEnqueueCopyImage, copy_image);
	INSTALL(table, clEnqueueCopyImageToBuffer, copy_image_to_buffer);
	INSTALL(table, clEnqueueCopyBufferToImage, copy_buffer_to_image);
	INSTALL(table, clEnqueueFillImage, fill_image);
	INSTALL(table, clEnqueueAcquireGLObjects, acquire_gl);
	INSTALL(table, clEnqueueReleaseGLObjects, release_gl);
	INSTALL(table, clEnqueueAcquireEGLObjectsKHR, acquire_egl);
	INSTALL(table, clEnqueueReleaseEGLObjectsKHR, release_egl);
	INSTALL(table, clEnqueueMapImage, map_image);
	INSTALL(table, clEnqueueSVMMemcpy, copy_svm);
	INSTALL(table, clEnqueueSVMMemFill, fill_svm);
	INSTALL(table, clEnqueueSVMMap, map_svm);
	INSTALL(table, clEnqueueSVMUnmap, unmap_svm);
	INSTALL(table, clEnqueueSVMMigrateMem, migrate_svm);
}
