/* SPDX-License-Identifier: MIT */
/*
 * A folder of its own for the book of caps. Must never be emptied at the end: what is left in it is
 * a fault of the test or of the book.
 */
#ifndef TESTS_UNIT_GOVER_D_TEST_BOOK_H
#define TESTS_UNIT_GOVER_D_TEST_BOOK_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/gover-test-book.XXXXXX";
static char book_path[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(book_path, sizeof(book_path), "%s/caps", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

#endif
