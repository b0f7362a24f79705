/* SPDX-License-Identifier: MIT */
/* Creates and seals memfds. gover-arbiter and the OpenCL layer link this file, too. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/preload/sealed-memfd.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif

int sealed_memfd_create(const char *name, size_t bytes)
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL), saved_errno;

	if (fd < 0 && errno == EINVAL) /* Linux before 6.3 rejects MFD_NOEXEC_SEAL */
		fd = memfd_create(name, flags);
	if (fd >= 0 && ftruncate(fd, (off_t)bytes) < 0) {
		saved_errno = errno;
		(void)close(fd);
		errno = saved_errno;
		return -1;
	}
	return fd;
}

int sealed_memfd_seal(int fd, int seals)
{
	int all = seals | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	return fcntl(fd, F_ADD_SEALS, all) < 0 ? -errno : 0;
}
