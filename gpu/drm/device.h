/* SPDX-License-Identifier: MIT */
/* The GPUs with a render node in sysfs, and a table of DRM drivers. */
#ifndef GPU_DRM_DEVICE_H
#define GPU_DRM_DEVICE_H

#include <limits.h>
#include <stdbool.h>

#include "gpu/drm/fdinfo.h"

struct drm_driver {
	const char *name;
	bool counts; /* its DRM files have the time or the cycles of each client */
	/* first kernel whose own driver is known to publish the use of clients; 0: none */
	int major, minor;
};

/* Returns NULL for an unknown driver. */
const struct drm_driver *device_driver(const char *name);

struct device {
	char path[PATH_MAX];	      /* in sysfs */
	char driver[FDINFO_NAME_MAX]; /* "": none */
	/* as in fdinfo: its PCI address, or the name of its driver; "": neither */
	char name[FDINFO_NAME_MAX];
};

/* Calls @found for each GPU below @sysfs ("/sys") that has a render node. */
void device_each(const char *sysfs, void (*found)(void *userdata, const struct device *device),
		 void *userdata);

/* Writes the name of the driver of the device at @path; "": it has none. */
void device_find_driver(const char *path, char ret_driver[FDINFO_NAME_MAX]);

/* Returns true if the driver counts no use until 1 is written to the file *@ret_switch. */
bool device_is_silent(const char *path, char ret_switch[PATH_MAX]);

#endif
