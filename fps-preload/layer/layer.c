/* SPDX-License-Identifier: MIT */
/*
 * VK_LAYER_gover_fps: counts and paces the frames of vkQueuePresentKHR, one frame per presented
 * swapchain (window). The Vulkan loader calls the layer between the program and the driver. The
 * layer forwards all other functions. It never changes the results that the program sees. If it
 * cannot count a frame, it only calls the next function.
 *
 * If libgover-fps.so is loaded in the same process, the layer counts in the page of that library.
 * If the program uses a translator from OpenGL to Vulkan, the library counts the frames in the
 * OpenGL functions, and the layer does not count these frames again.
 *
 * The functions of the next layer are in a list for instances and one for devices. Entries are
 * reused but never freed, so that each frame can search the lists without a lock.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include "base/preload/debug.h"
#include "base/preload/sandbox.h"
#include "fps-preload/frame.h"
#include "fps-preload/setup.h"

#define EXPORT	  __attribute__((visibility("default")))
#define INTERFACE 2 /* version of the interface between loader and layer */
/* the layer requests one result per swapchain only if a present has at most this many swapchains */
#define SWAPCHAINS_MAX 16

typedef uint64_t (*frame_begin_fn)(void);
typedef bool (*frame_end_fn)(uint64_t begin, unsigned int frames);

/* Written by the constructor, constant afterwards. */
static bool off;
static bool beside_preload;
static frame_begin_fn begin_frame = frame_begin;
static frame_end_fn end_frame = frame_end;

/* The functions of the next layer for a Vulkan instance or device. */
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

static struct table instances, devices;

static void log_nothing(const char *why, const char *detail)
{
	(void)why;
	(void)detail;
}

__attribute__((constructor)) static void layer_start(void)
{
	frame_begin_fn begin = (frame_begin_fn)dlsym(RTLD_DEFAULT, "gover_fps_frame_begin");
	frame_end_fn end = (frame_end_fn)dlsym(RTLD_DEFAULT, "gover_fps_frame_end");
	struct setup setup;

	beside_preload = begin && end;
	setup_read(&setup);
	/* libgover-fps.so prints the lines about settings and filters, and the layer its own. */
	if (beside_preload)
		(void)sandbox_start(log_nothing);
	else
		debug_enable(setup.debug ? "gover-fps" : NULL);
	off = !frame_setup(&setup);
	if (beside_preload) {
		debug_enable(setup.debug ? "gover-fps" : NULL);
		begin_frame = begin;
		end_frame = end;
	}
}

/*
 * Each Vulkan object starts with a pointer to the loader's dispatch table, which all objects of an
 * instance or device share.
 */
static const void *key_of(const void *handle)
{
	return *(const void *const *)handle;
}

/*
 * Returns an entry that the caller fills in, or NULL if out of memory. Thread-safe, without a lock.
 */
static struct next *table_take(struct table *table)
{
	struct next *next = __atomic_load_n(&table->first, __ATOMIC_ACQUIRE);

	for (; next; next = next->following)
		if (!__atomic_exchange_n(&next->taken, true, __ATOMIC_ACQUIRE))
			return next;
	next = calloc(1, sizeof(*next));
	if (!next)
		return NULL;
	next->taken = true;
	next->following = __atomic_load_n(&table->first, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&table->first, &next->following, next, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		continue;
	return next;
}

/* Adds the entry under @handle, so that table_find() finds it. */
static void table_publish(struct next *next, const void *handle)
{
	__atomic_store_n(&next->key, key_of(handle), __ATOMIC_RELEASE);
}

static void table_drop(struct next *next)
{
	__atomic_store_n(&next->key, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&next->taken, false, __ATOMIC_RELEASE);
}

/*
 * Returns the entry of an instance or device, found by its handle or by the handle of a child
 * object. Returns NULL if the handle is unknown.
 */
static struct next *table_find(const struct table *table, const void *handle)
{
	const void *key = handle ? key_of(handle) : NULL;
	struct next *next = key ? __atomic_load_n(&table->first, __ATOMIC_ACQUIRE) : NULL;

