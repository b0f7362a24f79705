/* SPDX-License-Identifier: MIT */
/*
 * An fd of ours inside somebody else's program. The program may close it behind our back and get
 * the same number for a file of its own, so an fd is used only after owned_fd_is_valid() has
 * recognised it.
 */
#ifndef FPS_PRELOAD_OWNED_FD_H
#define FPS_PRELOAD_OWNED_FD_H

#include <stdbool.h>
#include <sys/types.h>

struct owned_fd {
	int fd; /* -1: none */
	dev_t dev;
	ino_t ino;
};

#define OWNED_FD_NONE ((struct owned_fd){.fd = -1})

/* Moves @fd (consumed, whatever the result) out of the numbers that programs count on, and
 * remembers what it is. Returns 0 or a negative errno. */
int owned_fd_take(int fd, struct owned_fd *ret_owned);

/* Still open and still what it was? */
bool owned_fd_is_valid(const struct owned_fd *kept);

/* Closes it if it is still ours, and forgets it either way. */
void owned_fd_close(struct owned_fd *kept);

#endif
