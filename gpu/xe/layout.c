/* SPDX-License-Identifier: MIT */
/*
 * Finds the settings of SR-IOV functions.
 *
 * Sources: Linux, Documentation/ABI/testing/sysfs-driver-intel-xe-sriov (commit 17b95278ae6a, 6.19
 * and 7.0) and drivers/gpu/drm/xe/xe_sriov_pf_sysfs.c; drivers/gpu/drm/xe/xe_gt_sriov_pf_debugfs.c
 * for both forms of debugfs; strongtz/i915-sriov-dkms, drivers/gpu/drm/i915/i915_sriov_sysfs.c and
 * gt/iov/intel_iov_sysfs.c for prelim_iov.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/xalloc.h"
#include "gpu/gpu.h"
#include "gpu/xe/layout.h"

#define DRIVERS "bus/pci/drivers"

static const struct xe_layout layouts[] = {
	{
		.name = "sriov_admin",
		.driver = "xe",
		.base = DRIVERS "/xe/%s/sriov_admin",
		.function = "%s/profile",
		.sharing = ".bulk_profile/sched_priority",
		.form = XE_SHARING_PRIORITY,
		.links = true,
		.has_busy = true,
	},
	{
		.name = "debugfs",
		.driver = "xe",
		.base = "kernel/debug/dri/%s/sriov",
		.function = "%s/tile*/gt*",
		.sharing = "pf/tile*/gt*/sched_if_idle",
		.form = XE_SHARING_IF_IDLE,
		.has_busy = true,
	},
	{
		.name = "debugfs-gt",
		.driver = "xe",
		.base = "kernel/debug/dri/%s",
		.function = "gt*/%s",
		.sharing = "gt*/pf/sched_if_idle",
		.form = XE_SHARING_IF_IDLE,
		.has_busy = true,
	},
	{
		.name = "prelim_iov",
		.driver = "i915",
		.base = DRIVERS "/i915/%s/drm",
		.function = "card*/prelim_iov/%s/gt*",
		.sharing = "card*/prelim_iov/pf/gt*/policies/sched_if_idle",
		.form = XE_SHARING_IF_IDLE,
	},
	{
		.name = "iov",
		.driver = "i915",
		.base = DRIVERS "/i915/%s/drm",
		.function = "card*/iov/%s/gt*",
		.sharing = "card*/iov/pf/gt*/policies/sched_if_idle",
		.form = XE_SHARING_IF_IDLE,
	},
};

static const struct {
	int error;
	const char *text;
} error_texts[] = {
	{EUCLEAN, "the GTs of the device have different values (write the value again)"},
	{EINVAL, "the driver does not accept the value"},
	{EPERM, "this device or its firmware cannot change the setting"},
	{EIO, "the firmware refused the setting"},
	{EACCES, "no permission to write (see 'gover-ctl doctor')"},
	{EROFS, "the file system is read-only"},
};

const char *xe_error_text(int r)
{
	for (size_t i = 0; i < ARRAY_SIZE(error_texts); i++)
		if (error_texts[i].error == -r)
			return error_texts[i].text;
	return strerror(-r);
}

/* --- finding --- */

/* Returns true if @name has the form of a PCI address, such as 0000:03:00.0. */
static bool is_pci_address(const char *name)
{
	static const char form[] = "xxxx:xx:xx.x";
	size_t i;

	for (i = 0; form[i]; i++)
		if (form[i] == 'x' ? !isxdigit((unsigned char)name[i]) : name[i] != form[i])
			return false;
	return name[i] == '\0';
}

static void function_name(int vf, char ret_name[16])
{
	if (vf == 0)
		snprintf(ret_name, 16, "pf");
	else
		snprintf(ret_name, 16, "vf%d", vf);
}

