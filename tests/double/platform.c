/* SPDX-License-Identifier: MIT */
/*
 * libgover-double.so is a stand-in for a GPU in tests: an OpenCL device without hardware. This file
 * has the platform, its device, and the functions by which the loader finds them.
 */
#include <string.h>

#include "base/cleanup.h"
#include "tests/double/api.h"
#include "tests/double/engine.h"
#include "tests/double/launch.h"
#include "tests/double/store.h"

struct _cl_platform_id double_platform = {&double_dispatch};
struct _cl_device_id double_device = {&double_dispatch};

static const cl_name_version extensions[] = {
	{CL_MAKE_VERSION(1, 0, 0), "cl_khr_byte_addressable_store"},
};

cl_int clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *platforms, cl_uint *ret_n)
{
	if ((room == 0 && platforms) || (!platforms && !ret_n))
		return CL_INVALID_VALUE;
	if (ret_n)
		*ret_n = 0;
	if (engine_start() < 0)
		return CL_PLATFORM_NOT_FOUND_KHR;
	if (platforms)
		platforms[0] = &double_platform;
	if (ret_n)
		*ret_n = 1;
	return CL_SUCCESS;
}

cl_int double_clGetPlatformIDs(cl_uint room, cl_platform_id *platforms, cl_uint *ret_n)
{
	return clIcdGetPlatformIDsKHR(room, platforms, ret_n);
}

cl_int double_clGetPlatformInfo(cl_platform_id platform, cl_platform_info name, size_t room,
				void *value, size_t *ret_size)
{
	static const struct {
		cl_platform_info name;
		const char *text;
	} texts[] = {
		{CL_PLATFORM_PROFILE, "FULL_PROFILE"},
		{CL_PLATFORM_VERSION, "OpenCL 1.2 gover-double " GOVER_VERSION},
		{CL_PLATFORM_NAME, "gover device double"},
		{CL_PLATFORM_VENDOR, "gover"},
		{CL_PLATFORM_EXTENSIONS, "cl_khr_icd"},
		{CL_PLATFORM_ICD_SUFFIX_KHR, "GOVER"},
	};

	if (platform && platform != &double_platform)
		return CL_INVALID_PLATFORM;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (texts[i].name == name)
			return info_string(texts[i].text, room, value, ret_size);
	}
	return CL_INVALID_VALUE;
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info name, size_t room, void *value,
			 size_t *ret_size)
{
	return double_clGetPlatformInfo(platform, name, room, value, ret_size);
}

/* The loader looks these up by name before it has the dispatch table. */
void *clGetExtensionFunctionAddress(const char *name)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} functions[] = {
		{"clIcdGetPlatformIDsKHR", (void (*)(void))clIcdGetPlatformIDsKHR},
		{"clGetPlatformInfo", (void (*)(void))clGetPlatformInfo},
	};
	void *address;

	for (size_t i = 0; name && i < ARRAY_SIZE(functions); i++) {
		if (strcmp(functions[i].name, name) != 0)
			continue;
		memcpy(&address, &functions[i].function, sizeof(address));
		return address;
	}
	return NULL;
}

void *double_clGetExtensionFunctionAddress(const char *name)
{
	return clGetExtensionFunctionAddress(name);
}

void *double_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
	return platform == &double_platform ? clGetExtensionFunctionAddress(name) : NULL;
}

cl_int double_clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint room,
			     cl_device_id *devices, cl_uint *ret_n)
{
	if (platform && platform != &double_platform)
		return CL_INVALID_PLATFORM;
	if ((room == 0 && devices) || (!devices && !ret_n))
		return CL_INVALID_VALUE;
	if (type == 0 || (type != CL_DEVICE_TYPE_ALL && type >= CL_DEVICE_TYPE_CUSTOM << 1))
		return CL_INVALID_DEVICE_TYPE;
	if (!(type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)))
		return CL_DEVICE_NOT_FOUND;
	if (devices)
		devices[0] = &double_device;
	if (ret_n)
		*ret_n = 1;
	return CL_SUCCESS;
}

/* One answer of clGetDeviceInfo(): a number of @size bytes, or a text. */
struct device_row {
	cl_device_info name;
	size_t size;
	cl_ulong number;
	const char *text;
};

#define UINT(name, value)                          \
	{                                          \
		name, sizeof(cl_uint), value, NULL \
	}
#define ULONG(name, value)                          \
	{                                           \
		name, sizeof(cl_ulong), value, NULL \
	}
