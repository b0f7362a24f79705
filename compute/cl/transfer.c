/* SPDX-License-Identifier: MIT */
/* Transfers of buffers, and commands on any memory object. */
#include <stddef.h>

#include "compute/cl/submit.h"
#include "compute/cl/target.h"

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
}
