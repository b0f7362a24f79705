/* SPDX-License-Identifier: MIT */
/* The state of the simulated GPUs, and the tables of files. Internal to tree-*.c. */
#ifndef SIM_HOST_TREE_GPUS_H
#define SIM_HOST_TREE_GPUS_H

#include "sched/quanta-gpu.h"
#include "sim/host/tree.h"
#include "sim/model/sim.h"

#define TREE_UUID_LENGTH     36
#define TREE_TYPES_N	     4
#define TREE_LOW_GM_LEAST_MB 64 /* graphics memory of a vGPU of the smallest type */

/* A vGPU type. i915-GVTg_V5_N is 1/N of a GPU (drivers/gpu/drm/i915/gvt/vgpu.c). */
struct tree_type {
	const char *name;
	int parts;
	/* graphics memory of a vGPU; limits the number of vGPUs on a GPU */
	int low_gm_mb, high_gm_mb;
	const char *resolution;
};

extern const struct tree_type tree_types[TREE_TYPES_N];

struct tree_vgpu {
	struct tree_vgpu *next; /* next vGPU in the list tree_gpu.vgpus */
	struct tree_gpu *gpu;
	struct sim_vgpu *sim; /* NULL: the vGPU was removed, but some of its files are still open */
	int refs;
	int id, type;
	uint64_t life; /* no other vGPU of the tree has this number */
	char uuid[TREE_UUID_LENGTH + 1];
	char load[WORKLOAD_TEXT_MAX]; /* text last written to the file "load" */
};

struct tree_gpu {
	char name[TREE_NAME_MAX];
	/* of a GVT-g host */
	struct sim *sim;
	int low_gm_mb; /* free */
	struct tree_vgpu *vgpus;
	/* of an SR-IOV host */
	struct quanta_gpu *functions;
	uint64_t vfs_life; /* how often VFs were enabled */
	int fault; /* an error for the files of profiles: -EUCLEAN for reads, others for writes */
	bool autoprobe; /* the file sriov_drivers_autoprobe, without effect */
};

struct tree {
	enum tree_host host;
	uint64_t now_ns;
	uint64_t lives; /* number of vGPUs that were created */
	int n_gpus;
	struct tree_gpu gpus[TREE_GPUS_MAX];
};

/* Simulates @gpu up to the current time. */
void tree_update(struct tree *tree, struct tree_gpu *gpu);

/* Creates a vGPU. @uuid: a valid UUID in lower case. -EEXIST, -ENOSPC. */
int tree_add_vgpu(struct tree *tree, struct tree_gpu *gpu, int type, const char *uuid);
void tree_remove_vgpu(struct tree_vgpu *vgpu);

/* --- the files --- */

struct tree_attr {
	enum tree_kind in;
	const char *name;
	mode_t mode;
	/* show is NULL if the file is not readable, store is NULL if it is not writable. @text
	 * ends with NUL and has no newline. */
	void (*show)(const struct tree_node *node, char text[TREE_TEXT_MAX]);
	int (*store)(struct tree *tree, const struct tree_node *node, const char *text);
};

/* The files of a GVT-g host, and those of an SR-IOV host. The last row has a NULL name. */
extern const struct tree_attr tree_attrs[];
extern const struct tree_attr tree_xe_attrs[];
extern const struct tree_attr tree_xe_load; /* the files pf, vf1, ... in gover_sim */

/*
 * Parses a number as kstrtouint() of the kernel: without a sign with @base 10; with @base 0 also in
 * the forms "+7", "0x7" and "07". -EINVAL; -ERANGE: larger than @max.
 */
int tree_parse_number(const char *text, int base, uint32_t max, uint32_t *ret_value);

/* Returns 0, or the error of any reading or writing of @attr, a file of an SR-IOV host. */
int tree_xe_check(const struct tree_node *attr, bool writes);

/* The layout of an SR-IOV host, except its fixed entries: as tree_each() and tree_link_text(). */
int tree_xe_each(struct tree *tree, const struct tree_node *dir, tree_found_fn found,
		 void *userdata);
void tree_xe_link_text(const struct tree_node *link, char text[TREE_LINK_MAX]);

#endif
