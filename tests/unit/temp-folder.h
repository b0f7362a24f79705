/* SPDX-License-Identifier: MIT */
/* A folder of a test's own: made before the test, removed with its content after it. */
#ifndef TESTS_UNIT_TEMP_FOLDER_H
#define TESTS_UNIT_TEMP_FOLDER_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void remove_tree(const char *path)
{
	(void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static char temp_folder[32];

static inline int temp_folder_make(void)
{
	strcpy(temp_folder, "/tmp/gover-test.XXXXXX");
	return mkdtemp(temp_folder) ? 0 : -1;
}

static inline int temp_folder_remove(void)
{
	remove_tree(temp_folder);
	return 0;
}

#endif
