/* SPDX-License-Identifier: MIT */
/* A temporary folder with plain files instead of control groups. */
#ifndef TESTS_UNIT_GPU_TEST_CGROUP_H
#define TESTS_UNIT_GPU_TEST_CGROUP_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/cleanup.h"
#include "base/linux/cgroup.h"
#include "tests/unit/temp-folder.h"
#include "tests/unit/unit.h"

static struct cgroup_host host; /* static, because it is too large for the stack */

/* Writes a file below the temporary folder. */
static void put(const char *file, const char *text)
{
	char path[PATH_MAX];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", temp_folder, file);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

/* Returns the text of a file, valid until the next call, or "(none)". */
static const char *get(const char *file)
{
	static char text[256];
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", temp_folder, file);
	return file_read_text(path, text, sizeof(text)) < 0 ? "(none)" : text;
}

static void folder(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", temp_folder, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

/* Makes a host with one mount that has all controllers, or all except cpuset. */
static inline void one_mount(int version, int cpuset)
{
	host.version = version == 1 ? &cgroup_v1 : &cgroup_v2;
	host.n_mounts = 1;
	host.cpuset = cpuset;
	strcpy(host.mounts[0].path, temp_folder);
	strcpy(host.mounts[0].root, "/");
}

static int make_top(void)
{
	memset(&host, 0, sizeof(host));
	return temp_folder_make();
}

#endif