#define SIZE(name, value)                         \
	{                                         \
		name, sizeof(size_t), value, NULL \
	}
#define TEXT(name, value)         \
	{                         \
		name, 0, 0, value \
	}

static const struct device_row device_rows[] = {
	ULONG(CL_DEVICE_TYPE, CL_DEVICE_TYPE_GPU),
	UINT(CL_DEVICE_VENDOR_ID, 0x676f),
	UINT(CL_DEVICE_MAX_COMPUTE_UNITS, 1),
	UINT(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, 3),
	SIZE(CL_DEVICE_MAX_WORK_GROUP_SIZE, LAUNCH_GROUP),
	SIZE(CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, 32),
	UINT(CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR, 1),
	UINT(CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT, 1),
	UINT(CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT, 1),
	UINT(CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG, 1),
	UINT(CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, 1),
	UINT(CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE, 0),
	UINT(CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF, 0),
	UINT(CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR, 1),
	UINT(CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT, 1),
	UINT(CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, 1),
	UINT(CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG, 1),
	UINT(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, 1),
	UINT(CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, 0),
	UINT(CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF, 0),
	UINT(CL_DEVICE_MAX_CLOCK_FREQUENCY, 1000),
	UINT(CL_DEVICE_ADDRESS_BITS, 8 * sizeof(void *)),
	UINT(CL_DEVICE_MAX_READ_IMAGE_ARGS, 0),
	UINT(CL_DEVICE_MAX_WRITE_IMAGE_ARGS, 0),
	SIZE(CL_DEVICE_IMAGE2D_MAX_WIDTH, 0),
	SIZE(CL_DEVICE_IMAGE2D_MAX_HEIGHT, 0),
	SIZE(CL_DEVICE_IMAGE3D_MAX_WIDTH, 0),
	SIZE(CL_DEVICE_IMAGE3D_MAX_HEIGHT, 0),
	SIZE(CL_DEVICE_IMAGE3D_MAX_DEPTH, 0),
	SIZE(CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, 0),
	SIZE(CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, 0),
	UINT(CL_DEVICE_IMAGE_SUPPORT, CL_FALSE),
	SIZE(CL_DEVICE_MAX_PARAMETER_SIZE, 4096),
	UINT(CL_DEVICE_MAX_SAMPLERS, 0),
	UINT(CL_DEVICE_MEM_BASE_ADDR_ALIGN, 1024),
	UINT(CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, 128),
	ULONG(CL_DEVICE_SINGLE_FP_CONFIG, CL_FP_ROUND_TO_NEAREST | CL_FP_INF_NAN),
	ULONG(CL_DEVICE_DOUBLE_FP_CONFIG, 0),
	ULONG(CL_DEVICE_HALF_FP_CONFIG, 0),
	UINT(CL_DEVICE_GLOBAL_MEM_CACHE_TYPE, CL_NONE),
	UINT(CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, 0),
	ULONG(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, 0),
	ULONG(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, 65536),
	UINT(CL_DEVICE_MAX_CONSTANT_ARGS, 8),
	UINT(CL_DEVICE_LOCAL_MEM_TYPE, CL_LOCAL),
	ULONG(CL_DEVICE_LOCAL_MEM_SIZE, 65536),
	UINT(CL_DEVICE_ERROR_CORRECTION_SUPPORT, CL_FALSE),
	UINT(CL_DEVICE_HOST_UNIFIED_MEMORY, CL_FALSE),
	SIZE(CL_DEVICE_PROFILING_TIMER_RESOLUTION, 1),
	UINT(CL_DEVICE_ENDIAN_LITTLE, CL_TRUE),
	UINT(CL_DEVICE_COMPILER_AVAILABLE, CL_TRUE),
	UINT(CL_DEVICE_LINKER_AVAILABLE, CL_TRUE),
	ULONG(CL_DEVICE_EXECUTION_CAPABILITIES, CL_EXEC_KERNEL),
	ULONG(CL_DEVICE_QUEUE_PROPERTIES,
	      CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE),
	TEXT(CL_DEVICE_NAME, "gover device double"),
	TEXT(CL_DEVICE_VENDOR, "gover"),
	TEXT(CL_DRIVER_VERSION, GOVER_VERSION),
	TEXT(CL_DEVICE_PROFILE, "FULL_PROFILE"),
	TEXT(CL_DEVICE_VERSION, "OpenCL 1.2 gover-double"),
	TEXT(CL_DEVICE_OPENCL_C_VERSION, "OpenCL C 1.2 "),
	TEXT(CL_DEVICE_EXTENSIONS, "cl_khr_byte_addressable_store"),
	TEXT(CL_DEVICE_BUILT_IN_KERNELS, ""),
	SIZE(CL_DEVICE_PRINTF_BUFFER_SIZE, 1 << 20),
	UINT(CL_DEVICE_PREFERRED_INTEROP_USER_SYNC, CL_TRUE),
	UINT(CL_DEVICE_PARTITION_MAX_SUB_DEVICES, 0),
	ULONG(CL_DEVICE_PARTITION_AFFINITY_DOMAIN, 0),
	UINT(CL_DEVICE_REFERENCE_COUNT, 1),
};

