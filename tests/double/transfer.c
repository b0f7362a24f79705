/* SPDX-License-Identifier: MIT */
/* Enqueue calls that move bytes or order commands. They take no time on the device. */
#include <string.h>

#include "tests/double/api.h"
#include "tests/double/engine.h"

/* Flags of buffers that the host may not read or write. */
#define HOST_READS  (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS)
#define HOST_WRITES (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)

static cl_int check_mem(cl_command_queue queue, cl_mem mem)
{
	if (!object_is(queue, OBJECT_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (!object_is(mem, OBJECT_MEM))
		return CL_INVALID_MEM_OBJECT;
	return mem->context == queue->context ? CL_SUCCESS : CL_INVALID_CONTEXT;
}

/* Checks @size bytes from @offset of @mem, to which the host has no access with @forbidden. */
static cl_int check_bytes(cl_command_queue queue, cl_mem mem, size_t offset, size_t size,
			  cl_mem_flags forbidden)
{
	cl_int code = check_mem(queue, mem);

	if (code != CL_SUCCESS)
		return code;
	if (size == 0 || offset > mem->size || size > mem->size - offset)
		return CL_INVALID_VALUE;
	return mem->flags & forbidden ? CL_INVALID_OPERATION : CL_SUCCESS;
}

static struct work linear(cl_mem mem, void *to, const void *from, size_t size)
{
	return (struct work){
		.kind = WORK_COPY,
		.mems = {mem},
		.rect = {.to = to, .from = from, .region = {size, 1, 1}},
	};
}

/* Copies from @mem to the host at @to, or to @mem from the host at @from. The other one is NULL. */
static cl_int enqueue_bytes(cl_command_queue queue, cl_command_type type, cl_mem mem, size_t offset,
			    size_t size, void *to, const void *from, const struct order *order)
{
	cl_int code = check_bytes(queue, mem, offset, size,
				  type == CL_COMMAND_READ_BUFFER ? HOST_READS : HOST_WRITES);
	struct work work;

	if (code == CL_SUCCESS && !to && !from)
		code = CL_INVALID_VALUE;
	if (code != CL_SUCCESS)
		return code;
	work = linear(mem, to ? to : mem->data + offset, from ? from : mem->data + offset, size);
	return engine_enqueue(queue, type, &work, order);
}

cl_int double_clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool is_blocking,
				  size_t offset, size_t size, void *host, cl_uint n,
				  const cl_event *waits, cl_event *ret_event)
{
	struct order order = {is_blocking, n, waits, ret_event};

	return enqueue_bytes(queue, CL_COMMAND_READ_BUFFER, mem, offset, size, host, NULL, &order);
}

cl_int double_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool is_blocking,
				   size_t offset, size_t size, const void *host, cl_uint n,
				   const cl_event *waits, cl_event *ret_event)
{
	struct order order = {is_blocking, n, waits, ret_event};

	return enqueue_bytes(queue, CL_COMMAND_WRITE_BUFFER, mem, offset, size, NULL, host, &order);
}

cl_int double_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
				  size_t from_offset, size_t to_offset, size_t size, cl_uint n,
				  const cl_event *waits, cl_event *ret_event)
{
	struct order order = {CL_FALSE, n, waits, ret_event};
	cl_int code = check_bytes(queue, from, from_offset, size, 0);
	struct work work;

	if (code == CL_SUCCESS)
		code = check_bytes(queue, to, to_offset, size, 0);
	if (code != CL_SUCCESS)
		return code;
	work = linear(from, to->data + to_offset, from->data + from_offset, size);
	work.mems[1] = to;
	/* Sub-buffers of one buffer overlap in its bytes. */
	if (work.rect.from < work.rect.to + size && work.rect.to < work.rect.from + size)
		return CL_MEM_COPY_OVERLAP;
	return engine_enqueue(queue, CL_COMMAND_COPY_BUFFER, &work, &order);
}

