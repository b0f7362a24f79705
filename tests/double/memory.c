/* SPDX-License-Identifier: MIT */
/*
 * Buffers. Their bytes are in host memory, but they are counted as device memory, whose limit all
 * processes share. Large buffers use no host memory until they are written.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/double/api.h"
#include "tests/double/engine.h"

#define SMALL_BYTES 65536
#define ALIGNMENT   128 /* CL_DEVICE_MEM_BASE_ADDR_ALIGN in bytes */

static void destroy(void *object)
{
	cl_mem mem = object;

	while (mem->destructors) {
		struct destructor *destructor = mem->destructors;

		mem->destructors = destructor->next;
		destructor->call(mem, destructor->data);
		free(destructor);
	}
	if (mem->mapped > 0)
		munmap(mem->data, mem->mapped);
	else if (!mem->parent && !mem->host)
		free(mem->data);
	if (mem->parent)
		object_unhold(mem->parent);
	else
		engine_free(mem->size);
	object_unhold(mem->context);
	free(mem);
}

/* Gives @mem its bytes. Returns false if host memory is short. */
static bool get_bytes(cl_mem mem)
{
	if (mem->host) {
		mem->data = mem->host;
		return true;
	}
	if (mem->size < SMALL_BYTES) {
		size_t whole = (mem->size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

		mem->data = aligned_alloc(ALIGNMENT, whole);
		if (mem->data)
			memset(mem->data, 0, whole);
		return mem->data;
	}
	mem->data = mmap(NULL, mem->size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem->data == MAP_FAILED)
		return false;
	mem->mapped = mem->size;
	return true;
}

#define ACCESS	    (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY)
#define HOST_ACCESS (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS)
#define HOST_BYTES  (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)

static bool has_at_most_one(cl_mem_flags flags, cl_mem_flags of)
{
	flags &= of;
	return (flags & (flags - 1)) == 0;
}

static cl_int check_flags(cl_mem_flags flags)
{
	if ((flags & ~(cl_mem_flags)(ACCESS | HOST_ACCESS | HOST_BYTES)) != 0 ||
	    !has_at_most_one(flags, ACCESS) || !has_at_most_one(flags, HOST_ACCESS) ||
	    ((flags & CL_MEM_USE_HOST_PTR) &&
	     (flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR))))
		return CL_INVALID_VALUE;
	return CL_SUCCESS;
}

cl_mem double_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
			     cl_int *ret_code)
{
	bool wants_host = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);
	cl_int code = check_flags(flags);
	cl_mem mem;

	if (!object_is(context, OBJECT_CONTEXT))
		return result(NULL, CL_INVALID_CONTEXT, ret_code);
	if (code == CL_SUCCESS && (size == 0 || size > engine_memory_bytes()))
		code = CL_INVALID_BUFFER_SIZE;
	if (code == CL_SUCCESS && wants_host != (host != NULL))
		code = CL_INVALID_HOST_PTR;
	if (code == CL_SUCCESS)
		code = engine_allocate(size);
	if (code != CL_SUCCESS)
		return result(NULL, code, ret_code);
	mem = calloc(1, sizeof(*mem));
	if (mem) {
		mem->size = size;
		mem->host = flags & CL_MEM_USE_HOST_PTR ? host : NULL;
	}
	if (!mem || !get_bytes(mem)) {
		free(mem);
		engine_free(size);
		return result(NULL, CL_OUT_OF_HOST_MEMORY, ret_code);
	}
	if (flags & CL_MEM_COPY_HOST_PTR)
		memcpy(mem->data, host, size);
	object_init(&mem->object, OBJECT_MEM, destroy);
	object_hold(context);
	mem->context = context;
	mem->flags = flags & ACCESS ? flags : flags | CL_MEM_READ_WRITE;
	return result(mem, CL_SUCCESS, ret_code);
}

cl_mem double_clCreateBufferWithProperties(cl_context context, const cl_mem_properties *properties,
					   cl_mem_flags flags, size_t size, void *host,
					   cl_int *ret_code)
{
	if (properties && properties[0] != 0)
		return result(NULL, CL_INVALID_PROPERTY, ret_code);
	return double_clCreateBuffer(context, flags, size, host, ret_code);
}

