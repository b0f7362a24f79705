/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The folder gover_sim of a PF, which no real host has: the demand of each function, and errors of
 * the folder sriov_admin for tests.
 */
#include <linux/err.h>
#include <linux/kstrtox.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "device.h"

struct load_attr {
	struct attribute attr;
	unsigned int function;
	char name[8];
};

#define FAULT UINT_MAX /* the file "fault" instead of a function */

static const struct {
	const char *name;
	int error;
} faults[] = {
	{"none", 0}, {"EUCLEAN", -EUCLEAN}, {"EINVAL", -EINVAL}, {"EPERM", -EPERM}, {"EIO", -EIO},
};

static ssize_t show_fault(struct device_xe *xe, char *buf)
{
	size_t i = ARRAY_SIZE(faults) - 1;

	while (i > 0 && faults[i].error != READ_ONCE(xe->fault))
		i--;
	return sysfs_emit(buf, "%s\n", faults[i].name);
}

static int store_fault(struct device_xe *xe, const char *buf)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (sysfs_streq(buf, faults[i].name)) {
			WRITE_ONCE(xe->fault, faults[i].error);
			return 0;
		}
	}
	return -EINVAL;
}

static ssize_t show(struct kobject *kobj, struct attribute *attr, char *buf)
{
	const struct load_attr *load = container_of(attr, struct load_attr, attr);
	struct gpu_state state;

	if (load->function == FAULT)
		return show_fault(folder_of(kobj)->xe, buf);
	gpu_read(folder_of(kobj)->gpu, load->function, &state);
	if (state.load_pct == QUANTA_GPU_ENDLESS)
		return sysfs_emit(buf, "endless\n");
	return sysfs_emit(buf, "%u\n", state.load_pct);
}

static int store_load(struct gpu *gpu, unsigned int function, const char *buf)
{
	struct gpu_state state;
	u8 load_pct;
	int r;

	gpu_read(gpu, function, &state);
	if (!state.enabled)
		return -ENODEV;
	if (sysfs_streq(buf, "endless"))
		return gpu_set_load(gpu, function, QUANTA_GPU_ENDLESS);
	r = kstrtou8(buf, 10, &load_pct);
	if (r == 0 && load_pct > 100)
		r = -EINVAL;
	return r < 0 ? r : gpu_set_load(gpu, function, load_pct);
}

static ssize_t store(struct kobject *kobj, struct attribute *attr, const char *buf, size_t count)
{
	const struct load_attr *load = container_of(attr, struct load_attr, attr);
	struct folder *folder = folder_of(kobj);
	int r;

	if (load->function == FAULT)
		r = store_fault(folder->xe, buf);
	else
		r = store_load(folder->gpu, load->function, buf);
	return r < 0 ? r : count;
}

static const struct sysfs_ops ops = {
	.show = show,
	.store = store,
};

static const struct kobj_type type = {
	.release = folder_release,
	.sysfs_ops = &ops,
};

/* The same for all GPUs: index 0 is the PF, the last row "fault". */
static struct load_attr attrs[QUANTA_GPU_FUNCTIONS_MAX + 1];

static const struct attribute *attr_of(unsigned int i)
{
	struct load_attr *load = &attrs[i];

	load->function = i;
	if (i == QUANTA_GPU_FUNCTIONS_MAX)
		load->function = FAULT;
	snprintf(load->name, sizeof(load->name),
		 load->function == FAULT ? "fault"
		 : i == QUANTA_PF	 ? "pf"
					 : "vf%u",
		 i);
	load->attr.name = load->name;
	load->attr.mode = 0644;
	return &load->attr;
}

int tenants_add(struct device_xe *xe)
{
	struct folder *folder = folder_add(xe, &xe->pdev->dev.kobj, &type, QUANTA_PF, "gover_sim");
	unsigned int i;
	int r;

	if (IS_ERR(folder))
		return PTR_ERR(folder);
	xe->tenants = folder;
	r = sysfs_create_file(&folder->kobj, attr_of(QUANTA_GPU_FUNCTIONS_MAX));
	for (i = 0; r == 0 && i <= xe->total_vfs; i++)
		r = sysfs_create_file(&folder->kobj, attr_of(i));
	if (r < 0)
		tenants_remove(xe);
	return r;
}

void tenants_remove(struct device_xe *xe)
{
	folder_remove(xe->tenants);
}
