/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The folder sriov_admin: names, permissions, formats and errors as in
 * Documentation/ABI/testing/sysfs-driver-intel-xe-sriov (17b95278ae6a), which is shipped in
 * tests/kernel/xe/, and as in drivers/gpu/drm/xe/xe_sriov_pf_sysfs.c (17899358f66d) where the
 * document is silent. There is no vram_quota, because this GPU has no memory of its own.
 */
#include <linux/err.h>
#include <linux/kstrtox.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "device.h"

static const char *const priorities[] = {
	[QUANTA_LOW] = "low",
	[QUANTA_NORMAL] = "normal",
	[QUANTA_HIGH] = "high",
};

struct profile_attr {
	struct attribute attr;
	ssize_t (*show)(struct folder *folder, char *buf);
	ssize_t (*store)(struct folder *folder, const char *buf);
};

/* --- values --- */

static int read_state(struct folder *folder, struct gpu_state *ret_state)
{
	int fault = READ_ONCE(folder->xe->fault);

	if (fault == -EUCLEAN)
		return fault;
	gpu_read(folder->gpu, folder->function, ret_state);
	return 0;
}

/* @function: a number, or GPU_ALL. */
static ssize_t store_setting(struct folder *folder, unsigned int function, enum gpu_setting setting,
			     u32 value)
{
	int fault = READ_ONCE(folder->xe->fault);

	if (fault < 0 && fault != -EUCLEAN)
		return fault;
	gpu_set(folder->gpu, function, setting, value);
	return 0;
}

static ssize_t store_number(struct folder *folder, unsigned int function, enum gpu_setting setting,
			    const char *buf)
{
	u32 value;
	int r = kstrtou32(buf, 0, &value);

	return r < 0 ? r : store_setting(folder, function, setting, value);
}

static ssize_t store_priority(struct folder *folder, unsigned int function, size_t n_priorities,
			      const char *buf)
{
	int i = __sysfs_match_string(priorities, n_priorities, buf);

	return i < 0 ? -EINVAL : store_setting(folder, function, GPU_PRIORITY, i);
}

/* --- the folder profile of a function --- */

static ssize_t show_quantum(struct folder *folder, char *buf)
{
	struct gpu_state state;
	int r = read_state(folder, &state);

	return r < 0 ? r : sysfs_emit(buf, "%u\n", state.quantum_ms);
}

static ssize_t store_quantum(struct folder *folder, const char *buf)
{
	return store_number(folder, folder->function, GPU_QUANTUM_MS, buf);
}

static ssize_t show_timeout(struct folder *folder, char *buf)
{
	struct gpu_state state;
	int r = read_state(folder, &state);

	return r < 0 ? r : sysfs_emit(buf, "%u\n", state.timeout_us);
}

static ssize_t store_timeout(struct folder *folder, const char *buf)
{
	return store_number(folder, folder->function, GPU_TIMEOUT_US, buf);
}

/* Only the PF can have "high". */
static size_t n_priorities(const struct folder *folder)
{
	return folder->function == QUANTA_PF ? 3 : 2;
}

static ssize_t show_priority(struct folder *folder, char *buf)
{
	struct gpu_state state;
	int r = read_state(folder, &state);
	size_t i;
	int n = 0;

	if (r < 0)
		return r;
	for (i = 0; i < n_priorities(folder); i++)
		n += sysfs_emit_at(buf, n, i == state.priority ? "%s[%s]" : "%s%s", i ? " " : "",
				   priorities[i]);
	return n + sysfs_emit_at(buf, n, "\n");
}

static ssize_t store_own_priority(struct folder *folder, const char *buf)
{
	if (folder->function != QUANTA_PF)
		return -EOPNOTSUPP;
	return store_priority(folder, folder->function, n_priorities(folder), buf);
}

static ssize_t store_stop(struct folder *folder, const char *buf)
{
	bool stop;
	int r = kstrtobool(buf, &stop);

	if (r == 0 && stop)
		gpu_stop_vf(folder->gpu, folder->function);
	return r;
}

static struct profile_attr quantum = {{"exec_quantum_ms", 0644}, show_quantum, store_quantum};

static struct profile_attr timeout = {{"preempt_timeout_us", 0644}, show_timeout, store_timeout};

static struct profile_attr priority = {{"sched_priority", 0644}, show_priority, store_own_priority};

static struct profile_attr stop = {{"stop", 0200}, NULL, store_stop};

static struct attribute *profile_attrs[] = {
	&quantum.attr,
	&timeout.attr,
	&priority.attr,
	NULL,
};

/* The firmware can change only the priority of the PF alone. */
static umode_t profile_mode(struct kobject *kobj, struct attribute *attr, int i)
{
	bool fixed = attr == &priority.attr && folder_of(kobj)->function != QUANTA_PF;

	return fixed ? attr->mode & 0444 : attr->mode;
}

static const struct attribute_group profile_group = {
	.name = "profile",
	.attrs = profile_attrs,
	.is_visible = profile_mode,
};

static const struct attribute_group *pf_groups[] = {
	&profile_group,
	NULL,
};

static struct attribute *vf_attrs[] = {
	&stop.attr,
	NULL,
};

static const struct attribute_group vf_group = {
	.attrs = vf_attrs,
};

static const struct attribute_group *vf_groups[] = {
	&profile_group,
	&vf_group,
	NULL,
};

/* --- the folder .bulk_profile --- */

static ssize_t store_all_quanta(struct folder *folder, const char *buf)
{
	return store_number(folder, GPU_ALL, GPU_QUANTUM_MS, buf);
}

