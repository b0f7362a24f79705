/* SPDX-License-Identifier: MIT */
/*
 * An fd of ours inside somebody else's program. The program may close it behind our back and get
 * the same number for a file of its own, so an fd is used only after kept_ours() has recognised it.
 */
#ifndef FPS_PRELOAD_KEPT_H
#define FPS_PRELOAD_KEPT_H

#include <stdbool.h>
#include <sys/types.h>

struct kept {
	int fd; /* -1: none */
	dev_t dev;
	ino_t ino;
};

#define KEPT_NONE ((struct kept){.fd = -1})

/* Moves @fd (consumed, whatever the result) out of the numbers that programs count on, and
 * remembers what it is. Returns 0 or a negative errno. */
int kept_take(int fd, struct kept *ret_kept);

/* Still open and still what it was? */
bool kept_ours(const struct kept *kept);

/* Closes it if it is still ours, and forgets it either way. */
void kept_close(struct kept *kept);

#endif