static cl_int check_region(cl_mem parent, cl_mem_flags flags, const cl_buffer_region *region)
{
	cl_mem_flags access = parent->flags & ACCESS;

	if (check_flags(flags) != CL_SUCCESS || (flags & HOST_BYTES) != 0)
		return CL_INVALID_VALUE;
	if ((flags & ACCESS) && access != CL_MEM_READ_WRITE && (flags & ACCESS) != access)
		return CL_INVALID_VALUE;
	if (region->origin > parent->size || region->size > parent->size - region->origin)
		return CL_INVALID_VALUE;
	if (region->size == 0)
		return CL_INVALID_BUFFER_SIZE;
	return region->origin % ALIGNMENT == 0 ? CL_SUCCESS : CL_MISALIGNED_SUB_BUFFER_OFFSET;
}

cl_mem double_clCreateSubBuffer(cl_mem parent, cl_mem_flags flags, cl_buffer_create_type type,
				const void *info, cl_int *ret_code)
{
	const cl_buffer_region *region = info;
	cl_int code;
	cl_mem mem;

	if (!object_is(parent, OBJECT_MEM) || parent->parent)
		return result(NULL, CL_INVALID_MEM_OBJECT, ret_code);
	if (type != CL_BUFFER_CREATE_TYPE_REGION || !region)
		return result(NULL, CL_INVALID_VALUE, ret_code);
	code = check_region(parent, flags, region);
	if (code != CL_SUCCESS)
		return result(NULL, code, ret_code);
	mem = calloc(1, sizeof(*mem));
	if (!mem)
		return result(NULL, CL_OUT_OF_HOST_MEMORY, ret_code);
	object_init(&mem->object, OBJECT_MEM, destroy);
	object_hold(parent);
	object_hold(parent->context);
	mem->context = parent->context;
	mem->parent = parent;
	mem->origin = region->origin;
	mem->size = region->size;
	mem->data = parent->data + region->origin;
	mem->flags = (flags & ACCESS ? flags : flags | (parent->flags & ACCESS)) |
		     (parent->flags & HOST_BYTES);
	if (!(flags & HOST_ACCESS))
		mem->flags |= parent->flags & HOST_ACCESS;
	return result(mem, CL_SUCCESS, ret_code);
}

DOUBLE_REFERENCES(MemObject, cl_mem, OBJECT_MEM, CL_INVALID_MEM_OBJECT)

cl_int double_clGetMemObjectInfo(cl_mem mem, cl_mem_info name, size_t room, void *value,
				 size_t *ret_size)
{
	void *host;

	if (!object_is(mem, OBJECT_MEM))
		return CL_INVALID_MEM_OBJECT;
	switch (name) {
	case CL_MEM_TYPE:
		return INFO(cl_mem_object_type, CL_MEM_OBJECT_BUFFER, room, value, ret_size);
	case CL_MEM_FLAGS:
		return INFO(cl_mem_flags, mem->flags, room, value, ret_size);
	case CL_MEM_SIZE:
		return INFO(size_t, mem->size, room, value, ret_size);
	case CL_MEM_HOST_PTR:
		host = mem->parent && mem->parent->host ? mem->data : mem->host;
		return INFO(void *, host, room, value, ret_size);
	case CL_MEM_MAP_COUNT:
		return INFO(cl_uint, atomic_load(&mem->maps), room, value, ret_size);
	case CL_MEM_REFERENCE_COUNT:
		return INFO(cl_uint, object_references(mem), room, value, ret_size);
	case CL_MEM_CONTEXT:
		return INFO(cl_context, mem->context, room, value, ret_size);
	case CL_MEM_ASSOCIATED_MEMOBJECT:
		return INFO(cl_mem, mem->parent, room, value, ret_size);
	case CL_MEM_OFFSET:
		return INFO(size_t, mem->origin, room, value, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

cl_int double_clSetMemObjectDestructorCallback(cl_mem mem, void(CL_CALLBACK *call)(cl_mem, void *),
					       void *data)
{
	struct destructor *destructor;

	if (!object_is(mem, OBJECT_MEM))
		return CL_INVALID_MEM_OBJECT;
	if (!call)
		return CL_INVALID_VALUE;
	destructor = malloc(sizeof(*destructor));
	if (!destructor)
		return CL_OUT_OF_HOST_MEMORY;
	/* They are called in the reverse order. */
	*destructor = (struct destructor){mem->destructors, call, data};
	mem->destructors = destructor;
	return CL_SUCCESS;
}

cl_int double_clGetSupportedImageFormats(cl_context context, cl_mem_flags flags,
					 cl_mem_object_type type, cl_uint room,
					 cl_image_format *formats, cl_uint *ret_n)
{
	(void)flags;
	(void)type;
	if (!object_is(context, OBJECT_CONTEXT))
		return CL_INVALID_CONTEXT;
	if (room == 0 && formats)
		return CL_INVALID_VALUE;
	if (ret_n)
		*ret_n = 0;
	return CL_SUCCESS;
}