/* The answers that are no constants. Returns 1 if @name is none of them. */
static cl_int get_device_value(cl_device_info name, size_t room, void *value, size_t *ret_size)
{
	static const size_t items[3] = {LAUNCH_GROUP, LAUNCH_GROUP, LAUNCH_GROUP};
	static const cl_device_partition_property none[1] = {0};

	switch (name) {
	case CL_DEVICE_PLATFORM:
		return INFO(cl_platform_id, &double_platform, room, value, ret_size);
	case CL_DEVICE_PARENT_DEVICE:
		return INFO(cl_device_id, NULL, room, value, ret_size);
	case CL_DEVICE_GLOBAL_MEM_SIZE:
	case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
		return INFO(cl_ulong, engine_memory_bytes(), room, value, ret_size);
	case CL_DEVICE_AVAILABLE:
		return INFO(cl_bool, !engine_is_lost(), room, value, ret_size);
	case CL_DEVICE_MAX_WORK_ITEM_SIZES:
		return info_bytes(items, sizeof(items), room, value, ret_size);
	case CL_DEVICE_PARTITION_PROPERTIES:
	case CL_DEVICE_PARTITION_TYPE:
		return info_bytes(none, sizeof(none), room, value, ret_size);
	case CL_DEVICE_EXTENSIONS_WITH_VERSION:
		return info_bytes(extensions, sizeof(extensions), room, value, ret_size);
	default:
		return 1;
	}
}

cl_int double_clGetDeviceInfo(cl_device_id device, cl_device_info name, size_t room, void *value,
			      size_t *ret_size)
{
	cl_int code;

	if (device != &double_device)
		return CL_INVALID_DEVICE;
	code = get_device_value(name, room, value, ret_size);
	if (code <= 0)
		return code;
	for (size_t i = 0; i < ARRAY_SIZE(device_rows); i++) {
		const struct device_row *row = &device_rows[i];
		cl_uint narrow = (cl_uint)row->number;

		if (row->name != name)
			continue;
		if (row->text)
			return info_string(row->text, room, value, ret_size);
		return info_bytes(row->size == sizeof(narrow) ? (const void *)&narrow
							      : (const void *)&row->number,
				  row->size, room, value, ret_size);
	}
	return CL_INVALID_VALUE;
}

cl_int double_clRetainDevice(cl_device_id device)
{
	return device == &double_device ? CL_SUCCESS : CL_INVALID_DEVICE;
}

cl_int double_clReleaseDevice(cl_device_id device)
{
	return device == &double_device ? CL_SUCCESS : CL_INVALID_DEVICE;
}

cl_int double_clCreateSubDevices(cl_device_id device,
				 const cl_device_partition_property *properties, cl_uint room,
				 cl_device_id *devices, cl_uint *ret_n)
{
	(void)properties;
	(void)room;
	(void)devices;
	(void)ret_n;
	return device == &double_device ? CL_INVALID_VALUE : CL_INVALID_DEVICE;
}

cl_int double_clGetHostTimer(cl_device_id device, cl_ulong *ret_ns)
{
	if (device != &double_device)
		return CL_INVALID_DEVICE;
	if (!ret_ns)
		return CL_INVALID_VALUE;
	*ret_ns = store_now_ns();
	return CL_SUCCESS;
}

cl_int double_clGetDeviceAndHostTimer(cl_device_id device, cl_ulong *ret_device_ns,
				      cl_ulong *ret_host_ns)
{
	cl_int code = double_clGetHostTimer(device, ret_host_ns);

	if (code == CL_SUCCESS && !ret_device_ns)
		code = CL_INVALID_VALUE;
	if (code == CL_SUCCESS)
		*ret_device_ns = *ret_host_ns;
	return code;
}
