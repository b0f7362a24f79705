/* SPDX-License-Identifier: MIT */
/* Selects the GPU of backend drm. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "gpu/drm-device.h"
#include "monitor/truth/device.h"

/* Parses @digits hexadecimal digits at most, at least @least, and the character after them. */
static int parse_part(const char **at, size_t least, size_t digits, char end,
		      unsigned int *ret_part)
{
	size_t n = strspn(*at, "0123456789abcdefABCDEF");

	if (n < least || n > digits || (*at)[n] != end || sscanf(*at, "%x", ret_part) != 1)
		return -EINVAL;
	*at += n + (end != '\0');
	return 0;
}

static int parse_address(const char *text, char ret_parent[GPU_PARENT_MAX])
{
	unsigned int domain = 0, bus = 0, device = 0, function = 0;
	const char *at = text, *colon = strchr(text, ':');
	int r = 0;

	if (colon && strchr(colon + 1, ':'))
		r = parse_part(&at, 4, 8, ':', &domain);
	if (r == 0)
		r = parse_part(&at, 2, 2, ':', &bus);
	if (r == 0)
		r = parse_part(&at, 2, 2, '.', &device);
	if (r == 0)
		r = parse_part(&at, 1, 1, '\0', &function);
	if (r < 0 || device > 31 || function > 7)
		return -EINVAL;
	snprintf(ret_parent, GPU_PARENT_MAX, "%04x:%02x:%02x.%u", domain, bus, device, function);
	return 0;
}

int drm_device_parse(const char *text, char ret_parent[GPU_PARENT_MAX])
{
	const struct drm_driver *driver = device_driver(text);

	if (!driver || !driver->off_pci)
		return parse_address(text, ret_parent);
	strcpy(ret_parent, text);
	return 0;
}

struct found {
	int n;
	struct device last;
	char names[256];
};

static void note(void *userdata, const struct device *device)
{
	struct found *found = userdata;

	if (device->name[0] == '\0')
		return;
	found->n++;
	found->last = *device;
	text_append(found->names, sizeof(found->names), "%s%s", found->names[0] ? ", " : "",
		    device->name);
}

int drm_device_find(const char *sysfs, const char *parent, char ret_device[GPU_PARENT_MAX],
		    char ret_path[PATH_MAX], struct err *reterr)
{
	struct found found = {.n = 0};
	char path[PATH_MAX];

	if (parent[0]) {
		if (drm_device_parse(parent, ret_device) < 0)
			return err_fail(reterr, EINVAL, "parent = %s: unknown (allowed: %s)",
					parent, DRM_DEVICE_ALLOWED);
		if (snprintf(path, sizeof(path), "%s/bus/pci/devices/%s", sysfs, ret_device) >=
			    (int)sizeof(path) ||
		    !realpath(path, ret_path))
			ret_path[0] = '\0';
		return 0;
	}
	device_each(sysfs, note, &found);
	if (found.n > 1)
		return err_fail(reterr, EINVAL, "parent: required (this host has %d GPUs: %s)",
				found.n, found.names);
	if (found.n == 0)
		return err_fail(reterr, EOPNOTSUPP,
				"this host has no GPU with a render node (/dev/dri/renderD*)");
	strcpy(ret_device, found.last.name);
	strcpy(ret_path, found.last.path);
	return 0;
}
