/* SPDX-License-Identifier: MIT */
/*
 * The control groups of a GPU whose vGPUs are control groups: the vGPU ID is the group
 * ROOT/GPU/ID. Creates, lists and removes these groups and finds the vGPU of a process. Never moves
 * or ends a process.
 */
#ifndef GPU_CGROUP_TREE_H
#define GPU_CGROUP_TREE_H

#include <sys/types.h>

#include "base/linux/cgroup.h"
#include "gpu/gpu.h"

struct cgroup_tree {
	struct cgroup_host host;
	char root[PATH_MAX];  /* ROOT: one or more groups, such as "gover" or "a/b" */
	char group[PATH_MAX]; /* ROOT/GPU */
	bool dry_run;	      /* create and remove nothing */
};

/*
 * Finds the mounts and checks @config->name and @config->root. Creates nothing. Errors: -EINVAL,
 * and those of cgroup_find().
 */
int cgroup_tree_init(const struct gpu_config *config, struct cgroup_tree *ret_tree,
		     struct err *reterr);

/* Creates the groups in the path ROOT. Returns 1 if ROOT existed already. */
int cgroup_tree_make_root(const struct cgroup_tree *tree, struct err *reterr);
/*
 * Removes ROOT/GPU and the groups in the path ROOT that are empty, but not in a dry run. The kernel
 * refuses to remove a group in use, so vGPUs and groups of other programs stay.
 */
void cgroup_tree_remove_empty(struct cgroup_tree *tree);

/* Writes the group of a vGPU. Returns -ENOENT if @id is no valid id. */
int cgroup_tree_vgpu(const struct cgroup_tree *tree, const char *id, char ret_group[PATH_MAX]);
/*
 * Returns true with a message if ROOT/GPU does not exist. In a dry run, this GPU then has no vGPUs.
 */
bool cgroup_tree_is_missing(const struct cgroup_tree *tree, struct err *ret_missing);

/* As list() of struct gpu_ops. Every initial cap is 0. -ENOENT: ROOT/GPU does not exist. */
int cgroup_tree_list(const struct cgroup_tree *tree, gpu_found_fn found, void *userdata);
/* Creates the group of a vGPU. Errors: -EINVAL, -EEXIST, and those of cgroup_make(). */
int cgroup_tree_create(const struct cgroup_tree *tree, const char *id, char ret_group[PATH_MAX],
		       struct err *reterr);

/* As the functions of struct gpu_ops. */
int cgroup_tree_destroy(const struct cgroup_tree *tree, const char *id, struct err *reterr);
int cgroup_tree_owner(const struct cgroup_tree *tree, pid_t pid, char ret_id[ID_MAX]);
int cgroup_tree_places(const struct cgroup_tree *tree, const char *id, gpu_path_fn path,
		       void *userdata);

#endif
