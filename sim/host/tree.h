/* SPDX-License-Identifier: MIT */
/*
 * The sysfs tree of a host with simulated GPUs: its directories, links and files, the effects of
 * reading and writing them, and the errors that a kernel returns. The caller passes the time.
 *
 * A GVT-g host:
 *   class/mdev_bus/GPU                      -> the GPU
 *   bus/mdev/devices/UUID                   -> the vGPU
 *   devices/pci0000:00/GPU/gover_sharing
 *   devices/pci0000:00/GPU/mdev_supported_types/TYPE/{name,description,available_instances,
 *                                            device_api,create,devices/UUID}
 *   devices/pci0000:00/GPU/UUID/{remove,mdev_type,load}
 *   devices/pci0000:00/GPU/UUID/intel_vgpu/{vgpu_id,cap,initial_cap,busy_time,sched_time,
 *                                            cap_lease_ms,cap_ceiling}
 *
 * The file "load" does not exist on real hosts. Writing to it sets the workload of the tenant: a
 * demand in percent of the whole GPU, or a text as in sim/model/workload.h.
 *
 * A host with Intel's xe driver and SR-IOV, where PF and VF are PCI addresses:
 *   bus/pci/drivers/xe/PF                   -> the PF
 *   bus/pci/devices/{PF,VF}                 -> the PF or VF
 *   devices/pci0000:00/PF/{sriov_totalvfs,sriov_numvfs,sriov_drivers_autoprobe,vendor,device,class}
 *   devices/pci0000:00/PF/{driver,virtfnN}  -> the driver, the VFs
 *   devices/pci0000:00/PF/sriov_admin/.bulk_profile/{exec_quantum_ms,preempt_timeout_us,
 *                                                    sched_priority}
 *   devices/pci0000:00/PF/sriov_admin/{pf,vfN}/profile/{the same}
 *   devices/pci0000:00/PF/sriov_admin/{pf,vfN}/counters/{engine_active_ticks,engine_total_ticks}
 *   devices/pci0000:00/PF/sriov_admin/{pf,vfN}/device -> the function
 *   devices/pci0000:00/PF/sriov_admin/vfN/stop
 *   devices/pci0000:00/PF/gover_sim/{pf,vfN,fault}
 *   devices/pci0000:00/VF/{vendor,device,class}
 *   devices/pci0000:00/VF/physfn            -> the PF
 *
 * The folders "counters" and "gover_sim" do not exist on real hosts. A real host has the counters
 * in a PMU. gover_sim contains the load of each function, and an error for tests.
 */
#ifndef SIM_HOST_TREE_H
#define SIM_HOST_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TREE_GPUS_MAX  32
#define TREE_VGPUS_MAX 256  /* per GPU */
#define TREE_VFS_MAX   127  /* per GPU */
#define TREE_TEXT_MAX  4096 /* maximum size of a file in bytes, as in sysfs */
#define TREE_NAME_MAX  40
#define TREE_LINK_MAX  256

struct tree;
struct tree_gpu;
struct tree_vgpu;
struct tree_attr;

enum tree_host {
	TREE_GVT,
	TREE_XE,
};

enum tree_kind {
	TREE_ROOT,
	TREE_BUS,
	TREE_BUS_MDEV,
	TREE_BUS_DEVICES,
	TREE_CLASS,
	TREE_CLASS_MDEV,
	TREE_DEVICES,
	TREE_PCI,
	TREE_GPU,
	TREE_TYPES,
	TREE_TYPE,
	TREE_TYPE_DEVICES,
	TREE_VGPU,
	TREE_VGPU_GROUP,
	TREE_XE_ROOT,
	TREE_XE_BUS,
	TREE_XE_BUS_PCI,
	TREE_XE_BUS_DEVICES,
	TREE_XE_DRIVERS,
	TREE_XE_DRIVER,
	TREE_XE_DEVICES,
	TREE_XE_PCI,
	TREE_XE_PF,
	TREE_XE_VF,
	TREE_XE_ADMIN,
	TREE_XE_BULK,
	TREE_XE_PF_FUNCTION,
	TREE_XE_VF_FUNCTION,
	TREE_XE_PF_PROFILE,
	TREE_XE_VF_PROFILE,
	TREE_XE_COUNTERS,
	TREE_XE_SIM,
	TREE_LINK, /* all kinds except TREE_LINK and TREE_ATTR are directories */
	TREE_ATTR,
};

/*
 * An entry of the tree. Plain data that callers may copy. A caller that stores a node must call
 * tree_hold().
 */
struct tree_node {
	enum tree_kind kind;
	struct tree_gpu *gpu;
	int type;		      /* index of the vGPU type */
	struct tree_vgpu *vgpu;	      /* vGPU of this entry; NULL: none */
	unsigned int function;	      /* number of the SR-IOV function; 0: the PF */
	const struct tree_attr *attr; /* TREE_ATTR */
	enum tree_kind from;	      /* TREE_LINK: kind of the directory that contains the link */
};

/*
 * Creates a tree of @gpus GPUs. @vgpus: TREE_GVT: the number of vGPUs of the smallest type that fit
 * into the memory of a GPU; TREE_XE: the number of VFs of a GPU, at most TREE_VFS_MAX.
 */
struct tree *tree_new(enum tree_host host, int gpus, int vgpus);
struct tree *tree_free(struct tree *tree); /* accepts NULL; returns NULL */

/*
 * tree_set_now() sets the current time. A GPU advances to that time when the GPU is accessed.
 * tree_advance() advances all GPUs.
 */
void tree_set_now(struct tree *tree, uint64_t now_ns);
void tree_advance(struct tree *tree);

/* Finds the node at the absolute path @path. -ENOENT, -ENOTDIR. */
int tree_find(struct tree *tree, const char *path, struct tree_node *ret_node);

/*
 * tree_each() calls @found for each entry of the directory @dir until @found returns a value that
 * is not 0. Returns this value, or 0 after the last entry.
 */
typedef int (*tree_found_fn)(void *userdata, const char *name, const struct tree_node *node);
int tree_each(struct tree *tree, const struct tree_node *dir, tree_found_fn found, void *userdata);

/* Returns file type and permissions, as in st_mode. */
mode_t tree_mode(const struct tree_node *node);
void tree_link_text(const struct tree_node *link, char text[TREE_LINK_MAX]);
/*
 * Returns the number of the inode. As in sysfs, an entry keeps its number, and an entry that is
 * created again gets another one.
 */
uint64_t tree_inode(const struct tree_node *node);

/* Keeps the vGPU of @node in memory until tree_release(), even if the vGPU is removed. */
void tree_hold(const struct tree_node *node);
void tree_release(const struct tree_node *node);

/* Returns 0, or -EACCES if the mode of the file forbids this access. Modes apply to root too. */
int tree_check_access(const struct tree_node *attr, bool reads, bool writes);

/*
 * Reads the file @attr, including the newline at its end. Returns the length, -EACCES, or -ENODEV
 * if the vGPU or VF was removed. -EUCLEAN: the file gover_sim/fault demands it.
 */
int tree_read(const struct tree_node *attr, char text[TREE_TEXT_MAX]);

/*
 * Writes @text to the file @attr like one call of write(). Returns 0, -EACCES, -ENODEV, -EINVAL
 * (syntax), -ERANGE (number too large), -EPERM (initial cap is read-only after a cap was set),
 * -EEXIST or -ENOSPC; of an SR-IOV host also -EBUSY (VFs are enabled) and the error of
 * gover_sim/fault.
 */
int tree_write(const struct tree_node *attr, const char *text, size_t length);

#endif