/* The formats of the table are constants; each has one %s. */
__attribute__((format(printf, 2, 0))) static int join(char path[PATH_MAX], const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(path, PATH_MAX, format, ap);
	va_end(ap);
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* Writes the pattern of the folders of function @vf, followed by @name. */
static int function_pattern(const struct xe_place *place, int vf, const char *name,
			    char ret_pattern[PATH_MAX])
{
	const char *form = place->layout->function, *at = strstr(form, "%s");
	char function[16];

	function_name(vf, function);
	return join(ret_pattern, "%s/%.*s%s%s/%s", place->base, (int)(at - form), form, function,
		    at + 2, name);
}

/* Fills in the place of a device, if @layout describes its settings. */
static bool probe(const char *root, const struct xe_layout *layout, const char *pci,
		  struct xe_place *ret_place)
{
	struct xe_place place = {.layout = layout};
	const char *at = strstr(layout->base, "%s");
	char pattern[PATH_MAX];

	snprintf(place.pci, sizeof(place.pci), "%s", pci);
	if (join(place.device, "%s/" DRIVERS "/%s/%s", root, layout->driver, pci) < 0 ||
	    join(place.counters, "%s/bus/event_source/devices", root) < 0 ||
	    join(place.base, "%s/%.*s%s%s", root, (int)(at - layout->base), layout->base, pci,
		 at + 2) < 0 ||
	    function_pattern(&place, 0, "exec_quantum_ms", pattern) < 0 ||
	    file_each_match(pattern, NULL, NULL) == 0)
		return false;
	*ret_place = place;
	return true;
}

static bool is_earlier(const char *driver, const struct xe_place *places, int n, const char *pci)
{
	for (int i = 0; i < n; i++)
		if (strcmp(places[i].pci, pci) == 0 &&
		    strcmp(places[i].layout->driver, driver) == 0)
			return true;
	return false;
}

/* Adds the devices of @layout that no earlier layout describes. Returns the new number. */
static int add_places(const char *root, const struct xe_layout *layout, struct xe_place *places,
		      int n, int max)
{
	const struct dirent *entry;
	char path[PATH_MAX];
	DIR *dir;

	if (join(path, "%s/" DRIVERS "/%s", root, layout->driver) < 0)
		return n;
	dir = opendir(path);
	while (dir && n < max && (entry = readdir(dir)))
		if (is_pci_address(entry->d_name) &&
		    !is_earlier(layout->driver, places, n, entry->d_name) &&
		    probe(root, layout, entry->d_name, &places[n]))
			n++;
	if (dir)
		closedir(dir);
	return n;
}

int xe_place_all(const char *root, struct xe_place *places, int max)
{
	int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		n = add_places(root, &layouts[i], places, n, max);
	return n;
}

#define PLACES_MAX 16

static int fail_several(const struct xe_place *places, int n, struct err *reterr)
{
	char names[PLACES_MAX * (XE_PCI_MAX + 2)] = "";

	for (int i = 0; i < n; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 i ? ", " : "", places[i].pci);
	return err_fail(reterr, EINVAL,
			"parent: required (this host has %d GPUs with SR-IOV: %s; each needs a "
			"section [gpu NAME] with its parent)",
			n, names);
}

int xe_place_find(const char *root, const char *pci, struct xe_place *ret_place, struct err *reterr)
{
	CLEANUP_FREE struct xe_place *places = xcalloc(PLACES_MAX, sizeof(*places));
	int n;

	for (size_t i = 0; pci[0] && i < ARRAY_SIZE(layouts); i++)
		if (is_pci_address(pci) && probe(root, &layouts[i], pci, ret_place))
			return 0;
	n = pci[0] ? 0 : xe_place_all(root, places, PLACES_MAX);
	if (n > 1)
		return fail_several(places, n, reterr);
	if (n == 1) {
		*ret_place = places[0];
		return 0;
	}
	if (pci[0])
		return err_fail(reterr, EOPNOTSUPP,
				"parent = %s: not a physical function whose driver has settings "
				"of SR-IOV (run 'gover-ctl doctor')",
				pci);
	return err_fail(reterr, EOPNOTSUPP,
			"%s/" DRIVERS ": no GPU of the drivers xe and i915 has settings of SR-IOV "
			"(run 'gover-ctl doctor')",
			root);
}

/* The numbers of PCI begin with 0, those of the driver with 1 (xe_pci_sriov.c). */
static int link_path(const struct xe_place *place, int vf, char path[PATH_MAX])
{
	return place->layout->links ? join(path, "%s/vf%d/device", place->base, vf)
				    : join(path, "%s/virtfn%d", place->device, vf - 1);
}

int xe_place_link(const struct xe_place *place, int vf, ino_t *ret_link)
{
	char path[PATH_MAX];
	struct stat st;
	int r = link_path(place, vf, path);

	if (r == 0 && lstat(path, &st) < 0)
		r = errno == ENOTDIR ? -ENOENT : -errno;
	if (r == 0)
		*ret_link = st.st_ino;
	return r;
}

int xe_place_vf(const struct xe_place *place, int vf, char ret_pci[XE_PCI_MAX])
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *name;
	ssize_t n;
	int r = link_path(place, vf, path);

	if (r < 0)
		return r;
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return errno == EINVAL ? -ENOENT : -errno;
	target[n] = '\0';
	name = strrchr(target, '/');
	name = name ? name + 1 : target;
	if (strlen(name) >= XE_PCI_MAX)
		return -EINVAL;
	memcpy(ret_pci, name, strlen(name) + 1);
	return 0;
}

