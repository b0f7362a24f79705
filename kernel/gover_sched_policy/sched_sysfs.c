/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The scheduling files of a vGPU in sysfs, in the folder intel_vgpu beside vgpu_id.
 *
 * The driver core removes the files, and waits until no process is in a show or store function,
 * before a vGPU is destroyed. Reading an open file later gives ENODEV. So a vGPU always exists
 * while one of its files is read or written.
 */
#include "i915_drv.h"
#include "gvt.h"

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
	__ATTR_RO(sched_time), __ATTR_RW(cap_lease_ms),
};
