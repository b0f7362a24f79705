/* SPDX-License-Identifier: MIT */
/*
 * The sysfs tree of a host with GVT-g, over simulated GPUs: which directories, links and files
 * there are, what reading and writing each does, and the errors a kernel gives for it. Time is
 * handed in; who mounts it is not known here.
 *
 *   class/mdev_bus/GPU                      -> the GPU
 *   bus/mdev/devices/UUID                   -> the vGPU
 *   devices/pci0000:00/GPU/mdev_supported_types/TYPE/{name,description,available_instances,
 *                                            device_api,create,devices/UUID}
 *   devices/pci0000:00/GPU/UUID/{remove,mdev_type,load}
 *   devices/pci0000:00/GPU/UUID/intel_vgpu/{vgpu_id,cap,initial_cap,busy_time,sched_time,
 *                                            cap_lease_ms}
 *
 * load is the tenant, and the only file no real host has: a number of percent it wants of the whole
 * GPU, or a workload (sim/model/workload.h).
 */
#ifndef SIM_HOST_TREE_H
#define SIM_HOST_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TREE_GPUS_MAX  32
#define TREE_VGPUS_MAX 256  /* of one GPU */
#define TREE_TEXT_MAX  4096 /* of a file, as in sysfs */
#define TREE_NAME_MAX  40
#define TREE_LINK_MAX  256

struct tree;
struct tree_gpu;
struct tree_vgpu;
struct tree_attr;

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
	TREE_LINK, /* the first that is no directory */
	TREE_ATTR,
};

/* One name in the tree. Plain data; what holds it longer than a call uses tree_hold(). */
struct tree_node {
	enum tree_kind kind;
	struct tree_gpu *gpu;
	int type;		      /* of a vGPU; index */
	struct tree_vgpu *vgpu;	      /* NULL: belongs to none */
	const struct tree_attr *attr; /* TREE_ATTR */
	enum tree_kind from;	      /* TREE_LINK: the directory it stands in */
};

/* @gpus GPUs, each with room for @vgpus vGPUs of the smallest type. -ENOMEM. */
int tree_new(int gpus, int vgpus, struct tree **ret_tree);
struct tree *tree_free(struct tree *tree); /* NULL is fine; returns NULL */

/* The instant, in GPU time, of everything that is done from now on. */
void tree_set_now(struct tree *tree, uint64_t now_ns);
/* Brings every GPU up to that instant. */
void tree_advance(struct tree *tree);

/* The node at an absolute path. -ENOENT, -ENOTDIR. */
int tree_find(struct tree *tree, const char *path, struct tree_node *ret_node);

/* Calls @found for each name in a directory until it returns not 0, and returns that. */
typedef int (*tree_found_fn)(void *userdata, const char *name, const struct tree_node *node);
int tree_each(struct tree *tree, const struct tree_node *dir, tree_found_fn found, void *userdata);

/* Type and permissions, as in st_mode. */
mode_t tree_mode(const struct tree_node *node);
void tree_link_text(const struct tree_node *link, char text[TREE_LINK_MAX]);

/* Keeps the node's vGPU in memory, gone or not, until it is let go. */
void tree_hold(const struct tree_node *node);
void tree_release(const struct tree_node *node);

/* May it be opened so? 0 or -EACCES: modes bind everybody here, the superuser too. */
int tree_check_access(const struct tree_node *attr, bool reads, bool writes);

/* The file's text, with its newline. The length, -EACCES, or -ENODEV: its vGPU is gone. */
int tree_read(struct tree *tree, const struct tree_node *attr, char text[TREE_TEXT_MAX]);

/*
 * Writes @text, as one write() hands it over. 0, -EACCES, -ENODEV, -EINVAL (not of this form),
 * -ERANGE (no such number fits), -EPERM (the initial cap is fixed), -EEXIST, -ENOSPC.
 */
int tree_write(struct tree *tree, const struct tree_node *attr, const char *text, size_t length);

#endif
