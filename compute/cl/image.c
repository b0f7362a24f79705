/* SPDX-License-Identifier: MIT */
/* Transfers of images, and objects that are shared with OpenGL and EGL. */
#include <stddef.h>

#include "compute/cl/submit.h"
#include "compute/cl/target.h"

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

/* Defines a hook of a command that acquires or releases objects of another API. */
#define SHARE(hook, function)                                                                  \
	static cl_int CL_API_CALL hook(cl_command_queue queue, cl_uint n_objects,              \
				       const cl_mem *objects, cl_uint n, const cl_event *list, \
				       cl_event *event)                                        \
	{                                                                                      \
		SUBMIT_TRANSFER(SUBMIT_SHARE, queue, n_objects, n, list, event,                \
				target.function(queue, n_objects, objects, n, list, event));   \
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

void image_install(cl_icd_dispatch *table)
{
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
}
