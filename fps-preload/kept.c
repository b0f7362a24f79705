/* SPDX-License-Identifier: MIT */
/* Our fds in the host program. Must never touch one that has become the program's. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fps-preload/kept.h"

/* Above what shells redirect and what a program expects from its first open(). */
#define LOWEST_FD 100

int kept_take(int fd, struct kept *ret_kept)
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
	*ret_kept = (struct kept){.fd = high, .dev = st.st_dev, .ino = st.st_ino};
	return 0;
}

bool kept_ours(const struct kept *kept)
{
	struct stat st;

	return kept->fd >= 0 && fstat(kept->fd, &st) == 0 && st.st_dev == kept->dev &&
	       st.st_ino == kept->ino;
}

void kept_close(struct kept *kept)
{
	if (kept_ours(kept))
		(void)close(kept->fd);
	*kept = KEPT_NONE;
}