/* One side of a copy of a rectangle, as the application gives it. */
struct side {
	const size_t *origin;
	size_t row, slice; /* 0: packed */
};

/* Fills in the pitches of @side, and returns the offsets of its first byte and of its end. */
static cl_int check_side(struct side *side, const size_t region[3], size_t *ret_first,
			 size_t *ret_end)
{
	size_t first, end, part;

	if (side->row == 0)
		side->row = region[0];
	if (side->row < region[0])
		return CL_INVALID_VALUE;
	if (side->slice == 0 && __builtin_mul_overflow(side->row, region[1], &side->slice))
		return CL_INVALID_VALUE;
	if (__builtin_mul_overflow(side->row, region[1], &part) || side->slice < part ||
	    side->slice % side->row != 0)
		return CL_INVALID_VALUE;
	if (__builtin_mul_overflow(side->origin[2], side->slice, &first) ||
	    __builtin_mul_overflow(side->origin[1], side->row, &part) ||
	    __builtin_add_overflow(first, part, &first) ||
	    __builtin_add_overflow(first, side->origin[0], &first) ||
	    __builtin_mul_overflow(region[2] - 1, side->slice, &part) ||
	    __builtin_add_overflow(first, part, &end) ||
	    __builtin_mul_overflow(region[1] - 1, side->row, &part) ||
	    __builtin_add_overflow(end, part, &end) || __builtin_add_overflow(end, region[0], &end))
		return CL_INVALID_VALUE;
	*ret_first = first;
	*ret_end = end;
	return CL_SUCCESS;
}

/*
 * Makes a copy of a rectangle. NULL for @to_mem or @from_mem is the host, with the address in
 * rect.to or rect.from.
 */
static cl_int make_rect(cl_mem to_mem, struct side to, cl_mem from_mem, struct side from,
			const size_t *region, struct work *work)
{
	struct rect *rect = &work->rect;
	size_t to_first, to_end, from_first, from_end;
	cl_int code;

	if (!region || !to.origin || !from.origin || region[0] == 0 || region[1] == 0 ||
	    region[2] == 0)
		return CL_INVALID_VALUE;
	code = check_side(&to, region, &to_first, &to_end);
	if (code == CL_SUCCESS)
		code = check_side(&from, region, &from_first, &from_end);
	if (code != CL_SUCCESS)
		return code;
	if ((to_mem && to_end > to_mem->size) || (from_mem && from_end > from_mem->size))
		return CL_INVALID_VALUE;
	memcpy(rect->region, region, sizeof(rect->region));
	rect->to = (to_mem ? to_mem->data : rect->to) + to_first;
	rect->from = (from_mem ? from_mem->data : rect->from) + from_first;
	rect->to_row = to.row;
	rect->to_slice = to.slice;
	rect->from_row = from.row;
	rect->from_slice = from.slice;
	work->mems[0] = to_mem;
	work->mems[1] = from_mem;
	return CL_SUCCESS;
}

cl_int double_clEnqueueReadBufferRect(cl_command_queue queue, cl_mem mem, cl_bool is_blocking,
				      const size_t *origin, const size_t *host_origin,
				      const size_t *region, size_t row, size_t slice,
				      size_t host_row, size_t host_slice, void *host, cl_uint n,
				      const cl_event *waits, cl_event *ret_event)
{
	struct order order = {is_blocking, n, waits, ret_event};
	struct work work = {.kind = WORK_COPY, .rect = {.to = host}};
	cl_int code = check_mem(queue, mem);

	if (code == CL_SUCCESS && (mem->flags & HOST_READS))
		code = CL_INVALID_OPERATION;
	if (code == CL_SUCCESS)
		code = host ? make_rect(NULL, (struct side){host_origin, host_row, host_slice}, mem,
					(struct side){origin, row, slice}, region, &work)
			    : CL_INVALID_VALUE;
	if (code != CL_SUCCESS)
		return code;
	return engine_enqueue(queue, CL_COMMAND_READ_BUFFER_RECT, &work, &order);
}

