/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * This module is a stand-in for a GVT-g host in tests. The mdev bus, the files, the scheduler and
 * the times are real. The GPUs do no work. Never load it on a production host.
 *
 * The GPUs are platform devices gover_gvt.0, gover_gvt.1 and so on, each an mdev parent. Their
 * driver is called i915, because the mdev core uses the driver's name as prefix of the type names.
 * vGPUs are mediated devices.
 *
 * The driver core removes the files of a vGPU, and waits until no process is in a show or store
 * function, before it calls remove(). Reading an open file later gives ENODEV. So a vGPU always
 * exists while one of its files is read or written.
 */
#include <linux/err.h>
#include <linux/kstrtox.h>
#include <linux/mdev.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/vfio.h>

#include "gpu.h"

#define GPUS_MAX     32
#define PARENT_TYPES 4

/* A type of vGPU as in i915 GVT-g: its size is 1/@parts of the GPU. */
struct vgpu_type {
	const char *sysfs_name;
	unsigned int parts;
	unsigned int low_gm_mb;
	unsigned int high_gm_mb;
	const char *resolution;
};

/* A parent device: one GPU. */
struct parent {
	struct gpu gpu;
	struct mdev_parent mdev;
	struct mdev_type types[PARENT_TYPES]; /* in the order of vgpu_types */
	struct mdev_type *type_list[PARENT_TYPES];
};

static unsigned int gpus = 1;
module_param(gpus, uint, 0444);
MODULE_PARM_DESC(gpus, "number of GPUs, 1 to 32 (default 1)");

static char *discipline = "cap";
module_param(discipline, charp, 0444);
MODULE_PARM_DESC(discipline, "how vGPUs share a GPU: cap, guarantee or weight (default cap)");

static struct platform_device *devices[GPUS_MAX];

static const struct vgpu_type vgpu_types[PARENT_TYPES] = {
	{"GVTg_V5_8", 8, 64, 384, "1024x768"},
	{"GVTg_V5_4", 4, 128, 512, "1920x1200"},
	{"GVTg_V5_2", 2, 256, 1024, "1920x1200"},
	{"GVTg_V5_1", 1, 512, 2048, "1920x1200"},
};

/* --- vGPUs --- */

static const struct vgpu_type *type_of(const struct mdev_type *type)
{
	const struct parent *parent = container_of(type->parent, struct parent, mdev);

	return &vgpu_types[type - parent->types];
}

static unsigned int get_available(struct mdev_type *type)
{
	struct parent *parent = container_of(type->parent, struct parent, mdev);

	return gpu_room(&parent->gpu, type_of(type)->low_gm_mb);
}

static ssize_t show_description(struct mdev_type *type, char *buf)
{
	const struct vgpu_type *t = type_of(type);

	return sysfs_emit(buf,
			  "low_gm_size: %uMB\nhigh_gm_size: %uMB\nfence: %d\n"
			  "resolution: %s\nweight: %u\n",
			  t->low_gm_mb, t->high_gm_mb, 4, t->resolution, 16 / t->parts);
}

static int create_vgpu(struct mdev_device *mdev)
{
	struct parent *parent = container_of(mdev->type->parent, struct parent, mdev);
	const struct vgpu_type *type = type_of(mdev->type);
	struct vgpu *vgpu = kzalloc(sizeof(*vgpu), GFP_KERNEL);
	int r;

	if (!vgpu)
		return -ENOMEM;
	r = gpu_add(&parent->gpu, vgpu, type->low_gm_mb, 100 / type->parts);
	if (r < 0) {
		kfree(vgpu);
		return r;
	}
	dev_set_drvdata(mdev_dev(mdev), vgpu);
	return 0;
}

static void remove_vgpu(struct mdev_device *mdev)
{
	struct vgpu *vgpu = dev_get_drvdata(mdev_dev(mdev));

	gpu_remove(vgpu);
	kfree(vgpu);
}

