/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * This module is a stand-in for Intel's driver xe in tests. It offers only the settings of SR-IOV.
 * Its GPUs do no work. Never load it on a production host.
 *
 * A GPU is an emulated NVMe controller of QEMU with SR-IOV, which is not used as a disk. So the
 * virtual functions, their PCI devices and sriov_numvfs are those of the kernel. The module adds
 * sriov_admin (6.19), the PMU, and gover_sim, which no real host has.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "device.h"

static void free_device(struct device_xe *xe)
{
	gpu_stop_timer(xe->gpu);
	gpu_put(xe->gpu);
	kfree(xe);
}

static int add_files(struct device_xe *xe)
{
	int r = pmu_add(xe);

	if (r < 0)
		return r;
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
	pmu_remove(xe);
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
	pmu_remove(xe);
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
