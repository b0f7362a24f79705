/* SPDX-License-Identifier: MIT */
/* The positive control of the source fdinfo, on sysfs and on a DRM file that it opens. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "monitor/truth/control.h"

#define RETEST_SAMPLES 64 /* opening a DRM file wakes the GPU */

bool control_knows(const char *driver, const char *release)
{
	const struct drm_driver *known = device_driver(driver);
	int major = 0, minor = 0;

	if (!known || !known->major || sscanf(release, "%d.%d", &major, &minor) != 2)
		return false;
	return major > known->major || (major == known->major && minor >= known->minor);
}

bool control_has_times(const struct fdinfo *info)
{
	/* amdgpu does not print an engine that the client has never used. */
	return info->client_valid && (info->n_engines > 0 || strcmp(info->driver, "amdgpu") == 0);
}

/* --- the device --- */

/* Finds a device that is not on the PCI bus by the name of its driver. */
static void compare_driver(void *userdata, const struct device *device)
{
	struct control *control = userdata;

	if (strcmp(device->driver, control->device) == 0)
		strcpy(control->path, device->path);
}

/* Adds the DRM node of the folder @path. */
static void add_node(void *userdata, const char *path)
{
	struct control *control = userdata;
	const char *name = strrchr(path, '/') + 1;
	char file[PATH_MAX + sizeof("/dev")];
	CLEANUP_FREE char *text = NULL;
	unsigned int major, minor;

	snprintf(file, sizeof(file), "%s/dev", path);
	if (control->n_nodes == CONTROL_NODES_MAX || file_read(file, 64, &text, NULL) < 0 ||
	    sscanf(text, "%u:%u", &major, &minor) != 2)
		return;
	control->nodes[control->n_nodes++] = makedev(major, minor);
	if (strncmp(name, "renderD", 7) == 0 && strlen(name) < sizeof(control->render))
		strcpy(control->render, name);
}

void control_init(struct control *control, const char *sysfs, const char *device)
{
	*control = (struct control){.n_nodes = 0};
	snprintf(control->sysfs, sizeof(control->sysfs), "%s", sysfs);
	snprintf(control->device, sizeof(control->device), "%s", device);
}

static bool is_pci(const struct control *control)
{
	return strchr(control->device, ':') != NULL;
}

void control_refresh(struct control *control)
{
	char driver[FDINFO_NAME_MAX], link[PATH_MAX], nodes[PATH_MAX + sizeof("/drm/*")];

	snprintf(link, sizeof(link), "%s/bus/pci/devices/%s", control->sysfs, control->device);
	control->path[0] = '\0';
	if (!is_pci(control))
		device_each(control->sysfs, compare_driver, control);
	else if (!realpath(link, control->path))
		control->path[0] = '\0';
	driver[0] = '\0';
	if (control->path[0])
		device_find_driver(control->path, driver);
	if (strcmp(driver, control->driver) == 0 && control->n_nodes > 0)
		return;
	/* The driver was loaded, unloaded or replaced. */
	if (strcmp(driver, control->driver) != 0) {
		control->result = CONTROL_OPEN;
		control->wait = 0;
	}
	strcpy(control->driver, driver);
	control->n_nodes = 0;
	control->render[0] = '\0';
	snprintf(nodes, sizeof(nodes), "%s/drm/*", control->path);
	if (driver[0])
		(void)file_each_match(nodes, add_node, control);
}

int control_owns(const struct control *control, dev_t node)
{
	for (int i = 0; i < control->n_nodes; i++)
		if (control->nodes[i] == node)
			return 1;
	return control->n_nodes > 0 ? 0 : -1;
}

bool control_counts(const struct control *control, struct err *ret_problem)
{
	char file[PATH_MAX];

	if (!control->driver[0] || !device_is_silent(control->path, file))
		return true;
	(void)err_fail(ret_problem, ENODATA, "driver %s counts no use until 1 is written to %.150s",
		       control->driver, file);
	return false;
}

/* --- the test --- */

/* Reads the text of the DRM file @fd of this process. */
static enum control_result examine_own_file(const struct control *control, int proc, int fd)
{
	char path[48], text[FDINFO_TEXT_MAX];
	CLEANUP_CLOSE int file = -1;
	struct fdinfo info;
	ssize_t n;

	snprintf(path, sizeof(path), "self/fdinfo/%d", fd);
	file = openat(proc, path, O_RDONLY | O_CLOEXEC);
	n = file < 0 ? -1 : read(file, text, sizeof(text));
	if (n < 0)
		return CONTROL_OPEN;
	return fdinfo_parse(text, (size_t)n, &info) == 0 && control_has_times(&info) &&
			       (!is_pci(control) || strcmp(info.pdev, control->device) == 0)
		       ? CONTROL_PASSED
		       : CONTROL_FAILED;
}

static enum control_result test(const struct control *control, int proc)
{
	char path[sizeof("/dev/dri/") + FDINFO_NAME_MAX];
	CLEANUP_CLOSE int fd = -1;
	struct stat node;

	if (!control->render[0])
		return CONTROL_OPEN;
	snprintf(path, sizeof(path), "/dev/dri/%s", control->render);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &node) < 0 || control_owns(control, node.st_rdev) != 1)
		return CONTROL_OPEN;
	return examine_own_file(control, proc, fd);
}

void control_pass(struct control *control)
{
	control->result = CONTROL_PASSED;
}

bool control_publishes(struct control *control, int proc, struct err *ret_problem)
{
	struct utsname host;

	if (control->result == CONTROL_PASSED)
		return true;
	if (!control->path[0]) {
		(void)err_fail(ret_problem, ENODATA, "no GPU %s exists in sysfs", control->device);
		return false;
	}
	if (!control->driver[0]) {
		(void)err_fail(ret_problem, ENODATA, "GPU %s has no driver", control->device);
		return false;
	}
	if (control->wait-- == 0) {
		control->result = test(control, proc);
		control->wait = RETEST_SAMPLES;
	}
	if (control->result == CONTROL_PASSED ||
	    (control->result == CONTROL_OPEN && uname(&host) == 0 &&
	     control_knows(control->driver, host.release)))
		return true;
	(void)err_fail(
		ret_problem, ENODATA,
		control->result == CONTROL_FAILED
			? "driver %s publishes no use of its clients on this kernel"
			: "no client was seen, and driver %s is not known to publish the use "
			  "of clients",
		control->driver);
	return false;
}
