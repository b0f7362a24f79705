/* SPDX-License-Identifier: MIT */
/* A folder of a test's own: made before the test, removed with its content after it. */
#ifndef TESTS_UNIT_TEMP_FOLDER_H
#define TESTS_UNIT_TEMP_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char temp_folder[32];

static inline int temp_folder_make(void)
{
	strcpy(temp_folder, "/tmp/gover-test.XXXXXX");
	return mkdtemp(temp_folder) ? 0 : -1;
}

static inline int temp_folder_remove(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf '%s'", temp_folder);
	return system(command);
}

#endif
