/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The vGPUs as mediated devices: creation, removal and the files of each vGPU.
 *
 * The driver core removes the files, and waits until no process is in a show or store function,
 * before it calls remove(). Reading an open file later gives ENODEV. So a vGPU always exists while
 * one of its files is read or written.
 */
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/vfio.h>

#include "parent.h"

const struct vgpu_type vgpu_types[PARENT_TYPES] = {
	{"GVTg_V5_8", 8, 64, 384, "1024x768"},
	{"GVTg_V5_4", 4, 128, 512, "1920x1200"},
	{"GVTg_V5_2", 2, 256, 1024, "1920x1200"},
	{"GVTg_V5_1", 1, 512, 2048, "1920x1200"},
};

/* --- types --- */

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

/* --- files --- */

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
static ssize_t store_pct(struct device *dev, const char *buf, size_t count,
			 int (*set)(struct vgpu *vgpu, unsigned int pct))
{
	unsigned int pct;
	int r = kstrtouint(buf, 10, &pct);

	if (r == 0)
		r = set(dev_get_drvdata(dev), pct);
	return r < 0 ? r : count;
}

static ssize_t vgpu_id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct vgpu *vgpu = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%d\n", vgpu->id);
}
static DEVICE_ATTR_RO(vgpu_id);

static ssize_t cap_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", state_of(dev).cap_pct);
}

static ssize_t cap_store(struct device *dev, struct device_attribute *attr, const char *buf,
			 size_t count)
{
	return store_pct(dev, buf, count, gpu_set_cap);
}
static DEVICE_ATTR_RW(cap);

static ssize_t initial_cap_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", state_of(dev).initial_cap_pct);
}

static ssize_t initial_cap_store(struct device *dev, struct device_attribute *attr, const char *buf,
				 size_t count)
{
	return store_pct(dev, buf, count, gpu_set_initial_cap);
}
static DEVICE_ATTR_RW(initial_cap);

static ssize_t cap_ceiling_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", state_of(dev).ceiling_pct);
}

static ssize_t cap_ceiling_store(struct device *dev, struct device_attribute *attr, const char *buf,
				 size_t count)
{
	return store_pct(dev, buf, count, gpu_set_ceiling);
}
static DEVICE_ATTR_RW(cap_ceiling);

static ssize_t busy_time_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", state_of(dev).busy_ns);
}
static DEVICE_ATTR_RO(busy_time);

static ssize_t sched_time_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", state_of(dev).sched_ns);
}
static DEVICE_ATTR_RO(sched_time);

static ssize_t cap_lease_ms_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", div_u64(state_of(dev).lease_ns, NSEC_PER_MSEC));
}

static ssize_t cap_lease_ms_store(struct device *dev, struct device_attribute *attr,
				  const char *buf, size_t count)
{
	u32 lease_ms;
	int r = kstrtou32(buf, 10, &lease_ms);

	if (r < 0)
		return r;
	gpu_set_lease(dev_get_drvdata(dev), lease_ms);
	return count;
}
static DEVICE_ATTR_RW(cap_lease_ms);

static ssize_t load_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", state_of(dev).load_pct);
}

static ssize_t load_store(struct device *dev, struct device_attribute *attr, const char *buf,
			  size_t count)
{
	return store_pct(dev, buf, count, gpu_set_load);
}
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

struct mdev_driver vgpu_driver = {
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