static ssize_t store_all_timeouts(struct folder *folder, const char *buf)
{
	return store_number(folder, GPU_ALL, GPU_TIMEOUT_US, buf);
}

/* "high" is not available, because a VF cannot have it. */
static ssize_t store_all_priorities(struct folder *folder, const char *buf)
{
	return store_priority(folder, GPU_ALL, 2, buf);
}

static struct profile_attr all_quanta = {{"exec_quantum_ms", 0200}, NULL, store_all_quanta};

static struct profile_attr all_timeouts = {{"preempt_timeout_us", 0200}, NULL, store_all_timeouts};

static struct profile_attr all_priorities = {{"sched_priority", 0200}, NULL, store_all_priorities};

static struct attribute *bulk_attrs[] = {
	&all_quanta.attr,
	&all_timeouts.attr,
	&all_priorities.attr,
	NULL,
};

static const struct attribute_group bulk_group = {
	.name = ".bulk_profile",
	.attrs = bulk_attrs,
};

static const struct attribute_group *admin_groups[] = {
	&bulk_group,
	NULL,
};

/* --- kobjects --- */

static ssize_t show(struct kobject *kobj, struct attribute *attr, char *buf)
{
	const struct profile_attr *profile = container_of(attr, struct profile_attr, attr);

	return profile->show ? profile->show(folder_of(kobj), buf) : -EPERM;
}

static ssize_t store(struct kobject *kobj, struct attribute *attr, const char *buf, size_t count)
{
	const struct profile_attr *profile = container_of(attr, struct profile_attr, attr);
	ssize_t r = profile->store ? profile->store(folder_of(kobj), buf) : -EPERM;

	return r < 0 ? r : count;
}

static const struct sysfs_ops ops = {
	.show = show,
	.store = store,
};

static const struct kobj_type admin_type = {
	.release = folder_release,
	.sysfs_ops = &ops,
	.default_groups = admin_groups,
};

static const struct kobj_type pf_type = {
	.release = folder_release,
	.sysfs_ops = &ops,
	.default_groups = pf_groups,
};

static const struct kobj_type vf_type = {
	.release = folder_release,
	.sysfs_ops = &ops,
	.default_groups = vf_groups,
};

void folder_release(struct kobject *kobj)
{
	struct folder *folder = folder_of(kobj);

	gpu_put(folder->gpu);
	kfree(folder);
}

struct folder *folder_add(struct device_xe *xe, struct kobject *parent,
			  const struct kobj_type *type, unsigned int function, const char *name)
{
	struct folder *folder = kzalloc(sizeof(*folder), GFP_KERNEL);
	int r;

	if (!folder)
		return ERR_PTR(-ENOMEM);
	gpu_get(xe->gpu);
	folder->gpu = xe->gpu;
	folder->xe = xe;
	folder->function = function;
	r = kobject_init_and_add(&folder->kobj, type, parent, "%s", name);
	if (r < 0) {
		kobject_put(&folder->kobj);
		return ERR_PTR(r);
	}
	return folder;
}

/* Waits until no process is in a show or store function. */
void folder_remove(struct folder *folder)
{
	if (!folder)
		return;
	kobject_del(&folder->kobj);
	kobject_put(&folder->kobj);
}

/* --- the tree --- */

static int add_function(struct device_xe *xe, unsigned int function)
{
	bool pf = function == QUANTA_PF;
	struct folder *folder;
	char name[16];

	snprintf(name, sizeof(name), pf ? "pf" : "vf%u", function);
	folder = folder_add(xe, &xe->admin->kobj, pf ? &pf_type : &vf_type, function, name);
	if (IS_ERR(folder))
		return PTR_ERR(folder);
	xe->functions[function] = folder;
	return pf ? sysfs_create_link(&folder->kobj, &xe->pdev->dev.kobj, "device") : 0;
}

int admin_add(struct device_xe *xe)
{
	struct folder *admin =
		folder_add(xe, &xe->pdev->dev.kobj, &admin_type, QUANTA_PF, "sriov_admin");
	unsigned int i;
	int r = 0;

	if (IS_ERR(admin))
		return PTR_ERR(admin);
	xe->admin = admin;
	for (i = 0; r == 0 && i <= xe->total_vfs; i++)
		r = add_function(xe, i);
	if (r < 0)
		admin_remove(xe);
	return r;
}

void admin_remove(struct device_xe *xe)
{
	unsigned int i;

	for (i = 0; i <= xe->total_vfs; i++)
		folder_remove(xe->functions[i]);
	folder_remove(xe->admin);
}

void admin_link_vfs(struct device_xe *xe, unsigned int n_vfs)
{
	struct pci_dev *vf = NULL;

	while ((vf = pci_get_device(PCI_ANY_ID, PCI_ANY_ID, vf))) {
		int i = pci_physfn(vf) == xe->pdev && vf->is_virtfn ? pci_iov_vf_id(vf) : -1;

		/* VF 1 has the index 0. */
		if (i >= 0 && i < n_vfs &&
		    sysfs_create_link(&xe->functions[i + 1]->kobj, &vf->dev.kobj, "device") < 0)
			pci_warn(xe->pdev, "VF %d has no link to its device\n", i + 1);
	}
}

void admin_unlink_vfs(struct device_xe *xe, unsigned int n_vfs)
{
	unsigned int i;

	for (i = 1; i <= n_vfs; i++)
		sysfs_remove_link(&xe->functions[i]->kobj, "device");
}
