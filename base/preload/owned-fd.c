/* SPDX-License-Identifier: MIT */
/* Recognises this library's file descriptors in the host program. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/preload/owned-fd.h"

/*
 * The library uses no fd below this number, because shells redirect low numbers, and programs may
 * expect them from open().
 */
#define LOWEST_FD 100

int owned_fd_take(int fd, struct owned_fd *ret_owned)
{
	struct stat st;
	int high, r = 0;

	if (fd < 0)
		return -errno;
	high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);
	if (high < 0 || fstat(high, &st) < 0)
		r = -errno;
	(void)close(fd);
	if (r < 0) {
		if (high >= 0)
			(void)close(high);
		return r;
	}
	*ret_owned = (struct owned_fd){.fd = high, .dev = st.st_dev, .ino = st.st_ino};
	return 0;
}

bool owned_fd_is_valid(const struct owned_fd *kept)
{
	struct stat st;

	return kept->fd >= 0 && fstat(kept->fd, &st) == 0 && st.st_dev == kept->dev &&
	       st.st_ino == kept->ino;
}

void owned_fd_close(struct owned_fd *kept)
{
	if (owned_fd_is_valid(kept))
		(void)close(kept->fd);
	*kept = OWNED_FD_NONE;
}