	while (next && __atomic_load_n(&next->key, __ATOMIC_ACQUIRE) != key)
		next = next->following;
	return next;
}

/* Returns true if the engine name is that of a translator from OpenGL to Vulkan. */
static bool is_translator(const VkApplicationInfo *application)
{
	const char *engine = application ? application->pEngineName : NULL;

	return engine && (strcmp(engine, "mesa zink") == 0 || strcmp(engine, "ANGLE") == 0);
}

/* Finds the structure in the pNext chain with which the loader passes the next layer. */
static VkLayerInstanceCreateInfo *instance_link(const VkInstanceCreateInfo *info)
{
	const VkLayerInstanceCreateInfo *link = info->pNext;

	while (link && (link->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO ||
			link->function != VK_LAYER_LINK_INFO))
		link = link->pNext;
	return (VkLayerInstanceCreateInfo *)(uintptr_t)link;
}

static VkLayerDeviceCreateInfo *device_link(const VkDeviceCreateInfo *info)
{
	const VkLayerDeviceCreateInfo *link = info->pNext;

	while (link && (link->sType != VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO ||
			link->function != VK_LAYER_LINK_INFO))
		link = link->pNext;
	return (VkLayerDeviceCreateInfo *)(uintptr_t)link;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
						      const VkAllocationCallbacks *allocator,
						      VkInstance *ret_instance)
{
	VkLayerInstanceCreateInfo *link = instance_link(info);
	PFN_vkGetInstanceProcAddr proc =
		link ? link->u.pLayerInfo->pfnNextGetInstanceProcAddr : NULL;
	PFN_vkCreateInstance create =
		proc ? (PFN_vkCreateInstance)proc(VK_NULL_HANDLE, "vkCreateInstance") : NULL;
	struct next *next = create ? table_take(&instances) : NULL;
	VkResult result;

	if (!next)
		return create ? VK_ERROR_OUT_OF_HOST_MEMORY : VK_ERROR_INITIALIZATION_FAILED;
	link->u.pLayerInfo = link->u.pLayerInfo->pNext;
	result = create(info, allocator, ret_instance);
	if (result != VK_SUCCESS) {
		table_drop(next);
		return result;
	}
	next->instance_proc = proc;
	next->destroy.instance = (PFN_vkDestroyInstance)proc(*ret_instance, "vkDestroyInstance");
	next->translator = is_translator(info->pApplicationInfo);
	table_publish(next, *ret_instance);
	return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance,
						   const VkAllocationCallbacks *allocator)
{
	struct next *next = table_find(&instances, instance);
	PFN_vkDestroyInstance destroy = next ? next->destroy.instance : NULL;

	if (!next)
		return;
	/* must be before destroy(): after it a new instance may get the same key */
	table_drop(next);
	destroy(instance, allocator);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice gpu,
						    const VkDeviceCreateInfo *info,
						    const VkAllocationCallbacks *allocator,
						    VkDevice *ret_device)
{
	const struct next *instance = table_find(&instances, gpu);
	VkLayerDeviceCreateInfo *link = device_link(info);
	PFN_vkGetInstanceProcAddr proc =
		link ? link->u.pLayerInfo->pfnNextGetInstanceProcAddr : NULL;
	PFN_vkGetDeviceProcAddr device_proc =
		link ? link->u.pLayerInfo->pfnNextGetDeviceProcAddr : NULL;
	PFN_vkCreateDevice create =
		proc ? (PFN_vkCreateDevice)proc(VK_NULL_HANDLE, "vkCreateDevice") : NULL;
	struct next *next = create ? table_take(&devices) : NULL;
	VkResult result;

	if (!next)
		return create ? VK_ERROR_OUT_OF_HOST_MEMORY : VK_ERROR_INITIALIZATION_FAILED;
	link->u.pLayerInfo = link->u.pLayerInfo->pNext;
	result = create(gpu, info, allocator, ret_device);
	if (result != VK_SUCCESS) {
		table_drop(next);
		return result;
	}
	next->device_proc = device_proc;
	next->destroy.device = (PFN_vkDestroyDevice)device_proc(*ret_device, "vkDestroyDevice");
	next->present = (PFN_vkQueuePresentKHR)device_proc(*ret_device, "vkQueuePresentKHR");
	next->translator = instance && instance->translator;
	if (next->translator)
		debug_log("frames of an OpenGL translator are counted %s",
			  beside_preload ? "by libgover-fps.so" : "by this layer");
	table_publish(next, *ret_device);
	return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device,
						 const VkAllocationCallbacks *allocator)
{
	struct next *next = table_find(&devices, device);
	PFN_vkDestroyDevice destroy = next ? next->destroy.device : NULL;

	if (!next)
		return;
	table_drop(next);
	destroy(device, allocator);
}

/*
 * Returns the number of presented swapchains. Positive results, such as VK_SUBOPTIMAL_KHR, are
 * successes too.
 */
static unsigned int presented(const VkPresentInfoKHR *info, VkResult all)
{
	unsigned int frames = 0;

	if (!info->pResults)
		return all >= 0 ? info->swapchainCount : 0;
	for (uint32_t i = 0; i < info->swapchainCount; i++)
		frames += info->pResults[i] >= 0;
	return frames;
}

static VKAPI_ATTR VkResult VKAPI_CALL queue_present(VkQueue queue, const VkPresentInfoKHR *info)
{
	const struct next *next = table_find(&devices, queue);
	VkResult results[SWAPCHAINS_MAX], result;
	VkPresentInfoKHR asked = *info;
	uint64_t begin;

	if (!next || !next->present)
		return VK_ERROR_DEVICE_LOST; /* the queue's device was not created through this
						layer */
	if (next->translator && beside_preload)
		return next->present(queue, info);
	/* Request one result per window, because the present may fail for some windows only. */
	if (!asked.pResults && asked.swapchainCount > 1 && asked.swapchainCount <= SWAPCHAINS_MAX)
		asked.pResults = results;
	/* Assume a failure first, because a call that fails completely may not write pResults. */
	for (uint32_t i = 0; asked.pResults && i < asked.swapchainCount; i++)
		asked.pResults[i] = VK_ERROR_UNKNOWN;
	begin = begin_frame();
	result = next->present(queue, &asked);
	(void)end_frame(begin, presented(&asked, result));
	return result;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_proc(VkInstance instance,
							      const char *name);
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char *name);

static const struct {
	const char *name;
	PFN_vkVoidFunction function;
	bool of_device;
} hooks[] = {
	{"vkGetInstanceProcAddr", (PFN_vkVoidFunction)instance_proc, false},
	{"vkCreateInstance", (PFN_vkVoidFunction)create_instance, false},
	{"vkDestroyInstance", (PFN_vkVoidFunction)destroy_instance, false},
	{"vkCreateDevice", (PFN_vkVoidFunction)create_device, false},
	{"vkGetDeviceProcAddr", (PFN_vkVoidFunction)device_proc, true},
	{"vkDestroyDevice", (PFN_vkVoidFunction)destroy_device, true},
	{"vkQueuePresentKHR", (PFN_vkVoidFunction)queue_present, true},
};

static PFN_vkVoidFunction hook_of(const char *name, bool of_device)
{
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		if ((hooks[i].of_device || !of_device) && strcmp(hooks[i].name, name) == 0)
			return off && hooks[i].function == (PFN_vkVoidFunction)queue_present
				       ? NULL
				       : hooks[i].function;
	return NULL;
}

/* Returns a hook only if the next layer has the function: not every device supports swapchains. */
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char *name)
{
	const struct next *next = table_find(&devices, device);
	PFN_vkVoidFunction behind = next ? next->device_proc(device, name) : NULL;
	PFN_vkVoidFunction found = behind ? hook_of(name, true) : NULL;

	return found ? found : behind;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_proc(VkInstance instance, const char *name)
{
	const struct next *next = table_find(&instances, instance);
	PFN_vkVoidFunction found = hook_of(name, false);

	if (!found && next)
		found = next->instance_proc(instance, name);
	return found;
}

/* The only function that the loader looks up by name. */
EXPORT VkResult vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface);

EXPORT VkResult vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface)
{
	if (interface->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT ||
	    interface->loaderLayerInterfaceVersion < INTERFACE)
		return VK_ERROR_INITIALIZATION_FAILED;
	interface->loaderLayerInterfaceVersion = INTERFACE;
	interface->pfnGetInstanceProcAddr = instance_proc;
	interface->pfnGetDeviceProcAddr = device_proc;
	interface->pfnGetPhysicalDeviceProcAddr = NULL;
	return VK_SUCCESS;
}
