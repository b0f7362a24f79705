/* SPDX-License-Identifier: MIT */
/* References of OpenCL objects, and answers to queries. */
#include <string.h>

#include "tests/double/object.h"

void object_init(struct object *object, enum object_kind kind, void (*destroy)(void *object))
{
	object->dispatch = &double_dispatch;
	atomic_init(&object->references, 1);
	atomic_init(&object->holds, 1);
	object->destroy = destroy;
	atomic_init(&object->kind, (unsigned)kind);
}

bool object_is(const void *handle, enum object_kind kind)
{
	const struct object *object = handle;

	return object && atomic_load(&object->kind) == (unsigned)kind;
}

void object_hold(void *handle)
{
	struct object *object = handle;

	atomic_fetch_add(&object->holds, 1);
}

void object_unhold(void *handle)
{
	struct object *object = handle;

	if (!object || atomic_fetch_sub(&object->holds, 1) != 1)
		return;
	atomic_store(&object->kind, OBJECT_FREED);
	object->destroy(object);
}

cl_int object_retain(void *handle, enum object_kind kind, cl_int error)
{
	struct object *object = handle;

	if (!object_is(handle, kind) || atomic_load(&object->references) == 0)
		return error;
	atomic_fetch_add(&object->references, 1);
	return CL_SUCCESS;
}

cl_int object_release(void *handle, enum object_kind kind, cl_int error)
{
	struct object *object = handle;

	if (!object_is(handle, kind) || atomic_load(&object->references) == 0)
		return error;
	if (atomic_fetch_sub(&object->references, 1) == 1)
		object_unhold(object);
	return CL_SUCCESS;
}

cl_uint object_references(const void *handle)
{
	const struct object *object = handle;

	return atomic_load(&object->references);
}

cl_int info_bytes(const void *data, size_t size, size_t room, void *ret_value, size_t *ret_size)
{
	if (ret_value && room < size)
		return CL_INVALID_VALUE;
	if (ret_value && size > 0)
		memcpy(ret_value, data, size);
	if (ret_size)
		*ret_size = size;
	return CL_SUCCESS;
}

cl_int info_string(const char *text, size_t room, void *ret_value, size_t *ret_size)
{
	return info_bytes(text, strlen(text) + 1, room, ret_value, ret_size);
}
