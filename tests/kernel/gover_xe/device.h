/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Shared by the files of gover_xe: one physical function and its files. */
#ifndef TESTS_KERNEL_GOVER_XE_DEVICE_H
#define TESTS_KERNEL_GOVER_XE_DEVICE_H

#include <linux/kobject.h>
#include <linux/pci.h>
#include <linux/perf_event.h>

#include "gpu.h"

/* A folder of a function, or the folder sriov_admin itself. Freed with its last reference. */
struct folder {
	struct kobject kobj;
	struct gpu *gpu;
	struct device_xe *xe;
	unsigned int function;
};

/* The PMU. An open event has a reference, because it can outlive the device. */
struct counters {
	struct kref kref;
	struct pmu pmu;
	struct gpu *gpu; /* a reference */
	bool registered;
	char name[32];
};

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

/*
 * The folder sriov_admin of the PF, admin.c. admin_link_vfs() adds the links of the VFs 1 to @n_vfs
 * to their PCI devices; admin_unlink_vfs() removes them.
 */
int admin_add(struct device_xe *xe);
void admin_remove(struct device_xe *xe);
void admin_link_vfs(struct device_xe *xe, unsigned int n_vfs);
void admin_unlink_vfs(struct device_xe *xe, unsigned int n_vfs);

/* The folder gover_sim of the PF, tenants.c. */
int tenants_add(struct device_xe *xe);
void tenants_remove(struct device_xe *xe);

/* The PMU of the GPU, pmu.c. */
int pmu_add(struct device_xe *xe);
void pmu_remove(struct device_xe *xe);

/* Returns a new folder @name in @parent, or an error pointer. End it with folder_remove(). */
struct folder *folder_add(struct device_xe *xe, struct kobject *parent,
			  const struct kobj_type *type, unsigned int function, const char *name);
void folder_remove(struct folder *folder); /* accepts NULL */
void folder_release(struct kobject *kobj); /* for a kobj_type */

static inline struct folder *folder_of(struct kobject *kobj)
{
	return container_of(kobj, struct folder, kobj);
}

#endif
