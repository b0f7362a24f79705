/* SPDX-License-Identifier: MIT */
/* The parts of softgpu and lib that concern control groups and not what limits them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gpu/cgroup-tree.h"

#define ROOT_DEFAULT	"gover"
#define MEMBER_TEXT_MAX (64 * 1024)

int cgroup_tree_init(const struct gpu_config *config, struct cgroup_tree *ret_tree,
		     struct err *reterr)
{
	const char *root = config->root[0] ? config->root : ROOT_DEFAULT;
	int r = cgroup_find(CGROUP_MOUNTINFO, &ret_tree->host, reterr);

	if (r < 0)
		return r;
	if (!id_valid(config->name))
		return err_fail(reterr, EINVAL, "%s: \"%s\" is not a valid name of a GPU",
				config->backend, config->name);
	if (!cgroup_is_group(root) || snprintf(ret_tree->group, sizeof(ret_tree->group), "%s/%s",
					       root, config->name) >= (int)sizeof(ret_tree->group))
		return err_fail(reterr, EINVAL,
				"GPU %s: root \"%s\" is not allowed (allowed: a path of control "
				"groups below the mounts, such as gover or a/b)",
				config->name, root);
	strcpy(ret_tree->root, root);
	ret_tree->dry_run = config->dry_run;
	return 0;
}

int cgroup_tree_make_root(const struct cgroup_tree *tree, struct err *reterr)
{
	char part[PATH_MAX];
	int r = 0;

	strcpy(part, tree->root);
	for (char *slash = part; r >= 0 && slash;) {
		slash = strchr(slash, '/');
		if (slash)
			*slash = '\0';
		r = cgroup_make(&tree->host, part, reterr);
		if (slash)
			*slash++ = '/';
	}
	return r;
}

void cgroup_tree_remove_empty(struct cgroup_tree *tree)
{
	if (tree->dry_run)
		return;
	(void)cgroup_remove(&tree->host, tree->group);
	for (char *end = tree->root; end;) {
		(void)cgroup_remove(&tree->host, tree->root);
		end = strrchr(tree->root, '/');
		if (end)
			*end = '\0';
	}
}

int cgroup_tree_vgpu(const struct cgroup_tree *tree, const char *id, char ret_group[PATH_MAX])
{
	if (!id_valid(id))
		return -ENOENT;
	return snprintf(ret_group, PATH_MAX, "%s/%s", tree->group, id) < PATH_MAX ? 0
										  : -ENAMETOOLONG;
}

bool cgroup_tree_is_missing(const struct cgroup_tree *tree, struct err *ret_missing)
{
	if (cgroup_count(&tree->host, tree->group) != -ENOENT)
		return false;
	(void)err_fail(
		ret_missing, ENOENT,
		"control group %s does not exist, and a dry run does not create it: this GPU "
		"has no vGPUs",
		tree->group);
	return true;
}

struct found {
	gpu_found_fn found;
	void *userdata;
};

static int found_group(void *userdata, const char *name)
{
	const struct found *found = userdata;

	if (id_valid(name))
		found->found(found->userdata, name, 0);
	return 0;
}

int cgroup_tree_list(const struct cgroup_tree *tree, gpu_found_fn found, void *userdata)
{
	int r = cgroup_each(&tree->host, tree->group, found_group,
			    &(struct found){found, userdata});

	/* In a dry run, open() has already reported that the group is missing. */
	return r == -ENOENT && tree->dry_run ? 0 : r;
}

int cgroup_tree_create(const struct cgroup_tree *tree, const char *id, char ret_group[PATH_MAX],
		       struct err *reterr)
{
	int r;

	if (cgroup_tree_vgpu(tree, id, ret_group) < 0)
		return err_fail(reterr, EINVAL, "\"%s\" is not a valid name of a vGPU", id);
	r = cgroup_make(&tree->host, ret_group, reterr);
	if (r == 1)
		return err_fail(reterr, EEXIST, "vGPU %s: its control group %s exists already", id,
				ret_group);
	return r;
}

int cgroup_tree_destroy(const struct cgroup_tree *tree, const char *id, struct err *reterr)
{
	char group[PATH_MAX];
	int r = cgroup_tree_vgpu(tree, id, group);

	if (r == 0)
		r = cgroup_count(&tree->host, group);
	if (r > 0)
		return err_fail(reterr, EBUSY,
				"vGPU %s: %d program%s still run%s in it (end %s first)", id, r,
				r == 1 ? "" : "s", r == 1 ? "s" : "", r == 1 ? "it" : "them");
	if (r == 0)
		r = cgroup_remove(&tree->host, group);
	if (r == -ENOENT)
		return err_fail(reterr, ENOENT, "vGPU %s: control group %s does not exist", id,
				group);
	if (r == -EBUSY)
		return err_fail(reterr, EBUSY,
				"vGPU %s: control group %s contains groups of other programs, or a "
				"process that has just joined",
				id, group);
	if (r < 0)
		return err_fail(reterr, -r, "vGPU %s: control group %s cannot be removed: %s", id,
				group, strerror(-r));
	return 0;
}

int cgroup_tree_owner(const struct cgroup_tree *tree, pid_t pid, char ret_id[ID_MAX])
{
	char path[64], group[PATH_MAX];
	CLEANUP_FREE char *text = NULL;
	size_t n = strlen(tree->group);
	int r;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	r = file_read(path, MEMBER_TEXT_MAX, &text, NULL);
	if (r == 0)
		r = cgroup_parse_member(&tree->host, text, group);
	if (r < 0)
		return r == -ESRCH ? -ENOENT : r;
	if (strncmp(group, tree->group, n) != 0 || group[n] != '/')
		return -ENOENT;
	/* The process may be in a group below the group of the vGPU, for example in a container. */
	group[n + 1 + strcspn(group + n + 1, "/")] = '\0';
	return id_copy(ret_id, group + n + 1) < 0 ? -ENOENT : 0;
}

int cgroup_tree_places(const struct cgroup_tree *tree, const char *id, gpu_path_fn path,
		       void *userdata)
{
	char group[PATH_MAX], place[PATH_MAX];
	int r = cgroup_tree_vgpu(tree, id, group);

	for (int i = 0; r == 0 && i < tree->host.n_mounts; i++) {
		r = cgroup_path(&tree->host, i, group, "cgroup.procs", place);
		if (r == 0)
			path(userdata, place);
	}
	return r;
}
