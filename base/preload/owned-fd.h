/* SPDX-License-Identifier: MIT */
/*
 * A file descriptor that this library opened in the host program. The program may close it and
 * reuse its number for another file, so each use is preceded by owned_fd_is_valid().
 */
#ifndef BASE_PRELOAD_OWNED_FD_H
#define BASE_PRELOAD_OWNED_FD_H

#include <stdbool.h>
#include <sys/types.h>

struct owned_fd {
	int fd; /* -1: none */
	dev_t dev;
	ino_t ino;
};

#define OWNED_FD_NONE ((struct owned_fd){.fd = -1})

/*
 * Takes ownership of @fd, also on failure. Moves @fd to a number that programs do not rely on, and
 * records the inode. Returns 0 or a negative errno. If @fd is negative (the call that should have
 * opened it failed), returns -errno.
 */
int owned_fd_take(int fd, struct owned_fd *ret_owned);

/* Returns true if the fd is still open and refers to the same file. */
bool owned_fd_is_valid(const struct owned_fd *owned);

/* Closes the fd if it is still valid, and sets @owned to OWNED_FD_NONE. */
void owned_fd_close(struct owned_fd *owned);

#endif
