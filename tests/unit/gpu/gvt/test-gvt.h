/* SPDX-License-Identifier: MIT */
/* A temporary folder with plain files instead of sysfs, and a GPU in that folder. */
#ifndef TESTS_UNIT_GPU_TEST_GVT_H
#define TESTS_UNIT_GPU_TEST_GVT_H
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gpu/gpu.h"
#include "tests/unit/gpu/test-gpu.h"
#include "tests/unit/temp-folder.h"
#include "tests/unit/unit.h"

static char root[64];
static struct gpu_config config;
static struct gpu *gpu;
static const struct gpu_ops *gpu_is;
static struct err err;
static char listed[512]; /* the text "ID=INITIAL_CAP " for each vGPU, in the order of the list */

static int set_up(void)
{
	strcpy(root, "/tmp/gover-gvt.XXXXXX");
	if (!mkdtemp(root))
		return -1;
	config = (struct gpu_config){.name = "gpu0", .backend = "auto", .speed = 1};
	strcpy(config.root, root);
	gpu = NULL;
	err.msg[0] = '\0';
	return 0;
}

static int tear_down(void)
{
	if (gpu)
		gpu_is->close(gpu);
	remove_tree(root);
	return 0;
}

static inline void open_gpu(const struct gpu_ops *ops)
{
	gpu_is = ops;
	if (ops->open(&config, &gpu, &err) < 0)
		fail_msg("%s", err.msg);
}

#define PATH_OF(path, format)                                                \
	do {                                                                 \
		va_list ap;                                                  \
		int at = snprintf(path, sizeof(path), "%s/", root);          \
                                                                             \
		va_start(ap, format);                                        \
		vsnprintf(path + at, sizeof(path) - (size_t)at, format, ap); \
		va_end(ap);                                                  \
	} while (0)

__attribute__((format(printf, 1, 2))) static inline void make_dir(const char *format, ...)
{
	char path[512];

	PATH_OF(path, format);
	assert_int_equal(file_make_dirs(path), 0);
}

__attribute__((format(printf, 2, 3))) static inline void write_file(const char *text,
								    const char *format, ...)
{
	char path[512];
	FILE *file;

	PATH_OF(path, format);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/*
 * Compares only the first line of a file, because a plain file keeps the end of a longer earlier
 * text.
 */
__attribute__((format(printf, 2, 3))) static inline void expect_file(const char *text,
								     const char *format, ...)
{
	CLEANUP_FREE char *is = NULL;
	char path[512];

	PATH_OF(path, format);
	assert_int_equal(file_read(path, 4096, &is, NULL), 0);
	is[strcspn(is, "\n")] = '\0';
	assert_string_equal(is, text);
}

__attribute__((format(printf, 1, 2))) static inline void remove_file(const char *format, ...)
{
	char path[512];

	PATH_OF(path, format);
	assert_int_equal(remove(path), 0);
}

static inline void found_one(void *userdata, const char *id, int initial_cap_pct)
{
	size_t used = strlen(listed);

	(void)userdata;
	snprintf(listed + used, sizeof(listed) - used, "%s=%d ", id, initial_cap_pct);
}

static inline void list_all(const struct gpu_ops *ops)
{
	listed[0] = '\0';
	assert_int_equal(ops->list(gpu, found_one, NULL), 0);
}

static inline struct gpu_vgpu *attach_one(const struct gpu_ops *ops, const char *id)
{
	struct gpu_vgpu *vgpu;

	if (ops->attach(gpu, id, 0, &vgpu, &err) < 0)
		fail_msg("%s", err.msg);
	return vgpu;
}

static inline void expect_problem(const char *wanted)
{
	struct err problem = {""};

	gpu_is->observe.problem(gpu, &problem);
	if (wanted[0] ? !strstr(problem.msg, wanted) : problem.msg[0] != '\0')
		fail_msg("the problem is '%s'", problem.msg);
}

static inline int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static inline int lowest_free_fd(void)
{
	int fd = dup(0);

	assert_true(fd >= 0);
	(void)close(fd);
	return fd;
}

#endif
