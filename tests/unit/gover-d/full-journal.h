/* SPDX-License-Identifier: MIT */
/* A cap journal that cannot be written, because the files of the test may not grow. */
#ifndef TESTS_UNIT_GOVER_D_FULL_JOURNAL_H
#define TESTS_UNIT_GOVER_D_FULL_JOURNAL_H

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "gover-d/store/cap-journal.h"
#include "tests/unit/unit.h"

/*
 * Returns a journal on a disk that is full: every write of a file fails with EFBIG until
 * close_full_journal(). The journal has no record.
 */
static inline struct cap_journal *open_full_journal(void)
{
	const struct rlimit limit = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
	char full[] = "/tmp/gover-full.XXXXXX";
	struct cap_journal *opened = NULL;
	int fd = mkstemp(full);

	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(cap_journal_open(full, &opened, NULL), 0);
	assert_int_equal(unlink(full), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	return opened;
}

static inline void close_full_journal(struct cap_journal *opened)
{
	const struct rlimit limit = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};

	cap_journal_close(opened);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

#endif
