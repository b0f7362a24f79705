/* SPDX-License-Identifier: MIT */
/*
 * fps-vk LAYER HOW FRAMES: a minimal Vulkan loader, driver and program in one, so that a test
 * exercises the layer only. Presents FRAMES times in each of its threads. Exits with 1 and a
 * message if the layer forwards a call wrongly.
 *
 * HOW slow: presents every 10 ms. timed: prints the CPU time of a present in ns with a driver that
 * does nothing; bare: the same without the layer.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include "tests/helper/sandbox.h"

#define WINDOWS 3
#define WARM	10000

struct handle { /* a handle starts with a pointer to the dispatch table, as in the real loader */
	const void *key;
};

static const char *how;
static long frames;
static volatile unsigned long presents; /* calls that reached the driver; used by one thread */
static PFN_vkGetInstanceProcAddr layer_instance_proc;
static PFN_vkGetDeviceProcAddr layer_device_proc;

static __attribute__((noreturn)) void fail(const char *what)
{
	fprintf(stderr, "fps-vk: %s\n", what);
	exit(1);
}

static bool is(const char *name)
{
	return strcmp(how, name) == 0;
}

/* --- the driver --- */

static VkResult driver_create_instance(const VkInstanceCreateInfo *info,
				       const VkAllocationCallbacks *allocator, VkInstance *ret)
{
	const VkLayerInstanceCreateInfo *link = info->pNext;
	struct handle *instance = malloc(sizeof(*instance));

	(void)allocator;
	if (link->u.pLayerInfo)
		fail("the layer did not advance the chain");
	instance->key = instance;
	*ret = (VkInstance)instance;
	return VK_SUCCESS;
}

static void driver_destroy_instance(VkInstance instance, const VkAllocationCallbacks *allocator)
{
	(void)allocator;
	free(instance);
}

static VkResult driver_create_device(VkPhysicalDevice gpu, const VkDeviceCreateInfo *info,
				     const VkAllocationCallbacks *allocator, VkDevice *ret)
{
	struct handle *device = malloc(sizeof(*device));

	(void)gpu;
	(void)info;
	(void)allocator;
	device->key = device;
	*ret = (VkDevice)device;
	return VK_SUCCESS;
}

static void driver_destroy_device(VkDevice device, const VkAllocationCallbacks *allocator)
{
	(void)allocator;
	free(device);
}

/* If @info has several windows, reports the last window as out of date. */
static VkResult driver_present(VkQueue queue, const VkPresentInfoKHR *info)
{
	(void)queue;
	presents = presents + 1;
	sandbox_step();
	if (is("lost"))
		return VK_ERROR_DEVICE_LOST;
	for (uint32_t i = 0; info->pResults && i < info->swapchainCount; i++)
		info->pResults[i] = i == WINDOWS - 1 ? VK_ERROR_OUT_OF_DATE_KHR
				    : i == 1	     ? VK_SUBOPTIMAL_KHR
						     : VK_SUCCESS;
	return info->swapchainCount == WINDOWS ? VK_ERROR_OUT_OF_DATE_KHR : VK_SUCCESS;
}

static VkResult driver_present_nothing(VkQueue queue, const VkPresentInfoKHR *info)
{
	(void)queue;
	(void)info;
	return VK_SUCCESS;
}

static void driver_other(void)
{
}

static PFN_vkVoidFunction driver_device_proc(VkDevice device, const char *name)
{
	(void)device;
	if (strcmp(name, "vkDestroyDevice") == 0)
		return (PFN_vkVoidFunction)driver_destroy_device;
	if (strcmp(name, "vkQueuePresentKHR") == 0 && !is("no-swapchain"))
		return is("timed") ? (PFN_vkVoidFunction)driver_present_nothing
				   : (PFN_vkVoidFunction)driver_present;
	return strcmp(name, "vkDeviceWaitIdle") == 0 ? driver_other : NULL;
}

static PFN_vkVoidFunction driver_instance_proc(VkInstance instance, const char *name)
{
	(void)instance;
	if (strcmp(name, "vkCreateInstance") == 0)
		return (PFN_vkVoidFunction)driver_create_instance;
	if (strcmp(name, "vkDestroyInstance") == 0)
		return (PFN_vkVoidFunction)driver_destroy_instance;
	if (strcmp(name, "vkCreateDevice") == 0)
		return (PFN_vkVoidFunction)driver_create_device;
	return strcmp(name, "vkEnumeratePhysicalDevices") == 0 ? driver_other : NULL;
}

/* --- the loader --- */

static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	VkNegotiateLayerInterface interface = {
		LAYER_NEGOTIATE_INTERFACE_STRUCT, NULL, 2, NULL, NULL, NULL};
	PFN_vkNegotiateLoaderLayerInterfaceVersion negotiate =
		library ? (PFN_vkNegotiateLoaderLayerInterfaceVersion)dlsym(
				  library, "vkNegotiateLoaderLayerInterfaceVersion")
			: NULL;

	if (!negotiate || negotiate(&interface) != VK_SUCCESS)
		fail(library ? "the layer rejects the loader" : dlerror());
	layer_instance_proc = interface.pfnGetInstanceProcAddr;
	layer_device_proc = interface.pfnGetDeviceProcAddr;
}