void xe_place_id(const char *pci, char ret_id[ID_MAX])
{
	snprintf(ret_id, ID_MAX, "%s", pci);
	for (char *at = ret_id; *at; at++)
		if (*at == ':')
			*at = '_';
}

/* --- files --- */

/*
 * Opens a file for reading and writing, or read-only without the permission to write: then a write
 * fails, and the reading remains possible.
 */
static int open_one(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0 && flags == O_RDWR && (errno == EACCES || errno == EPERM || errno == EROFS))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_matches(const char *pattern, int flags, struct xe_files *ret)
{
	struct xe_files files = {.n = 0};
	glob_t found;
	int fd = -ENOENT;

	if (glob(pattern, 0, NULL, &found) != 0) {
		globfree(&found);
		return -ENOENT;
	}
	for (size_t i = 0; i < found.gl_pathc && files.n < XE_GTS_MAX; i++) {
		fd = open_one(found.gl_pathv[i], flags);
		if (fd < 0)
			break;
		files.fds[files.n++] = fd;
	}
	globfree(&found);
	if (fd < 0) {
		xe_files_close(&files);
		return fd;
	}
	*ret = files;
	return 0;
}

int xe_files_open(const struct xe_place *place, int vf, const char *name, struct xe_files *ret)
{
	char pattern[PATH_MAX];
	int r = function_pattern(place, vf, name, pattern);

	return r < 0 ? r : open_matches(pattern, O_RDWR, ret);
}

static bool is_file_at(int fd, const char *path)
{
	struct stat open, there;

	return fstat(fd, &open) == 0 && stat(path, &there) == 0 && open.st_dev == there.st_dev &&
	       open.st_ino == there.st_ino;
}

bool xe_files_exist(const struct xe_place *place, int vf, const char *name,
		    const struct xe_files *files)
{
	char pattern[PATH_MAX];
	glob_t found;
	bool exist;

	if (function_pattern(place, vf, name, pattern) < 0)
		return false;
	exist = glob(pattern, 0, NULL, &found) == 0 && files->n > 0;
	for (int i = 0; exist && i < files->n; i++)
		exist = (size_t)i < found.gl_pathc && is_file_at(files->fds[i], found.gl_pathv[i]);
	globfree(&found);
	return exist;
}

int xe_files_access(const struct xe_place *place, int vf, const char *name)
{
	char pattern[PATH_MAX];
	glob_t found;
	int r = function_pattern(place, vf, name, pattern);

	if (r < 0)
		return r;
	r = glob(pattern, 0, NULL, &found) == 0 ? 0 : -ENOENT;
	for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
		if (access(found.gl_pathv[i], R_OK | W_OK) < 0)
			r = -errno;
	globfree(&found);
	return r;
}

int xe_files_open_sharing(const struct xe_place *place, struct xe_files *ret)
{
	char pattern[PATH_MAX];
	int r = join(pattern, "%s/%s", place->base, place->layout->sharing);
	bool words = place->layout->form == XE_SHARING_PRIORITY;

	return r < 0 ? r : open_matches(pattern, words ? O_WRONLY : O_RDWR, ret);
}

void xe_files_close(struct xe_files *files)
{
	for (int i = 0; i < files->n; i++)
		(void)close(files->fds[i]);
	files->n = 0;
}

int xe_files_read_text(const struct xe_files *files, char *text, size_t size)
{
	char other[64];
	int r;

	if (files->n == 0)
		return -ENOENT;
	r = gpu_gone_or(file_pread_text(files->fds[0], text, size));
	for (int i = 1; i < files->n && r >= 0; i++) {
		r = gpu_gone_or(file_pread_text(files->fds[i], other, sizeof(other)));
		if (r >= 0 && strcmp(text, other) != 0)
			r = -EUCLEAN;
	}
	return r < 0 ? r : 0;
}

int xe_files_read(const struct xe_files *files, uint32_t *ret_value)
{
	char text[32];
	int64_t value;
	int r = xe_files_read_text(files, text, sizeof(text));

	if (r == 0)
		r = parse_int(text, 0, UINT32_MAX, &value);
	if (r == 0)
		*ret_value = (uint32_t)value;
	return r;
}

/* A file that was opened read-only gives EBADF, or in sysfs ESPIPE. */
static int written(int r)
{
	return r == -EBADF || r == -ESPIPE ? -EACCES : gpu_gone_or(r);
}

int xe_files_write(const struct xe_files *files, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, value);
	return xe_files_write_text(files, text);
}

int xe_files_write_text(const struct xe_files *files, const char *text)
{
	int r = files->n > 0 ? 0 : -ENOENT;

	for (int i = 0; i < files->n && r == 0; i++)
		r = written(file_pwrite_text(files->fds[i], text));
	return r;
}
