/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * This module is a stand-in for Intel's driver xe in tests. It offers only the settings of SR-IOV.
 * Its GPUs do no work. Never load it on a production host.
 *
 * A GPU is an emulated NVMe controller of QEMU with SR-IOV, which is not used as a disk. So the
 * virtual functions, their PCI devices and sriov_numvfs are those of the kernel. The module adds
 * sriov_admin (6.19), the PMU, and gover_sim, which no real host has.
 */
#include <linux/err.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "gpu.h"
#include "pmu.h"

/* A folder of a function, or the folder sriov_admin itself. Freed with its last reference. */
struct folder {
	struct kobject kobj;
	struct gpu *gpu;
	struct device_xe *xe;
	unsigned int function;
};

/* One physical function and its files. */
struct device_xe {
	struct pci_dev *pdev;
	struct gpu *gpu;
	unsigned int total_vfs;
	/* An error that the files of profiles return: -EUCLEAN for reads, others for writes. */
	int fault;
	struct folder *admin;
	struct folder *functions[QUANTA_GPU_FUNCTIONS_MAX];
	struct folder *tenants;
	struct counters *counters;
};

/* --- folders --- */

static struct folder *folder_of(struct kobject *kobj)
{
	return container_of(kobj, struct folder, kobj);
}

/* The release function of a kobj_type. */
static void folder_release(struct kobject *kobj)
{
	struct folder *folder = folder_of(kobj);

	gpu_put(folder->gpu);
	kfree(folder);
}

/* Returns a new folder @name in @parent, or an error pointer. End it with folder_remove(). */
static struct folder *folder_add(struct device_xe *xe, struct kobject *parent,
				 const struct kobj_type *type, unsigned int function,
				 const char *name)
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

/* Waits until no process is in a show or store function. Accepts NULL. */
static void folder_remove(struct folder *folder)
{
	if (!folder)
		return;
	kobject_del(&folder->kobj);
	kobject_put(&folder->kobj);
}

/* --- sriov_admin --- */

/*
 * The folder sriov_admin: names, permissions, formats and errors as in
 * Documentation/ABI/testing/sysfs-driver-intel-xe-sriov (17b95278ae6a), which is shipped in
 * tests/kernel/xe/, and as in drivers/gpu/drm/xe/xe_sriov_pf_sysfs.c (17899358f66d) where the
 * document is silent. There is no vram_quota, because this GPU has no memory of its own.
 */
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

static void admin_remove(struct device_xe *xe)
{
	unsigned int i;

	for (i = 0; i <= xe->total_vfs; i++)
		folder_remove(xe->functions[i]);
	folder_remove(xe->admin);
}

static int admin_add(struct device_xe *xe)
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

/* Adds the links of the VFs 1 to @n_vfs to their PCI devices. */
static void admin_link_vfs(struct device_xe *xe, unsigned int n_vfs)
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

static void admin_unlink_vfs(struct device_xe *xe, unsigned int n_vfs)
{
	unsigned int i;

	for (i = 1; i <= n_vfs; i++)
		sysfs_remove_link(&xe->functions[i]->kobj, "device");
}

/* --- gover_sim --- */

/*
 * The folder gover_sim of a PF, which no real host has: the demand of each function, and errors of
 * the folder sriov_admin for tests.
 */
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

static ssize_t show_tenant(struct kobject *kobj, struct attribute *attr, char *buf)
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

static ssize_t store_tenant(struct kobject *kobj, struct attribute *attr, const char *buf,
			    size_t count)
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

static const struct sysfs_ops tenant_ops = {
	.show = show_tenant,
	.store = store_tenant,
};

static const struct kobj_type tenant_type = {
	.release = folder_release,
	.sysfs_ops = &tenant_ops,
};

/* The same for all GPUs: index 0 is the PF, the last row "fault". */
static struct load_attr tenant_attrs[QUANTA_GPU_FUNCTIONS_MAX + 1];

