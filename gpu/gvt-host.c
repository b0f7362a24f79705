/* SPDX-License-Identifier: MIT */
/*
 * Finds GPUs and vGPUs of GVT-g in sysfs. The mdev bus may also contain devices of other vendors.
 * Only a GPU of GVT-g has a type i915-GVTg_*, and only a vGPU of GVT-g has the folder intel_vgpu.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpu/gvt-host.h"

#define PARENTS	  "class/mdev_bus"
#define DEVICES	  "bus/mdev/devices"
#define NAMES_MAX 256 /* bytes for the names of all GPUs in a message */

static const char *sysfs_root(const struct gpu_config *config)
{
	return config->root[0] ? config->root : "/sys";
}

bool gvt_host_is_uuid(const char *name)
{
	size_t n = 0;

	for (; name[n]; n++) {
		bool dash = n == 8 || n == 13 || n == 18 || n == 23;

		if (dash ? name[n] != '-' : !isxdigit((unsigned char)name[n]))
			return false;
	}
	return n == 36;
}

bool gvt_host_is_parent(const char *path)
{
	char types[PATH_MAX];
	const struct dirent *entry;
	bool found = false;
	DIR *dir;

	if (snprintf(types, sizeof(types), "%s/mdev_supported_types", path) >= (int)sizeof(types))
		return false;
	dir = opendir(types);
	while (dir && !found && (entry = readdir(dir)))
		found = strstr(entry->d_name, "GVTg_");
	if (dir)
		closedir(dir);
	return found;
}

/* The GPUs of GVT-g on this host. */
struct parents {
	int n;
	char path[PATH_MAX];   /* path of the last GPU found */
	char names[NAMES_MAX]; /* names of all GPUs */
};

static void find_parents(const char *root, struct parents *parents)
{
	char path[PATH_MAX], gpu[PATH_MAX];
	const struct dirent *entry;
	DIR *dir;

	*parents = (struct parents){.n = 0};
	if (snprintf(path, sizeof(path), "%s/" PARENTS, root) >= (int)sizeof(path))
		return;
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		size_t used = strlen(parents->names);

		if (entry->d_name[0] == '.' ||
		    snprintf(gpu, sizeof(gpu), "%s/%s", path, entry->d_name) >= (int)sizeof(gpu) ||
		    !gvt_host_is_parent(gpu))
			continue;
		parents->n++;
		memcpy(parents->path, gpu, strlen(gpu) + 1);
		snprintf(parents->names + used, sizeof(parents->names) - used, "%s%s",
			 used ? ", " : "", entry->d_name);
	}
	if (dir)
		closedir(dir);
}

/*
 * Writes the path of the GPU that @config names as parent. Returns -ENOENT if the path does not
 * exist.
 */
static int named_parent(const struct gpu_config *config, char ret_path[PATH_MAX])
{
	snprintf(ret_path, PATH_MAX, "%s/" PARENTS "/%s", sysfs_root(config), config->parent);
	return access(ret_path, F_OK) < 0 ? -errno : 0;
}

int gvt_host_find(const struct gpu_config *config, char ret_dir[PATH_MAX], struct err *reterr)
{
	const char *root = sysfs_root(config);
	struct parents parents;

	if (config->parent[0] && named_parent(config, ret_dir) == 0)
		return 0;
	find_parents(root, &parents);
	if (config->parent[0])
		return err_fail(reterr, EOPNOTSUPP,
				"parent = %s: not a GPU of GVT-g (%s/" PARENTS " has %s%s)",
				config->parent, root, parents.n ? "only " : "none", parents.names);
	if (parents.n > 1)
		return err_fail(reterr, EINVAL,
				"parent: required (this host has %d GPUs of GVT-g: %s; each needs "
				"a section [gpu NAME] with its parent)",
				parents.n, parents.names);
	if (parents.n == 1) {
		memcpy(ret_dir, parents.path, PATH_MAX);
		return 0;
	}
	snprintf(ret_dir, PATH_MAX, "%s/" DEVICES, root);
	if (access(ret_dir, F_OK) == 0)
		return 0;
	return err_fail(reterr, EOPNOTSUPP,
			"%s: no bus of mediated devices (boot with i915.enable_gvt=1 and load "
			"kvmgt)",
			ret_dir);
}

static bool any_vgpu(const char *root)
{
	char path[PATH_MAX], group[PATH_MAX];
	const struct dirent *entry;
	bool found = false;
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s/" DEVICES, root) >= (int)sizeof(path))
		return false;
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir)))
		found = gvt_host_is_uuid(entry->d_name) &&
			snprintf(group, sizeof(group), "%s/%s/intel_vgpu", path, entry->d_name) <
				(int)sizeof(group) &&
			access(group, F_OK) == 0;
	if (dir)
		closedir(dir);
	return found;
}

bool gvt_host_present(const struct gpu_config *config)
{
	char path[PATH_MAX];
	struct parents parents;

	if (config->parent[0])
		return named_parent(config, path) == 0;
	find_parents(sysfs_root(config), &parents);
	return parents.n > 0 || any_vgpu(sysfs_root(config));
}
