/* SPDX-License-Identifier: MIT */
/* A temporary folder with plain files instead of proc and control groups (version 2). */
#ifndef TESTS_UNIT_MONITOR_TRUTH_TEST_TRUTH_H
#define TESTS_UNIT_MONITOR_TRUTH_TEST_TRUTH_H
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "tests/unit/temp-folder.h"
#include "tests/unit/unit.h"

#define S 1000000000ULL
/* The first process belongs to the first PID namespace. */
#define HOST_NAMESPACE "pid:[4026531836]"

static char top[64];	  /* the folder */
static char top_proc[80]; /* its folder proc */
static char top_sys[80];  /* its folder sys */

static inline const char *below(const char *name)
{
	static char paths[4][PATH_MAX];
	static int i;
	char *path = paths[i++ % 4];

	snprintf(path, PATH_MAX, "%s/%s", top, name);
	return path;
}

static inline void write_file(const char *name, const char *text)
{
	FILE *file;

	assert_int_equal(file_make_parents(below(name)), 0);
	file = fopen(below(name), "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static inline void remove_below(const char *name)
{
	remove_tree(below(name));
}

static inline void add_link(const char *name, const char *target)
{
	assert_int_equal(file_make_parents(below(name)), 0);
	(void)unlink(below(name));
	assert_int_equal(symlink(target, below(name)), 0);
}

/* Adds a GPU with @driver to the folder sys. */
static inline void add_pci_gpu(const char *address, const char *driver)
{
	char name[128], target[64];

	snprintf(name, sizeof(name), "sys/bus/pci/devices/%s/driver", address);
	snprintf(target, sizeof(target), "../../drivers/%s", driver);
	add_link(name, target);
	snprintf(name, sizeof(name), "sys/bus/pci/drivers/%s/x", driver);
	write_file(name, "");
	snprintf(name, sizeof(name), "sys/bus/pci/devices/%s/drm/renderD128/dev", address);
	write_file(name, "226:128\n");
}

static inline int make_host(void)
{
	char text[PATH_MAX];

	strcpy(top, "/tmp/gover-truth.XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(top_proc, sizeof(top_proc), "%s/proc", top);
	snprintf(top_sys, sizeof(top_sys), "%s/sys", top);
	snprintf(text, sizeof(text), "31 23 0:28 / %s/cgroup rw - cgroup2 cgroup2 rw\n", top);
	write_file("proc/self/mountinfo", text);
	write_file("cgroup/cgroup.controllers", "cpuset cpu io memory dmem\n");
	write_file("cgroup/system.slice/cgroup.procs", "");
	add_link("proc/1/ns/pid", HOST_NAMESPACE);
	write_file("proc/1/fd/x", "");
	return 0;
}

static inline int remove_host(void)
{
	remove_below("");
	return 0;
}

/* Adds a process in the control group @group. */
static inline void add_process(int pid, const char *group)
{
	char name[256], text[256];

	snprintf(name, sizeof(name), "proc/%d/cgroup", pid);
	snprintf(text, sizeof(text), "0::/%s\n", group);
	write_file(name, text);
	snprintf(name, sizeof(name), "cgroup/%s/cgroup.procs", group);
	write_file(name, "");
	snprintf(name, sizeof(name), "proc/%d/fd/x", pid);
	assert_int_equal(file_make_parents(below(name)), 0);
	snprintf(name, sizeof(name), "proc/%d/fdinfo/x", pid);
	assert_int_equal(file_make_parents(below(name)), 0);
}

/* Gives the process descriptor @fd of a file, with the text of its fdinfo. */
static inline void add_file(int pid, int fd, const char *target, const char *text)
{
	char name[256];

	snprintf(name, sizeof(name), "proc/%d/fd/%d", pid, fd);
	(void)unlink(below(name));
	assert_int_equal(symlink(target, below(name)), 0);
	snprintf(name, sizeof(name), "proc/%d/fdinfo/%d", pid, fd);
	write_file(name, text);
}

/* Writes the text of a DRM file of the GPU 0000:03:00.0. */
static inline const char *drm_text(unsigned client, double render_s, double video_s)
{
	static char text[512];

	snprintf(text, sizeof(text),
		 "pos:\t0\ndrm-driver:\ti915\ndrm-client-id:\t%u\ndrm-pdev:\t0000:03:00.0\n"
		 "drm-resident-vram0:\t%u KiB\ndrm-engine-render:\t%.0f ns\n"
		 "drm-engine-video:\t%.0f ns\ndrm-engine-capacity-video:\t2\n",
		 client, client, render_s * 1e9, video_s * 1e9);
	return text;
}

static inline void add_drm_file(int pid, int fd, unsigned client, double render_s)
{
	add_file(pid, fd, "/dev/dri/renderD128", drm_text(client, render_s, 0));
}

/* Adds a process in the control group @group that has a DRM file. */
static inline void add_drm_process(int pid, const char *group, int fd, unsigned client,
				   double render_s)
{
	add_process(pid, group);
	add_drm_file(pid, fd, client, render_s);
}

#endif