cl_int double_clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem mem, cl_bool is_blocking,
				       const size_t *origin, const size_t *host_origin,
				       const size_t *region, size_t row, size_t slice,
				       size_t host_row, size_t host_slice, const void *host,
				       cl_uint n, const cl_event *waits, cl_event *ret_event)
{
	struct order order = {is_blocking, n, waits, ret_event};
	struct work work = {.kind = WORK_COPY, .rect = {.from = host}};
	cl_int code = check_mem(queue, mem);

	if (code == CL_SUCCESS && (mem->flags & HOST_WRITES))
		code = CL_INVALID_OPERATION;
	if (code == CL_SUCCESS)
		code = host ? make_rect(mem, (struct side){origin, row, slice}, NULL,
					(struct side){host_origin, host_row, host_slice}, region,
					&work)
			    : CL_INVALID_VALUE;
	if (code != CL_SUCCESS)
		return code;
	return engine_enqueue(queue, CL_COMMAND_WRITE_BUFFER_RECT, &work, &order);
}

cl_int double_clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem from, cl_mem to,
				      const size_t *from_origin, const size_t *to_origin,
				      const size_t *region, size_t from_row, size_t from_slice,
				      size_t to_row, size_t to_slice, cl_uint n,
				      const cl_event *waits, cl_event *ret_event)
{
	struct order order = {CL_FALSE, n, waits, ret_event};
	struct work work = {.kind = WORK_COPY};
	cl_int code = check_mem(queue, from);

	if (code == CL_SUCCESS)
		code = check_mem(queue, to);
	if (code == CL_SUCCESS)
		code = make_rect(to, (struct side){to_origin, to_row, to_slice}, from,
				 (struct side){from_origin, from_row, from_slice}, region, &work);
	if (code != CL_SUCCESS)
		return code;
	return engine_enqueue(queue, CL_COMMAND_COPY_BUFFER_RECT, &work, &order);
}

cl_int double_clEnqueueFillBuffer(cl_command_queue queue, cl_mem mem, const void *pattern,
				  size_t pattern_size, size_t offset, size_t size, cl_uint n,
				  const cl_event *waits, cl_event *ret_event)
{
	struct order order = {CL_FALSE, n, waits, ret_event};
	struct work work = {.kind = WORK_FILL, .mems = {mem}};
	cl_int code = check_mem(queue, mem);

	if (code != CL_SUCCESS)
		return code;
	if (!pattern || pattern_size == 0 || pattern_size > sizeof(work.fill.pattern) ||
	    (pattern_size & (pattern_size - 1)) != 0 || offset % pattern_size != 0 ||
	    size % pattern_size != 0 || offset > mem->size || size > mem->size - offset)
		return CL_INVALID_VALUE;
	work.fill.to = mem->data + offset;
	work.fill.size = size;
	work.fill.pattern_size = pattern_size;
	memcpy(work.fill.pattern, pattern, pattern_size);
	return engine_enqueue(queue, CL_COMMAND_FILL_BUFFER, &work, &order);
}

