/* SPDX-License-Identifier: MIT */
/*
 * Finds GPUs and vGPUs of GVT-g in sysfs. The mdev bus may also contain devices of other vendors.
 * Only a GPU of GVT-g has a type i915-GVTg_*, and only a vGPU of GVT-g has the folder intel_vgpu.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "gpu/gvt-host.h"

#define PARENTS	  "class/mdev_bus"
#define DEVICES	  "bus/mdev/devices"
#define NAMES_MAX 256 /* bytes for the names of all GPUs in a message */

const char *const gvt_host_files[GVT_FILES] = {
	[GVT_CAP] = "cap",
	[GVT_BUSY] = "busy_time",
	[GVT_SCHED] = "sched_time",
	[GVT_LEASE] = "cap_lease_ms",
	[GVT_CEILING] = "cap_ceiling",
};

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

	return snprintf(types, sizeof(types), "%s/mdev_supported_types/*GVTg_*", path) <
		       (int)sizeof(types) &&
	       file_each_match(types, NULL, NULL) > 0;
}

/* The GPUs of GVT-g on this host. */
struct parents {
	int n;
	char path[PATH_MAX];   /* path of the last GPU found */
	char names[NAMES_MAX]; /* names of all GPUs */
};

static void add_parent(void *userdata, const char *path)
{
	struct parents *parents = userdata;

	if (!gvt_host_is_parent(path))
		return;
	parents->n++;
	strcpy(parents->path, path);
	text_append(parents->names, sizeof(parents->names), "%s%s", parents->names[0] ? ", " : "",
		    strrchr(path, '/') + 1);
}

static void find_parents(const char *root, struct parents *parents)
{
	char pattern[GPU_ROOT_MAX + sizeof("/" PARENTS "/*")];

	*parents = (struct parents){.n = 0};
	snprintf(pattern, sizeof(pattern), "%s/" PARENTS "/*", root);
	(void)file_each_match(pattern, add_parent, parents);
}

/*
 * Writes the path of the GPU that @config names as parent. Returns -ENOENT if the path does not
 * exist.
 */
static int named_parent(const struct gpu_config *config, char ret_path[PATH_MAX])
{
	snprintf(ret_path, PATH_MAX, "%s/" PARENTS "/%s", gpu_sysfs(config), config->parent);
	return access(ret_path, F_OK) < 0 ? -errno : 0;
}

int gvt_host_find(const struct gpu_config *config, char ret_dir[PATH_MAX], struct err *reterr)
{
	const char *root = gpu_sysfs(config);
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
	char pattern[GPU_ROOT_MAX + sizeof("/" DEVICES "/*/intel_vgpu")];

	snprintf(pattern, sizeof(pattern), "%s/" DEVICES "/*/intel_vgpu", root);
	return file_each_match(pattern, NULL, NULL) > 0;
}

bool gvt_host_present(const struct gpu_config *config)
{
	char path[PATH_MAX];
	struct parents parents;

	if (config->parent[0])
		return named_parent(config, path) == 0;
	find_parents(gpu_sysfs(config), &parents);
	return parents.n > 0 || any_vgpu(gpu_sysfs(config));
}
