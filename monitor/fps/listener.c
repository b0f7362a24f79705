/* SPDX-License-Identifier: MIT */
/*
 * A unix socket to listen on, where a daemon that is dead may have left one. Must never take the
 * place of a daemon that lives, nor of what is no socket.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "monitor/fps/listener.h"

#define BACKLOG 512

/* Takes away what a dead daemon left at the path. -EADDRINUSE: somebody lives there. */
static int clear_stale(const struct sockaddr_un *address, struct err *reterr)
{
	const char *path = address->sun_path;
	CLEANUP_CLOSE int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct stat st;

	if (probe < 0)
		return err_fail(reterr, errno, "cannot make a socket: %s", strerror(errno));
	if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return err_fail(reterr, EEXIST, "%s is there and is no socket", path);
	if (connect(probe, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
	    errno == EAGAIN || errno == EPROTOTYPE)
		return err_fail(reterr, EADDRINUSE, "another daemon listens on %s", path);
	if (errno != ECONNREFUSED && errno != ENOENT)
		return err_fail(reterr, errno, "cannot tell whose %s is: %s", path,
				strerror(errno));
	if (unlink(path) < 0 && errno != ENOENT)
		return err_fail(reterr, errno, "cannot replace the stale %s: %s", path,
				strerror(errno));
	return 0;
}

static int make_folder_of(const char *path, struct err *reterr)
{
	char folder[PATH_MAX];
	char *slash;
	int r;

	(void)snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return 0;
	*slash = '\0';
	r = file_make_dirs(folder);
	return r < 0 ? err_fail(reterr, -r, "cannot make %s: %s", folder, strerror(-r)) : 0;
}

int fps_listener_open(const char *path, struct fps_listener *ret_listener, struct err *reterr)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	CLEANUP_CLOSE int fd = -1;
	struct stat st;
	int r;

	strcpy(address.sun_path, path);
	r = make_folder_of(path, reterr);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_fail(reterr, errno, "cannot make a socket: %s", strerror(errno));
	r = bind(fd, (const struct sockaddr *)&address, sizeof(address));
	if (r < 0 && errno == EADDRINUSE) {
		r = clear_stale(&address, reterr);
		if (r < 0)
			return r;
		r = bind(fd, (const struct sockaddr *)&address, sizeof(address));
	}
	if (r == 0)
		r = lstat(path, &st);
	if (r == 0) {
		ret_listener->dev = st.st_dev;
		ret_listener->ino = st.st_ino;
	}
	if (r < 0 || chmod(path, 0666) < 0 || listen(fd, BACKLOG) < 0)
		return err_fail(reterr, errno, "cannot listen on %s: %s", path, strerror(errno));
	ret_listener->fd = steal_fd(&fd);
	return 0;
}

void fps_listener_close(struct fps_listener *listener, const char *path)
{
	struct stat st;

	if (listener->ino != 0 && lstat(path, &st) == 0 && st.st_dev == listener->dev &&
	    st.st_ino == listener->ino)
		(void)unlink(path);
	if (listener->fd >= 0)
		(void)close(listener->fd);
	*listener = FPS_LISTENER_CLOSED;
}
