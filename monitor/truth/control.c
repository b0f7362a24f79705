/* SPDX-License-Identifier: MIT */
/* The positive control of the source fdinfo, on sysfs and on a DRM file that it opens. */
#include <dirent.h>
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

/* First kernels whose own drivers publish the use of clients (drm-usage-stats.rst). */
static const struct {
	const char *driver;
	int major, minor;
} known[] = {{"amdgpu", 5, 19}, {"i915", 5, 19}, {"xe", 6, 11}, {"panfrost", 6, 8}};

bool control_knows(const char *driver, const char *release)
{
	int major = 0, minor = 0;

	if (sscanf(release, "%d.%d", &major, &minor) != 2)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(driver, known[i].driver) == 0)
			return major > known[i].major ||
			       (major == known[i].major && minor >= known[i].minor);
	return false;
}

bool control_has_times(const struct fdinfo *info)
{
	/* amdgpu does not print an engine that the client has never used. */
	return info->client_valid && (info->n_engines > 0 || strcmp(info->driver, "amdgpu") == 0);
}

/* --- the device --- */

/* Writes the last part of the target of the link @path/@name; "": there is no such link. */
static void read_link_name(const char *path, const char *name, char *text, size_t size)
{
	char link[PATH_MAX], target[PATH_MAX];
	const char *base;

	text[0] = '\0';
	if (snprintf(link, sizeof(link), "%s/%s", path, name) >= (int)sizeof(link) ||
	    !realpath(link, target))
		return;
	base = strrchr(target, '/') + 1;
	if (strlen(base) < size)
		strcpy(text, base);
}

/* Finds a device that is not on the PCI bus by the name of its driver. */
static void find_by_driver(struct control *control)
{
	char folder[PATH_MAX], link[PATH_MAX], path[PATH_MAX], driver[FDINFO_NAME_MAX];
	const struct dirent *entry;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/class/drm", control->sysfs);
	dir = opendir(folder);
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "renderD", 7) != 0 ||
		    snprintf(link, sizeof(link), "%s/%s/device", folder, entry->d_name) >=
			    (int)sizeof(link) ||
		    !realpath(link, path))
			continue;
		read_link_name(path, "driver", driver, sizeof(driver));
		if (strcmp(driver, control->device) == 0)
			strcpy(control->path, path);
	}
	if (dir)
		closedir(dir);
}

/* Adds the node @name below the folder drm of the device. */
static void add_node(struct control *control, const char *name)
{
	CLEANUP_FREE char *text = NULL;
	unsigned int major, minor;
	char path[PATH_MAX];

	if (control->n_nodes == CONTROL_NODES_MAX ||
	    snprintf(path, sizeof(path), "%s/drm/%s/dev", control->path, name) >=
		    (int)sizeof(path) ||
	    file_read(path, 64, &text, NULL) < 0 || sscanf(text, "%u:%u", &major, &minor) != 2)
		return;
	control->nodes[control->n_nodes++] = makedev(major, minor);
	if (strncmp(name, "renderD", 7) == 0 && strlen(name) < sizeof(control->render))
		strcpy(control->render, name);
}

static void find_nodes(struct control *control)
{
	const struct dirent *entry;
	char folder[PATH_MAX];
	DIR *dir;

	if (snprintf(folder, sizeof(folder), "%s/drm", control->path) >= (int)sizeof(folder))
		return;
	dir = opendir(folder);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add_node(control, entry->d_name);
	if (dir)
		closedir(dir);
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
	char driver[FDINFO_NAME_MAX], link[PATH_MAX];

	snprintf(link, sizeof(link), "%s/bus/pci/devices/%s", control->sysfs, control->device);
	control->path[0] = '\0';
	if (!is_pci(control))
		find_by_driver(control);
	else if (!realpath(link, control->path))
		control->path[0] = '\0';
	driver[0] = '\0';
	if (control->path[0])
		read_link_name(control->path, "driver", driver, sizeof(driver));
	if (strcmp(driver, control->driver) == 0 && control->n_nodes > 0)
		return;
	/* The driver was loaded, unloaded or replaced. */
	if (strcmp(driver, control->driver) != 0) {
		control->result = CONTROL_OPEN;
		control->wait = 0;
	}
	strcpy(control->driver, driver);
	control->n_nodes = 0;
	control->render[0] = control->silent_switch[0] = '\0';
	if (!driver[0])
		return;
	find_nodes(control);
	if (snprintf(control->silent_switch, PATH_MAX, "%s/profiling", control->path) >= PATH_MAX ||
	    access(control->silent_switch, F_OK) < 0)
		control->silent_switch[0] = '\0';
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
	CLEANUP_FREE char *text = NULL;

	if (!control->silent_switch[0] || file_read(control->silent_switch, 64, &text, NULL) < 0 ||
	    text[0] != '0')
		return true;
	(void)err_fail(ret_problem, ENODATA, "driver %s counts no use until 1 is written to %.150s",
		       control->driver, control->silent_switch);
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
