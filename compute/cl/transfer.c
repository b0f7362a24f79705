/* SPDX-License-Identifier: MIT */
/* Transfers of buffers, images and shared virtual memory, and commands on any memory object. */
#include <stddef.h>

#include "compute/cl/submit.h"
#include "compute/cl/target.h"

/*
 * Defines a hook of @function. @amount: the size for submit_begin(). @parameters, @arguments: those
 * that not every function has, in parentheses.
 */
#define TRANSFER(hook, function, kind, amount, parameters, arguments)                              \
	static cl_int CL_API_CALL hook(cl_command_queue queue, UNPACK parameters, cl_uint n,       \
				       const cl_event *list, cl_event *event)                      \
	{                                                                                          \
		struct submission s;                                                               \
                                                                                                   \
		submit_begin(&s, queue, submit_object(kind), amount, false, n, list, event);       \
		return submit_end(&s, target.function(queue, UNPACK arguments, n, list, s.event)); \
	}

/* The same for a function that returns the address of the mapped memory. */
#define MAP(hook, function, amount, parameters, arguments)                                         \
	static void *CL_API_CALL hook(cl_command_queue queue, UNPACK parameters, cl_uint n,        \
				      const cl_event *list, cl_event *event, cl_int *ret_err)      \
	{                                                                                          \
		struct submission s;                                                               \
		cl_int err = CL_SUCCESS;                                                           \
		void *mapped;                                                                      \
                                                                                                   \
		submit_begin(&s, queue, submit_object(SUBMIT_MAP), amount, false, n, list, event); \
		mapped = target.function(queue, UNPACK arguments, n, list, s.event, &err);         \
		(void)submit_end(&s, err);                                                         \
		if (ret_err)                                                                       \
			*ret_err = err;                                                            \
		return mapped;                                                                     \
	}

/* The same for a command that acquires or releases objects of another API. */
#define SHARE(hook, function)                             \
	TRANSFER(hook, function, SUBMIT_SHARE, n_objects, \
		 (cl_uint n_objects, const cl_mem *objects), (n_objects, objects))

TRANSFER(read_buffer, clEnqueueReadBuffer, SUBMIT_READ, size,
	 (cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void *to),
	 (buffer, blocking, offset, size, to))
TRANSFER(write_buffer, clEnqueueWriteBuffer, SUBMIT_WRITE, size,
	 (cl_mem buffer, cl_bool blocking, size_t offset, size_t size, const void *from),
	 (buffer, blocking, offset, size, from))
TRANSFER(copy_buffer, clEnqueueCopyBuffer, SUBMIT_COPY, size,
	 (cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size),
	 (from, to, from_offset, to_offset, size))
TRANSFER(read_rect, clEnqueueReadBufferRect, SUBMIT_READ, submit_volume(region),
	 (cl_mem buffer, cl_bool blocking, const size_t *origin, const size_t *host_origin,
	  const size_t *region, size_t row_pitch, size_t slice_pitch, size_t host_row_pitch,
	  size_t host_slice_pitch, void *to),
	 (buffer, blocking, origin, host_origin, region, row_pitch, slice_pitch, host_row_pitch,
	  host_slice_pitch, to))
TRANSFER(write_rect, clEnqueueWriteBufferRect, SUBMIT_WRITE, submit_volume(region),
	 (cl_mem buffer, cl_bool blocking, const size_t *origin, const size_t *host_origin,
	  const size_t *region, size_t row_pitch, size_t slice_pitch, size_t host_row_pitch,
	  size_t host_slice_pitch, const void *from),
	 (buffer, blocking, origin, host_origin, region, row_pitch, slice_pitch, host_row_pitch,
	  host_slice_pitch, from))
TRANSFER(copy_rect, clEnqueueCopyBufferRect, SUBMIT_COPY, submit_volume(region),
	 (cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
	  const size_t *region, size_t from_row_pitch, size_t from_slice_pitch, size_t to_row_pitch,
	  size_t to_slice_pitch),
	 (from, to, from_origin, to_origin, region, from_row_pitch, from_slice_pitch, to_row_pitch,
	  to_slice_pitch))
