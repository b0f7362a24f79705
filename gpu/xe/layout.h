/* SPDX-License-Identifier: MIT */
/*
 * Where a host has the settings of SR-IOV functions. A table describes the layouts: paths and
 * words, from the newest to the oldest. docs/sriov.md lists all files.
 *
 * A setting can have one file, or one file for each GT of the device. Then all files must agree.
 */
#ifndef GPU_XE_LAYOUT_H
#define GPU_XE_LAYOUT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/id.h"

#define XE_GTS_MAX 8
#define XE_PCI_MAX 32 /* size of a PCI address with its NUL */

/* The forms of the setting that decides whether a function without work keeps its quantum. */
enum xe_sharing_form {
	XE_SHARING_PRIORITY, /* sched_priority: words, the word in force has brackets */
	XE_SHARING_IF_IDLE,  /* sched_if_idle: 0 or 1 */
};

struct xe_layout {
	const char *name;
	const char *driver; /* folder in bus/pci/drivers */
	const char *base;   /* folder of the device, with %s for its PCI address */
	/* folders of a function below @base, with %s for "pf" or "vfN"; may have wildcards */
	const char *function;
	/* files that set the sharing of all functions, below @base; may have wildcards */
	const char *sharing;
	enum xe_sharing_form form;
	/* true: vfN/device exists while the function is enabled; false: virtfnN-1 of PCI shows it
	 */
	bool links;
	bool has_busy; /* the driver can count the busy time of a function */
};

/* The folders and files of a device. */
struct xe_place {
	const struct xe_layout *layout;
	char pci[XE_PCI_MAX];  /* address of the physical function */
	char device[PATH_MAX]; /* the device in bus/pci/drivers */
	char base[PATH_MAX];
	char counters[PATH_MAX]; /* root of the event sources */
};

/* The kept-open files of one setting. */
struct xe_files {
	int fds[XE_GTS_MAX];
	int n;
};

/*
 * Finds the GPU with the PCI address @pci below @root, or with "" the only one of the host. Returns
 * -EOPNOTSUPP if this process finds none, -EINVAL if there are several.
 */
int xe_place_find(const char *root, const char *pci, struct xe_place *ret_place,
		  struct err *reterr);
/* Writes the physical functions below @root, at most @max. Returns their number. */
int xe_place_all(const char *root, struct xe_place *places, int max);

/*
 * Writes the PCI address of virtual function @vf, 1 or larger. Returns -ENOENT if it is not
 * enabled.
 */
int xe_place_vf(const struct xe_place *place, int vf, char ret_pci[XE_PCI_MAX]);

/*
 * Identifies the life of virtual function @vf: a function that was disabled and enabled again has
 * another link. Returns -ENOENT if it is not enabled.
 */
int xe_place_link(const struct xe_place *place, int vf, ino_t *ret_link);

/* Writes the id of the vGPU with a PCI address: an id cannot contain ':'. */
void xe_place_id(const char *pci, char ret_id[ID_MAX]);

/*
 * Opens the files @name of function @vf (0: the physical function) for reading and writing. Without
 * the permission to write, opens them read-only. Returns -ENOENT if there is none, or a system
 * error. xe_files_close() accepts @ret after an error if its n was 0 before.
 */
int xe_files_open(const struct xe_place *place, int vf, const char *name, struct xe_files *ret);
/*
 * Returns false if the files @name of function @vf are gone or are other files than the open ones:
 * the driver was unbound, or bound again.
 */
bool xe_files_exist(const struct xe_place *place, int vf, const char *name,
		    const struct xe_files *files);
/* Returns 0 if this process may write these files, or a negative errno. */
int xe_files_access(const struct xe_place *place, int vf, const char *name);
/* Opens the files that set the sharing, for writing. */
int xe_files_open_sharing(const struct xe_place *place, struct xe_files *ret);
void xe_files_close(struct xe_files *files);

/* Reads the value of the setting. -EUCLEAN: the GTs of the device disagree. */
int xe_files_read(const struct xe_files *files, uint32_t *ret_value);
int xe_files_read_text(const struct xe_files *files, char *text, size_t size);
/* Writes the value to all files. */
int xe_files_write(const struct xe_files *files, uint32_t value);
int xe_files_write_text(const struct xe_files *files, const char *text);

/* Returns what an error of a setting means, for messages. @r is a negative errno. */
const char *xe_error_text(int r);

#endif
