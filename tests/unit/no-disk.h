/* SPDX-License-Identifier: MIT */
/* Replaces fsync() and fdatasync() in a test program whose files are not needed after a crash. */
#ifndef TESTS_UNIT_NO_DISK_H
#define TESTS_UNIT_NO_DISK_H

int fdatasync(int fd)
{
	(void)fd;
	return 0;
}

int fsync(int fd)
{
	(void)fd;
	return 0;
}

#endif