TRANSFER(fill_buffer, clEnqueueFillBuffer, SUBMIT_FILL, size,
	 (cl_mem buffer, const void *pattern, size_t pattern_size, size_t offset, size_t size),
	 (buffer, pattern, pattern_size, offset, size))
TRANSFER(unmap, clEnqueueUnmapMemObject, SUBMIT_UNMAP, 0, (cl_mem memory, void *mapped),
	 (memory, mapped))
TRANSFER(migrate, clEnqueueMigrateMemObjects, SUBMIT_MIGRATE, n_memory,
	 (cl_uint n_memory, const cl_mem *memory, cl_mem_migration_flags flags),
	 (n_memory, memory, flags))
MAP(map_buffer, clEnqueueMapBuffer, size,
    (cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset, size_t size),
    (buffer, blocking, flags, offset, size))
TRANSFER(read_image, clEnqueueReadImage, SUBMIT_READ, submit_volume(region),
	 (cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region,
	  size_t row_pitch, size_t slice_pitch, void *to),
	 (image, blocking, origin, region, row_pitch, slice_pitch, to))
TRANSFER(write_image, clEnqueueWriteImage, SUBMIT_WRITE, submit_volume(region),
	 (cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region,
	  size_t row_pitch, size_t slice_pitch, const void *from),
	 (image, blocking, origin, region, row_pitch, slice_pitch, from))
TRANSFER(copy_image, clEnqueueCopyImage, SUBMIT_COPY, submit_volume(region),
	 (cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
	  const size_t *region),
	 (from, to, from_origin, to_origin, region))
TRANSFER(copy_image_to_buffer, clEnqueueCopyImageToBuffer, SUBMIT_COPY, submit_volume(region),
	 (cl_mem from, cl_mem to, const size_t *origin, const size_t *region, size_t offset),
	 (from, to, origin, region, offset))
TRANSFER(copy_buffer_to_image, clEnqueueCopyBufferToImage, SUBMIT_COPY, submit_volume(region),
	 (cl_mem from, cl_mem to, size_t offset, const size_t *origin, const size_t *region),
	 (from, to, offset, origin, region))
TRANSFER(fill_image, clEnqueueFillImage, SUBMIT_FILL, submit_volume(region),
	 (cl_mem image, const void *color, const size_t *origin, const size_t *region),
	 (image, color, origin, region))
SHARE(acquire_gl, clEnqueueAcquireGLObjects)
SHARE(release_gl, clEnqueueReleaseGLObjects)
SHARE(acquire_egl, clEnqueueAcquireEGLObjectsKHR)
SHARE(release_egl, clEnqueueReleaseEGLObjectsKHR)
MAP(map_image, clEnqueueMapImage, submit_volume(region),
    (cl_mem image, cl_bool blocking, cl_map_flags flags, const size_t *origin, const size_t *region,
     size_t *ret_row_pitch, size_t *ret_slice_pitch),
    (image, blocking, flags, origin, region, ret_row_pitch, ret_slice_pitch))
TRANSFER(copy_svm, clEnqueueSVMMemcpy, SUBMIT_COPY, size,
	 (cl_bool blocking, void *to, const void *from, size_t size), (blocking, to, from, size))
TRANSFER(fill_svm, clEnqueueSVMMemFill, SUBMIT_FILL, size,
	 (void *memory, const void *pattern, size_t pattern_size, size_t size),
	 (memory, pattern, pattern_size, size))
TRANSFER(map_svm, clEnqueueSVMMap, SUBMIT_MAP, size,
	 (cl_bool blocking, cl_map_flags flags, void *memory, size_t size),
	 (blocking, flags, memory, size))
TRANSFER(unmap_svm, clEnqueueSVMUnmap, SUBMIT_UNMAP, 0, (void *memory), (memory))
TRANSFER(migrate_svm, clEnqueueSVMMigrateMem, SUBMIT_MIGRATE, n_memory,
	 (cl_uint n_memory, const void **memory, const size_t *sizes, cl_mem_migration_flags flags),
	 (n_memory, memory, sizes, flags))

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
