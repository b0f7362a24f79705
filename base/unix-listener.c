/* SPDX-License-Identifier: MIT */
/* Listening on a unix socket. Never takes the name of a socket that another process listens on. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/unix-listener.h"

#define FLAGS (SOCK_NONBLOCK | SOCK_CLOEXEC)

/* Returns 0 if no process listens on @address, else a negative errno. */
static int check_dead(const struct sockaddr_un *address, int type)
{
	CLEANUP_CLOSE int fd = socket(AF_UNIX, type | FLAGS, 0);
	struct stat st;

	if (fd < 0 || lstat(address->sun_path, &st) < 0)
		return -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
		return -EADDRINUSE;
	switch (errno) {
	case ECONNREFUSED:
	case ENOENT:
		return 0;
	case EAGAIN:	 /* a process listens, but its queue is full */
	case EPROTOTYPE: /* a process listens, but its socket has another type */
		return -EADDRINUSE;
	default:
		return -errno;
	}
}

static int bind_to(int fd, const struct sockaddr_un *address)
{
	return bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? -errno : 0;
}

/* Binds @fd to @address. If the name belongs to a socket whose process has ended, removes the name
 * and retries once. */
static int bind_over_stale(int fd, const struct sockaddr_un *address, int type)
{
	int r = bind_to(fd, address);

	if (r != -EADDRINUSE)
		return r;
	if (rmdir(address->sun_path) == 0)
		return bind_to(fd, address);
	r = check_dead(address, type);
	if (r == 0 && unlink(address->sun_path) < 0 && errno != ENOENT)
		r = -errno;
	return r < 0 ? r : bind_to(fd, address);
}

/*
 * Sets the mode with chmod(), because the mode after bind() depends on the umask. No client can
 * connect before listen().
 */
static int listen_to(int fd, mode_t mode, int backlog, struct unix_listener *listener)
{
	struct stat st;

	if (lstat(listener->path, &st) < 0)
		return -errno;
	listener->dev = st.st_dev;
	listener->ino = st.st_ino;
	if (chmod(listener->path, mode) < 0 || listen(fd, backlog) < 0)
		return -errno;
	return 0;
}

static int fail(struct err *reterr, const char *path, int error)
{
	switch (error) {
	case EADDRINUSE:
		return err_fail(reterr, error, "socket %s: another daemon listens on it", path);
	case ENOTSOCK:
		return err_fail(reterr, error, "socket %s: the file exists and is not a socket",
				path);
	default:
		return err_fail(reterr, error, "socket %s: %s", path, strerror(error));
	}
}

int unix_listener_open(const char *path, int type, mode_t mode, int backlog,
		       struct unix_listener *ret_listener, struct err *reterr)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct unix_listener listener = {.ino = 0};
	CLEANUP_CLOSE int fd = -1;
	int r;

	if (path[0] == '\0' || strlen(path) >= sizeof(address.sun_path))
		return err_fail(reterr, ENAMETOOLONG,
				"socket \"%s\": the path is empty or too long (allowed: 1..%zu "
				"bytes)",
				path, sizeof(address.sun_path) - 1);
	strcpy(address.sun_path, path);
	strcpy(listener.path, path);
	r = file_make_parents(path);
	if (r < 0)
		return err_fail(reterr, -r, "socket %s: cannot create its folder: %s", path,
				strerror(-r));
	fd = socket(AF_UNIX, type | FLAGS, 0);
	if (fd < 0)
		return fail(reterr, path, errno);
	r = bind_over_stale(fd, &address, type);
	if (r < 0)
		return fail(reterr, path, -r);
	r = listen_to(fd, mode, backlog, &listener);
	if (r < 0) {
		unix_listener_remove(&listener);
		return fail(reterr, path, -r);
	}
	*ret_listener = listener;
	return steal_fd(&fd);
}

static bool is_own(const struct unix_listener *listener)
{
	struct stat st;

	return lstat(listener->path, &st) == 0 && st.st_dev == listener->dev &&
	       st.st_ino == listener->ino;
}

bool unix_listener_is_lost(const struct unix_listener *listener)
{
	return listener->ino != 0 && !is_own(listener);
}

void unix_listener_remove(struct unix_listener *listener)
{
	if (listener->ino != 0 && is_own(listener))
		(void)unlink(listener->path);
	*listener = (struct unix_listener){.ino = 0};
}