/* The bytes of a buffer are in host memory, so only the order of a map has an effect. */
void *double_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool is_blocking,
				cl_map_flags flags, size_t offset, size_t size, cl_uint n,
				const cl_event *waits, cl_event *ret_event, cl_int *ret_code)
{
	struct order order = {is_blocking, n, waits, ret_event};
	struct work work = {.kind = WORK_NOTHING, .mems = {mem}};
	cl_int code = check_bytes(queue, mem, offset, size, 0);

	if (code == CL_SUCCESS &&
	    ((flags &
	      ~(cl_map_flags)(CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) != 0 ||
	     ((flags & CL_MAP_WRITE_INVALIDATE_REGION) && (flags & (CL_MAP_READ | CL_MAP_WRITE)))))
		code = CL_INVALID_VALUE;
	if (code == CL_SUCCESS && (((flags & CL_MAP_READ) && (mem->flags & HOST_READS)) ||
				   ((flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) &&
				    (mem->flags & HOST_WRITES))))
		code = CL_INVALID_OPERATION;
	if (code != CL_SUCCESS)
		return result(NULL, code, ret_code);
	atomic_fetch_add(&mem->maps, 1);
	code = engine_enqueue(queue, CL_COMMAND_MAP_BUFFER, &work, &order);
	if (code != CL_SUCCESS) {
		atomic_fetch_sub(&mem->maps, 1);
		return result(NULL, code, ret_code);
	}
	return result(mem->data + offset, CL_SUCCESS, ret_code);
}

cl_int double_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem mem, void *address, cl_uint n,
				      const cl_event *waits, cl_event *ret_event)
{
	struct order order = {CL_FALSE, n, waits, ret_event};
	struct work work = {.kind = WORK_NOTHING, .mems = {mem}};
	cl_int code = check_mem(queue, mem);
	unsigned char *byte = address;

	if (code != CL_SUCCESS)
		return code;
	if (byte < mem->data || byte >= mem->data + mem->size || atomic_load(&mem->maps) == 0)
		return CL_INVALID_VALUE;
	code = engine_enqueue(queue, CL_COMMAND_UNMAP_MEM_OBJECT, &work, &order);
	if (code == CL_SUCCESS)
		atomic_fetch_sub(&mem->maps, 1);
	return code;
}

cl_int double_clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint n_mems, const cl_mem *mems,
					 cl_mem_migration_flags flags, cl_uint n,
					 const cl_event *waits, cl_event *ret_event)
{
	struct order order = {CL_FALSE, n, waits, ret_event};
	struct work work = {.kind = WORK_NOTHING};

	if (n_mems == 0 || !mems ||
	    (flags & ~(cl_mem_migration_flags)(CL_MIGRATE_MEM_OBJECT_HOST |
					       CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED)))
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; i < n_mems; i++) {
		cl_int code = check_mem(queue, mems[i]);

		if (code != CL_SUCCESS)
			return code;
	}
	return engine_enqueue(queue, CL_COMMAND_MIGRATE_MEM_OBJECTS, &work, &order);
}

static cl_int order_commands(cl_command_queue queue, cl_command_type type, bool is_barrier,
			     const struct order *order)
{
	struct work work = {.kind = WORK_NOTHING, .is_marker = true, .is_barrier = is_barrier};

	if (!object_is(queue, OBJECT_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	return engine_enqueue(queue, type, &work, order);
}

cl_int double_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n, const cl_event *waits,
					  cl_event *ret_event)
{
	struct order order = {CL_FALSE, n, waits, ret_event};

	return order_commands(queue, CL_COMMAND_MARKER, false, &order);
}

cl_int double_clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint n, const cl_event *waits,
					   cl_event *ret_event)
{
	struct order order = {CL_FALSE, n, waits, ret_event};

	return order_commands(queue, CL_COMMAND_BARRIER, true, &order);
}

cl_int double_clEnqueueMarker(cl_command_queue queue, cl_event *ret_event)
{
	if (!object_is(queue, OBJECT_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	return ret_event ? double_clEnqueueMarkerWithWaitList(queue, 0, NULL, ret_event)
			 : CL_INVALID_VALUE;
}

cl_int double_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint n, const cl_event *waits)
{
	cl_int code;

	if (!object_is(queue, OBJECT_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (n == 0 || !waits)
		return CL_INVALID_VALUE;
	code = double_clEnqueueBarrierWithWaitList(queue, n, waits, NULL);
	return code == CL_INVALID_EVENT_WAIT_LIST ? CL_INVALID_EVENT : code;
}

cl_int double_clEnqueueBarrier(cl_command_queue queue)
{
	return double_clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL);
}
