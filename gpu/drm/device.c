/* SPDX-License-Identifier: MIT */
/* Each GPU has a folder class/drm/renderD* with a link to its device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gpu/drm/device.h"

/* The kernels are those of drm-usage-stats.rst. */
static const struct drm_driver drivers[] = {
	{.name = "amdgpu", .counts = true, .major = 5, .minor = 19},
	{.name = "etnaviv", .counts = true},
	{.name = "i915", .counts = true, .major = 5, .minor = 19},
	{.name = "lima"},
	{.name = "msm", .counts = true},
	{.name = "panfrost", .counts = true, .major = 6, .minor = 8},
	{.name = "panthor", .counts = true},
	{.name = "v3d", .counts = true},
	{.name = "xe", .counts = true, .major = 6, .minor = 11},
};

const struct drm_driver *device_driver(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
		if (strcmp(drivers[i].name, name) == 0)
			return &drivers[i];
	return NULL;
}

static bool join(char path[PATH_MAX], const char *folder, const char *name)
{
	return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

/* Writes the last part of an absolute path; "": it is too long. */
static void take_last(const char *path, char ret_name[FDINFO_NAME_MAX])
{
	const char *name = strrchr(path, '/') + 1;

	strcpy(ret_name, strlen(name) < FDINFO_NAME_MAX ? name : "");
}

/* Writes the last part of the target of the link @path/@name; "": there is no such link. */
static void read_link_name(const char *path, const char *name, char ret_name[FDINFO_NAME_MAX])
{
	char link[PATH_MAX], target[PATH_MAX];

	ret_name[0] = '\0';
	if (join(link, path, name) && realpath(link, target))
		take_last(target, ret_name);
}

void device_find_driver(const char *path, char ret_driver[FDINFO_NAME_MAX])
{
	read_link_name(path, "driver", ret_driver);
}

struct search {
	void (*found)(void *userdata, const struct device *device);
	void *userdata;
};

static void examine(void *userdata, const char *link)
{
	const struct search *search = userdata;
	char bus[FDINFO_NAME_MAX];
	struct device device;

	if (!realpath(link, device.path))
		return;
	device_find_driver(device.path, device.driver);
	read_link_name(device.path, "subsystem", bus);
	if (strcmp(bus, "pci") == 0)
		take_last(device.path, device.name);
	else
		strcpy(device.name, bus[0] ? device.driver : "");
	search->found(search->userdata, &device);
}

void device_each(const char *sysfs, void (*found)(void *userdata, const struct device *device),
		 void *userdata)
{
	char pattern[PATH_MAX];

	if (join(pattern, sysfs, "class/drm/renderD*/device"))
		(void)file_each_match(pattern, examine, &(struct search){found, userdata});
}

bool device_is_silent(const char *path, char ret_switch[PATH_MAX])
{
	CLEANUP_FREE char *text = NULL;

	return join(ret_switch, path, "profiling") && file_read(ret_switch, 64, &text, NULL) == 0 &&
	       text[0] == '0';
}