static const struct attribute *tenant_attr_of(unsigned int i)
{
	struct load_attr *load = &tenant_attrs[i];

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

static void tenants_remove(struct device_xe *xe)
{
	folder_remove(xe->tenants);
}

static int tenants_add(struct device_xe *xe)
{
	struct folder *folder =
		folder_add(xe, &xe->pdev->dev.kobj, &tenant_type, QUANTA_PF, "gover_sim");
	unsigned int i;
	int r;

	if (IS_ERR(folder))
		return PTR_ERR(folder);
	xe->tenants = folder;
	r = sysfs_create_file(&folder->kobj, tenant_attr_of(QUANTA_GPU_FUNCTIONS_MAX));
	for (i = 0; r == 0 && i <= xe->total_vfs; i++)
		r = sysfs_create_file(&folder->kobj, tenant_attr_of(i));
	if (r < 0)
		tenants_remove(xe);
	return r;
}

/* --- the device --- */

static void free_device(struct device_xe *xe)
{
	gpu_stop_timer(xe->gpu);
	gpu_put(xe->gpu);
	kfree(xe);
}

static int add_files(struct device_xe *xe)
{
	int r;

	xe->counters = pmu_add(xe->gpu, xe->pdev);
	if (IS_ERR(xe->counters))
		return PTR_ERR(xe->counters);
	r = tenants_add(xe);
	if (r < 0)
		goto no_pmu;
	r = admin_add(xe);
	if (r < 0)
		goto no_tenants;
	return 0;

no_tenants:
	tenants_remove(xe);
no_pmu:
	pmu_remove(xe->counters);
	return r;
}

static int probe_pf(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct device_xe *xe;
	int r;

	/* VFs have no driver here; a VM would use vfio-pci. */
	if (pdev->is_virtfn || pci_sriov_get_totalvfs(pdev) <= 0)
		return -ENODEV;
	xe = kzalloc(sizeof(*xe), GFP_KERNEL);
	if (!xe)
		return -ENOMEM;
	xe->pdev = pdev;
	xe->total_vfs = min(pci_sriov_get_totalvfs(pdev), QUANTA_GPU_FUNCTIONS_MAX - 1);
	xe->gpu = gpu_new(xe->total_vfs);
	if (!xe->gpu) {
		kfree(xe);
		return -ENOMEM;
	}
	pci_set_drvdata(pdev, xe);
	r = add_files(xe);
	if (r < 0)
		free_device(xe);
	return r;
}

static void disable_vfs(struct device_xe *xe)
{
	unsigned int n_vfs = pci_num_vf(xe->pdev);

	if (n_vfs == 0)
		return;
	admin_unlink_vfs(xe, n_vfs);
	pci_disable_sriov(xe->pdev);
	gpu_set_vfs(xe->gpu, 0);
}

static void remove_pf(struct pci_dev *pdev)
{
	struct device_xe *xe = pci_get_drvdata(pdev);

	disable_vfs(xe);
	admin_remove(xe);
	tenants_remove(xe);
	pmu_remove(xe->counters);
	free_device(xe);
}

/* A write to sriov_numvfs. The PCI core has checked the range. */
static int configure_vfs(struct pci_dev *pdev, int n_vfs)
{
	struct device_xe *xe = pci_get_drvdata(pdev);
	int r;

	if (n_vfs == 0) {
		disable_vfs(xe);
		return 0;
	}
	if (n_vfs > xe->total_vfs)
		return -ERANGE;
	gpu_set_vfs(xe->gpu, n_vfs);
	r = pci_enable_sriov(pdev, n_vfs);
	if (r < 0) {
		gpu_set_vfs(xe->gpu, 0);
		return r;
	}
	admin_link_vfs(xe, n_vfs);
	return n_vfs;
}

/* No MODULE_DEVICE_TABLE(): the module must never be loaded for a real NVMe controller. */
static const struct pci_device_id ids[] = {
	{PCI_DEVICE(PCI_VENDOR_ID_REDHAT, 0x0010)},
	{},
};

/* The name of the driver is a part of the paths in the ABI document. */
static struct pci_driver xe_driver = {
	.name = "xe",
	.id_table = ids,
	.probe = probe_pf,
	.remove = remove_pf,
	.sriov_configure = configure_vfs,
	/* In Linux 6.1 a PMU must not disappear while one of its events is open. */
	.driver.suppress_bind_attrs = true,
};
module_pci_driver(xe_driver);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Simulated Intel GPU with SR-IOV, for the tests of gover");
