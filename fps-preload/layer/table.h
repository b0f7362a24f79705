/* SPDX-License-Identifier: MIT */
/* Stores the functions of the next layer for each Vulkan instance and device. */
#ifndef FPS_PRELOAD_LAYER_TABLE_H
#define FPS_PRELOAD_LAYER_TABLE_H

#include <stdbool.h>
#include <vulkan/vulkan.h>

struct next {
	const void *key; /* key that all handles of the object share; NULL: unused entry */
	bool taken;
	bool translator; /* the program uses a translator from OpenGL to Vulkan */
	PFN_vkGetInstanceProcAddr instance_proc;
	PFN_vkGetDeviceProcAddr device_proc;
	union {
		PFN_vkDestroyInstance instance;
		PFN_vkDestroyDevice device;
	} destroy;
	PFN_vkQueuePresentKHR present; /* NULL: the device does not support the function */
	struct next *following;
};

struct table {
	struct next *first;
};

/*
 * Returns an entry that the caller fills in, or NULL if out of memory. Thread-safe, without a lock.
 */
struct next *table_take(struct table *table);

/*
 * table_publish() adds the entry under @handle, the handle of an instance or device, so that
 * table_find() finds the entry. table_drop() removes the entry.
 */
void table_publish(struct next *next, const void *handle);
void table_drop(struct next *next);

/*
 * Returns the entry of an instance or device, found by its handle or by the handle of a child
 * object. Returns NULL if the handle is unknown.
 */
struct next *table_find(const struct table *table, const void *handle);

#endif
