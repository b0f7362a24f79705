/* SPDX-License-Identifier: MIT */
/* A file of a test group's own: made before its first test, removed after its last. */
#ifndef TESTS_UNIT_TEMP_FILE_H
#define TESTS_UNIT_TEMP_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"

static char temp_file[] = "/tmp/gover-test.XXXXXX";

static inline int temp_file_make(void)
{
	int fd = mkstemp(temp_file);

	return fd < 0 ? -1 : close(fd);
}

static inline int temp_file_remove(void)
{
	return remove(temp_file);
}

static inline void temp_file_write(const char *text)
{
	FILE *file = fopen(temp_file, "w");
	bool written = file && fputs(text, file) >= 0;

	if (file)
		written = fclose(file) == 0 && written;
	assert_true(written);
}

#endif
