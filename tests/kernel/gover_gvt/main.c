/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * This module is a stand-in for a GVT-g host in tests. The mdev bus, the files, the scheduler and
 * the times are real. The GPUs do no work. Never load it on a production host.
 *
 * The GPUs are platform devices gover_gvt.0, gover_gvt.1 and so on, each an mdev parent. Their
 * driver is called i915, because the mdev core uses the driver's name as prefix of the type names.
 */
#include <linux/err.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>

#include "parent.h"

#define GPUS_MAX 32

static unsigned int gpus = 1;
module_param(gpus, uint, 0444);
MODULE_PARM_DESC(gpus, "number of GPUs, 1 to 32 (default 1)");

static char *discipline = "cap";
module_param(discipline, charp, 0444);
MODULE_PARM_DESC(discipline, "how vGPUs share a GPU: cap, guarantee or weight (default cap)");

static struct platform_device *devices[GPUS_MAX];

/* --- the file of a GPU --- */

static ssize_t gover_sharing_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct parent *parent = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%s\n", gpu_sharing(&parent->gpu));
}

static ssize_t gover_sharing_store(struct device *dev, struct device_attribute *attr,
				   const char *buf, size_t count)
{
	struct parent *parent = dev_get_drvdata(dev);
	int r = gpu_set_sharing(&parent->gpu, buf);

	return r < 0 ? r : count;
}
static DEVICE_ATTR_RW(gover_sharing);

/* --- the devices --- */

/*
 * Also removes the remaining vGPUs. An action of the device and not the driver's remove(), whose
 * type differs between kernels.
 */
static void remove_gpu(void *data)
{
	struct platform_device *device = data;
	struct parent *parent = platform_get_drvdata(device);

	mdev_unregister_parent(&parent->mdev);
	/* Waits until no process is in a show or store function. */
	device_remove_file(&device->dev, &dev_attr_gover_sharing);
	gpu_fini(&parent->gpu);
	kfree(parent);
}

static int probe_gpu(struct platform_device *device)
{
	struct parent *parent = kzalloc(sizeof(*parent), GFP_KERNEL);
	int i, r;

	if (!parent)
		return -ENOMEM;
	gpu_init(&parent->gpu, sched_discipline_find(discipline));
	for (i = 0; i < PARENT_TYPES; i++) {
		parent->types[i].sysfs_name = vgpu_types[i].sysfs_name;
		parent->type_list[i] = &parent->types[i];
	}
	platform_set_drvdata(device, parent);
	/* The file exists when the uevent of mdev_register_parent() reports the GPU. */
	r = device_create_file(&device->dev, &dev_attr_gover_sharing);
	if (r < 0)
		goto fini;
	r = mdev_register_parent(&parent->mdev, &device->dev, &vgpu_driver, parent->type_list,
				 PARENT_TYPES);
	if (r < 0)
		goto remove_file;
	return devm_add_action_or_reset(&device->dev, remove_gpu, device);

remove_file:
	device_remove_file(&device->dev, &dev_attr_gover_sharing);
fini:
	gpu_fini(&parent->gpu);
	kfree(parent);
	return r;
}

static const struct platform_device_id ids[] = {
	{.name = "gover_gvt"},
	{},
};

static struct platform_driver gpu_driver = {
	.probe = probe_gpu,
	.id_table = ids,
	.driver.name = "i915",
};

static void remove_devices(void)
{
	unsigned int i;

	for (i = 0; i < gpus; i++)
		platform_device_unregister(devices[i]);
}

static int add_devices(void)
{
	struct platform_device *device;
	unsigned int i;

	for (i = 0; i < gpus; i++) {
		device = platform_device_register_simple("gover_gvt", i, NULL, 0);
		if (IS_ERR(device)) {
			remove_devices();
			return PTR_ERR(device);
		}
		devices[i] = device;
	}
	return 0;
}

static int __init start(void)
{
	int r;

	if (gpus < 1 || gpus > GPUS_MAX || !sched_discipline_find(discipline))
		return -EINVAL;
	r = mdev_register_driver(&vgpu_driver);
	if (r < 0)
		return r;
	r = platform_driver_register(&gpu_driver);
	if (r < 0)
		goto unregister_vgpu;
	r = add_devices();
	if (r < 0)
		goto unregister_gpu;
	return 0;

unregister_gpu:
	platform_driver_unregister(&gpu_driver);
unregister_vgpu:
	mdev_unregister_driver(&vgpu_driver);
	return r;
}

static void __exit stop(void)
{
	remove_devices();
	platform_driver_unregister(&gpu_driver);
	mdev_unregister_driver(&vgpu_driver);
}

module_init(start);
module_exit(stop);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("A GVT-g host without a GPU, for the tests of gover");
