/* SPDX-License-Identifier: MIT */
/*
 * Creates unix sockets that listen on a path, and removes the path at the end.
 *
 * A socket is a new file after each start, so a container that mounts the file keeps a dead socket.
 * Sockets for programs can therefore be in a folder that containers mount: DIR/tenant/NAME. The
 * folder outlives the process, and contains only such sockets. DIR/NAME is a link to the socket, so
 * that programs of the host find it at the same path as programs of a container that mounts the
 * folder at DIR.
 */
#ifndef BASE_UNIX_LISTENER_H
#define BASE_UNIX_LISTENER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/err.h"

/* Size of the path of a socket with its NUL. */
#define UNIX_LISTENER_PATH_MAX sizeof(((struct sockaddr_un *)NULL)->sun_path)

#define UNIX_LISTENER_FOLDER "tenant"

/* Writes the name by which programs find the socket @path: DIR/NAME for DIR/tenant/NAME, else
 * @path.
 */
void unix_listener_name(const char *path, char ret_name[PATH_MAX]);

/* The name of a socket that this process has bound. All members are zero if no socket is bound. */
struct unix_listener {
	char path[UNIX_LISTENER_PATH_MAX];
	char link[UNIX_LISTENER_PATH_MAX]; /* DIR/NAME of DIR/tenant/NAME; "": no link */
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
 * Binds a socket of type SOCK_SEQPACKET to which all users can connect. If @path is
 * DIR/tenant/NAME, also makes the link DIR/NAME, which replaces the same names as the socket. No
 * socket is bound if the link cannot be made. Returns like unix_listener_open().
 */
int unix_listener_open_for_programs(const char *path, int backlog,
				    struct unix_listener *ret_listener, struct err *reterr);

/*
 * True if another program has removed or replaced the name or its link, so that a client may not be
 * able to connect. False if no socket is bound.
 */
bool unix_listener_is_lost(const struct unix_listener *listener);

/* Removes the name and its link, unless another process has replaced the socket in the meantime. */
void unix_listener_remove(struct unix_listener *listener);

#endif
