/* SPDX-License-Identifier: MIT */
/* Stores the functions of the next layer for each Vulkan instance and device. */
#ifndef FPS_PRELOAD_LAYER_TABLE_H
#define FPS_PRELOAD_LAYER_TABLE_H

#include <stdbool.h>
#include <vulkan/vulkan.h>

struct next {
	const void *key; /* shared by all handles; NULL: unused */
	bool taken;
	bool translator; /* translates OpenGL to Vulkan */
	PFN_vkGetInstanceProcAddr instance_proc;
	PFN_vkGetDeviceProcAddr device_proc;
	union {
		PFN_vkDestroyInstance instance;
		PFN_vkDestroyDevice device;
	} destroy;
	PFN_vkQueuePresentKHR present; /* NULL: not supported by the device */
	struct next *following;
};

struct table {
	struct next *first;
};

/* Returns an entry to fill in, or NULL if out of memory. Thread-safe, without a lock. */
struct next *table_take(struct table *table);

/* Makes the entry visible under the dispatchable @handle; table_drop() removes it. */
void table_publish(struct next *next, const void *handle);
void table_drop(struct next *next);

/* Finds the entry of an instance or device by its handle or a child's handle; NULL: unknown. */
struct next *table_find(const struct table *table, const void *handle);

#endif
