/* SPDX-License-Identifier: MIT */
/* Each GPU has a folder class/drm/renderD* with a link to its device. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/drm-device.h"
#include "gpu/drm-parent.h"

struct found {
	int n;
	char device[GPU_PARENT_MAX], path[PATH_MAX]; /* of the last one */
	char names[256];
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Notes the GPU of the folder class/drm/@name. */
static void note(const char *sysfs, const char *name, struct found *found)
{
	char link[PATH_MAX], path[PATH_MAX], bus[PATH_MAX], driver[PATH_MAX];
	const char *device;
	size_t used = strlen(found->names);

	if (snprintf(link, sizeof(link), "%s/class/drm/%s/device", sysfs, name) >=
		    (int)sizeof(link) ||
	    !realpath(link, path))
		return;
	device = base_name(path);
	if (snprintf(link, sizeof(link), "%s/subsystem", path) >= (int)sizeof(link) ||
	    !realpath(link, bus))
		return;
	if (strcmp(base_name(bus), "pci") != 0) {
		if (snprintf(link, sizeof(link), "%s/driver", path) >= (int)sizeof(link) ||
		    !realpath(link, driver))
			return;
		device = base_name(driver);
	}
	if (strlen(device) >= sizeof(found->device))
		return;
	found->n++;
	strcpy(found->device, device);
	strcpy(found->path, path);
	snprintf(found->names + used, sizeof(found->names) - used, "%s%s", used ? ", " : "",
		 device);
}

static void list(const char *sysfs, struct found *found)
{
	char folder[PATH_MAX];
	const struct dirent *entry;
	DIR *dir;

	if (snprintf(folder, sizeof(folder), "%s/class/drm", sysfs) >= (int)sizeof(folder))
		return;
	dir = opendir(folder);
	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (strncmp(entry->d_name, "renderD", 7) == 0)
			note(sysfs, entry->d_name, found);
	closedir(dir);
}

int drm_device_find(const char *sysfs, const char *parent, char ret_device[GPU_PARENT_MAX],
		    char ret_path[PATH_MAX], struct err *reterr)
{
	struct found found = {.n = 0};
	char path[PATH_MAX];

	if (parent[0]) {
		if (drm_parent_parse(parent, ret_device) < 0)
			return err_fail(reterr, EINVAL, "parent = %s: unknown (allowed: %s)",
					parent, DRM_PARENT_ALLOWED);
		if (snprintf(path, sizeof(path), "%s/bus/pci/devices/%s", sysfs, ret_device) >=
			    (int)sizeof(path) ||
		    !realpath(path, ret_path))
			ret_path[0] = '\0';
		return 0;
	}
	list(sysfs, &found);
	if (found.n > 1)
		return err_fail(reterr, EINVAL, "parent: required (this host has %d GPUs: %s)",
				found.n, found.names);
	if (found.n == 0)
		return err_fail(reterr, EOPNOTSUPP,
				"this host has no GPU with a render node (/dev/dri/renderD*)");
	strcpy(ret_device, found.device);
	strcpy(ret_path, found.path);
	return 0;
}
