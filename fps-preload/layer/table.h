/* SPDX-License-Identifier: MIT */
/* What is behind the layer for each Vulkan instance and device: found again by any of its handles.
 */
#ifndef FPS_PRELOAD_LAYER_TABLE_H
#define FPS_PRELOAD_LAYER_TABLE_H

#include <stdbool.h>
#include <vulkan/vulkan.h>

struct next {
	const void *key; /* of the handles; NULL: of none */
	bool taken;
	bool translator; /* presents for a GL program: not a frame of its own */
	PFN_vkGetInstanceProcAddr instance_proc;
	PFN_vkGetDeviceProcAddr device_proc;
	union {
		PFN_vkDestroyInstance instance;
		PFN_vkDestroyDevice device;
	} destroy;
	PFN_vkQueuePresentKHR present; /* NULL: the device has none */
	struct next *following;
};

struct table {
	struct next *first;
};

/* An entry to fill in, or NULL: no memory. Any thread; no lock. */
struct next *table_take(struct table *table);

/* From now on it is found by @handle, a dispatchable one; for table_drop(), by none. */
void table_publish(struct next *next, const void *handle);
void table_drop(struct next *next);

/* The entry of an instance or device, by it or by what was made from it; NULL: none of ours. */
struct next *table_find(const struct table *table, const void *handle);

#endif
