/* SPDX-License-Identifier: MIT */
/* Creates unix sockets that listen on a path, and removes the path at the end. */
#ifndef BASE_UNIX_LISTENER_H
#define BASE_UNIX_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/err.h"

/* Size of the path of a socket with its NUL. */
#define UNIX_LISTENER_PATH_MAX sizeof(((struct sockaddr_un *)NULL)->sun_path)

/* The name of a socket that this process has bound. All members are zero if no socket is bound. */
struct unix_listener {
	char path[UNIX_LISTENER_PATH_MAX];
	dev_t dev;
	ino_t ino;
};

/*
 * Binds a socket of @type (SOCK_STREAM, SOCK_SEQPACKET) to @path with @mode (0666: all users can
 * connect), and listens on it with @backlog. Creates missing parent folders. Replaces the socket of
 * a process that has ended, and an empty folder: Docker makes one for a bind mount without a
 * source. Returns the fd (O_CLOEXEC, non-blocking), which the caller closes, or a negative errno
 * with a message. Errors: -EADDRINUSE: another process listens on @path; -ENOTSOCK: @path is not a
 * socket; -ENAMETOOLONG: @path is empty or too long.
 */
int unix_listener_open(const char *path, int type, mode_t mode, int backlog,
		       struct unix_listener *ret_listener, struct err *reterr);

/*
 * True if another program has removed or replaced the name, so that no client can connect. False if
 * no socket is bound.
 */
bool unix_listener_is_lost(const struct unix_listener *listener);

/* Removes the name, unless another process has replaced the socket in the meantime. */
void unix_listener_remove(struct unix_listener *listener);

#endif