static VkInstance make_instance(void)
{
	VkLayerInstanceLink to_driver = {NULL, driver_instance_proc, NULL};
	VkLayerInstanceCreateInfo link = {
		.sType = VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO,
		.function = VK_LAYER_LINK_INFO,
		.u.pLayerInfo = &to_driver,
	};
	VkApplicationInfo application = {.pEngineName = is("zink") ? "mesa zink" : "none"};
	VkInstanceCreateInfo info = {.pNext = &link, .pApplicationInfo = &application};
	VkInstance instance;

	if (((PFN_vkCreateInstance)layer_instance_proc(NULL, "vkCreateInstance"))(
		    &info, NULL, &instance) != VK_SUCCESS)
		fail("no instance");
	if (layer_instance_proc(instance, "vkEnumeratePhysicalDevices") != driver_other ||
	    layer_instance_proc(instance, "vkNoSuchFunction"))
		fail("the layer does not forward unknown functions");
	return instance;
}

static VkDevice make_device(VkInstance instance)
{
	VkLayerDeviceLink to_driver = {NULL, driver_instance_proc, driver_device_proc};
	VkLayerDeviceCreateInfo link = {
		.sType = VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO,
		.function = VK_LAYER_LINK_INFO,
		.u.pLayerInfo = &to_driver,
	};
	VkDeviceCreateInfo info = {.pNext = &link};
	struct handle gpu = *(struct handle *)instance;
	VkDevice device;

	if (((PFN_vkCreateDevice)layer_instance_proc(instance, "vkCreateDevice"))(
		    (VkPhysicalDevice)&gpu, &info, NULL, &device) != VK_SUCCESS)
		fail("no device");
	if (layer_device_proc(device, "vkDeviceWaitIdle") != driver_other)
		fail("the layer does not forward unknown functions");
	return device;
}

/* --- the program --- */

static void present(VkDevice device)
{
	struct handle queue = *(struct handle *)device;
	PFN_vkQueuePresentKHR show =
		(PFN_vkQueuePresentKHR)layer_device_proc(device, "vkQueuePresentKHR");
	bool windows = is("windows") || is("windows-results");
	VkSwapchainKHR swapchains[WINDOWS] = {0};
	VkResult results[WINDOWS];
	VkPresentInfoKHR info = {
		.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
		.swapchainCount = windows ? WINDOWS : 1,
		.pSwapchains = swapchains,
		.pResults = is("windows-results") ? results : NULL,
	};

	if (is("no-swapchain") && !show)
		return;
	for (long i = 0; i < frames; i++) {
		if (is("slow"))
			(void)usleep(10000);
		if (show((VkQueue)&queue, &info) !=
		    (windows ? VK_ERROR_OUT_OF_DATE_KHR
			     : (is("lost") ? VK_ERROR_DEVICE_LOST : VK_SUCCESS)))
			fail("the result was changed");
	}
	if (info.pResults && (results[0] != VK_SUCCESS || results[1] != VK_SUBOPTIMAL_KHR ||
			      results[2] != VK_ERROR_OUT_OF_DATE_KHR))
		fail("the results of the windows were changed");
}

static void *run(void *unused)
{
	VkInstance instance = make_instance();
	VkDevice device[2] = {make_device(instance), make_device(instance)};

	for (int d = 0; d < (is("threads") ? 2 : 1); d++)
		present(device[d]);
	for (int d = 0; d < 2; d++)
		((PFN_vkDestroyDevice)layer_device_proc(device[d], "vkDestroyDevice"))(device[d],
										       NULL);
	((PFN_vkDestroyInstance)layer_instance_proc(instance, "vkDestroyInstance"))(instance, NULL);
	return unused;
}

/* Returns the CPU time of this process, which does not depend on other load. */
static double cpu_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void time_presents(void)
{
	VkInstance instance = make_instance();
	VkDevice device = make_device(instance);
	struct handle queue = *(struct handle *)device;
	PFN_vkQueuePresentKHR volatile show =
		is("bare") ? driver_present_nothing
			   : (PFN_vkQueuePresentKHR)layer_device_proc(device, "vkQueuePresentKHR");
	VkSwapchainKHR swapchain = VK_NULL_HANDLE;
	const VkPresentInfoKHR info = {
		.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
		.swapchainCount = 1,
		.pSwapchains = &swapchain,
	};
	double start_ns;

	for (int i = 0; i < WARM; i++)
		(void)show((VkQueue)&queue, &info);
	start_ns = cpu_ns();
	for (long i = 0; i < frames; i++)
		(void)show((VkQueue)&queue, &info);
	printf("%.3f\n", (cpu_ns() - start_ns) / (double)frames);
}

int main(int argc, char **argv)
{
	pthread_t thread[4];

	if (argc != 4)
		fail("usage: fps-vk LAYER HOW FRAMES");
	how = argv[2];
	frames = strtol(argv[3], NULL, 10);
	load(argv[1]);
	if (is("timed") || is("bare")) {
		time_presents();
		return 0;
	}
	if (!is("threads")) {
		run(NULL);
		if (presents != (is("no-swapchain") ? 0 : (unsigned long)frames))
			fail("presents did not reach the driver");
		return 0;
	}
	for (int t = 0; t < 4; t++)
		if (pthread_create(&thread[t], NULL, run, NULL) != 0)
			fail("pthread_create");
	for (int t = 0; t < 4; t++)
		(void)pthread_join(thread[t], NULL);
	return 0;
}