/* --- files of a vGPU --- */

static struct vgpu_state state_of(struct device *dev)
{
	struct vgpu_state state;

	gpu_read(dev_get_drvdata(dev), &state);
	return state;
}

/*
 * Parses a number and passes it to @set. Returns -EINVAL if the text is not a number, -ERANGE if
 * the number does not fit a u32.
 */
static ssize_t store_number(struct device *dev, const char *buf, size_t count,
			    int (*set)(struct vgpu *vgpu, u32 number))
{
	u32 number;
	int r = kstrtou32(buf, 10, &number);

	if (r == 0)
		r = set(dev_get_drvdata(dev), number);
	return r < 0 ? r : count;
}

static ssize_t vgpu_id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct vgpu *vgpu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%d\n", vgpu->id);
}
static DEVICE_ATTR_RO(vgpu_id);

#define SHOW(name, format, value)                                                                \
	static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf) \
	{                                                                                        \
		return sysfs_emit(buf, format "\n", value);                                      \
	}
SHOW(cap, "%u", state_of(dev).cap_pct)
SHOW(initial_cap, "%u", state_of(dev).initial_cap_pct)
SHOW(cap_ceiling, "%u", state_of(dev).ceiling_pct)
SHOW(busy_time, "%llu", state_of(dev).busy_ns)
SHOW(sched_time, "%llu", state_of(dev).sched_ns)
SHOW(cap_lease_ms, "%llu", div_u64(state_of(dev).lease_ns, NSEC_PER_MSEC))
SHOW(load, "%u", state_of(dev).load_pct)

#define STORE(name, set)                                                               \
	static ssize_t name##_store(struct device *dev, struct device_attribute *attr, \
				    const char *buf, size_t count)                     \
	{                                                                              \
		return store_number(dev, buf, count, set);                             \
	}
STORE(cap, gpu_set_cap)
STORE(initial_cap, gpu_set_initial_cap)
STORE(cap_ceiling, gpu_set_ceiling)
STORE(cap_lease_ms, gpu_set_lease)
STORE(load, gpu_set_load)

static DEVICE_ATTR_RW(cap);
static DEVICE_ATTR_RW(initial_cap);
static DEVICE_ATTR_RW(cap_ceiling);
static DEVICE_ATTR_RO(busy_time);
static DEVICE_ATTR_RO(sched_time);
static DEVICE_ATTR_RW(cap_lease_ms);
static DEVICE_ATTR_RW(load);

static struct attribute *vgpu_attrs[] = {
	&dev_attr_vgpu_id.attr,	     &dev_attr_cap.attr,
	&dev_attr_initial_cap.attr,  &dev_attr_cap_ceiling.attr,
	&dev_attr_busy_time.attr,    &dev_attr_sched_time.attr,
	&dev_attr_cap_lease_ms.attr, NULL,
};

/* The folder intel_vgpu, which in i915 GVT-g contains vgpu_id. */
static const struct attribute_group vgpu_group = {
	.name = "intel_vgpu",
	.attrs = vgpu_attrs,
};

/* The tenant's load is outside of the folder intel_vgpu, because a real host has no such file. */
static struct attribute *tenant_attrs[] = {
	&dev_attr_load.attr,
	NULL,
};

static const struct attribute_group tenant_group = {
	.attrs = tenant_attrs,
};

static const struct attribute_group *groups[] = {
	&vgpu_group,
	&tenant_group,
	NULL,
};

static struct mdev_driver vgpu_driver = {
	/* Tools read this value, so it is the same as in i915 GVT-g. */
	.device_api = VFIO_DEVICE_API_PCI_STRING,
	.probe = create_vgpu,
	.remove = remove_vgpu,
	.get_available = get_available,
	.show_description = show_description,
	.driver.name = "gover_gvt_vgpu",
	.driver.owner = THIS_MODULE,
	.driver.mod_name = KBUILD_MODNAME,
	.driver.dev_groups = groups,
};

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
