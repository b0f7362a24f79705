/* SPDX-License-Identifier: MIT */
/*
 * A folder for a cap journal. If it still contains a file at the end of a test, its removal fails
 * and so does the test.
 */
#ifndef TESTS_UNIT_GOVER_D_TEST_CAP_JOURNAL_H
#define TESTS_UNIT_GOVER_D_TEST_CAP_JOURNAL_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/gover-test-caps.XXXXXX";
static char journal_path[64];

static int make_folder(void)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(journal_path, sizeof(journal_path), "%s/caps", folder);
	return 0;
}

static int remove_folder(void)
{
	return rmdir(folder);
}

#endif
