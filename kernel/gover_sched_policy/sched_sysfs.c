/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The scheduling files in sysfs: those of a vGPU, in the folder intel_vgpu beside vgpu_id, and
 * gover_sharing of the GPU.
 *
 * The driver core removes the files, and waits until no process is in a show or store function,
 * before a vGPU is destroyed. Reading an open file later gives ENODEV. So a vGPU always exists
 * while one of its files is read or written.
 */
#include "i915_drv.h"
#include "gvt.h"
#include "sched_policy.h"

static struct intel_vgpu_sched_state state_of(struct device *dev)
{
	struct intel_vgpu_sched_state state;

	intel_vgpu_read_sched(dev_get_drvdata(dev), &state);
	return state;
}

/*
 * Parses a number and passes it to @set. Returns -EINVAL if the text is not a number, -ERANGE if
 * the number does not fit a u32.
 */
static ssize_t store_number(struct device *dev, const char *buf, size_t count,
			    int (*set)(struct intel_vgpu *vgpu, u32 number))
{
	u32 number;
	int r = kstrtou32(buf, 10, &number);

	if (r == 0)
		r = set(dev_get_drvdata(dev), number);
	return r < 0 ? r : count;
}

static ssize_t cap_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", state_of(dev).cap_pct);
}

static ssize_t cap_store(struct device *dev, struct device_attribute *attr, const char *buf,
			 size_t count)
{
	return store_number(dev, buf, count, intel_vgpu_set_cap);
}

static ssize_t initial_cap_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", state_of(dev).initial_cap_pct);
}

static ssize_t initial_cap_store(struct device *dev, struct device_attribute *attr, const char *buf,
				 size_t count)
{
	return store_number(dev, buf, count, intel_vgpu_set_initial_cap);
}

static ssize_t cap_ceiling_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", state_of(dev).ceiling_pct);
}

static ssize_t cap_ceiling_store(struct device *dev, struct device_attribute *attr, const char *buf,
				 size_t count)
{
	return store_number(dev, buf, count, intel_vgpu_set_ceiling);
}

static ssize_t busy_time_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", state_of(dev).busy_ns);
}

static ssize_t sched_time_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", state_of(dev).sched_ns);
}

static ssize_t cap_lease_ms_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", div_u64(state_of(dev).lease_ns, NSEC_PER_MSEC));
}

static ssize_t cap_lease_ms_store(struct device *dev, struct device_attribute *attr,
				  const char *buf, size_t count)
{
	return store_number(dev, buf, count, intel_vgpu_set_lease);
}

struct device_attribute intel_vgpu_sched_attrs[INTEL_VGPU_SCHED_ATTRS] = {
	__ATTR_RW(cap),	       __ATTR_RW(initial_cap),	__ATTR_RO(busy_time),
	__ATTR_RO(sched_time), __ATTR_RW(cap_lease_ms), __ATTR_RW(cap_ceiling),
};

/* --- the file of a GPU --- */

/*
 * i915->gvt becomes NULL before the file is removed. The removal waits until no process is in a
 * show or store function, and gvt is freed later.
 */
static struct intel_gvt *gvt_of(struct device *dev)
{
	return READ_ONCE(kdev_to_i915(dev)->gvt);
}

static ssize_t gover_sharing_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct intel_gvt *gvt = gvt_of(dev);

	return gvt ? sysfs_emit(buf, "%s\n", intel_gvt_sharing(gvt)) : -ENODEV;
}

static ssize_t gover_sharing_store(struct device *dev, struct device_attribute *attr,
				   const char *buf, size_t count)
{
	struct intel_gvt *gvt = gvt_of(dev);
	int r = gvt ? intel_gvt_set_sharing(gvt, buf) : -ENODEV;

	return r < 0 ? r : count;
}

struct device_attribute intel_gvt_sharing_attr = __ATTR_RW(gover_sharing);
