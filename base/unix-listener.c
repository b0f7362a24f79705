/* SPDX-License-Identifier: MIT */
/* Listening on a unix socket. Never takes the name of a socket that another process listens on. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/unix-listener.h"

#define FLAGS (SOCK_NONBLOCK | SOCK_CLOEXEC)

/* Returns the length of the folder DIR/ of the path DIR/tenant/NAME, or -1 for another path. */
static int parent_length(const char *path)
{
	const size_t length = strlen(UNIX_LISTENER_FOLDER);
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;

	if (n < length || strncmp(slash - length, UNIX_LISTENER_FOLDER, length) != 0 ||
	    (n > length && slash[-1 - (ssize_t)length] != '/'))
		return -1;
	return (int)(n - length);
}

void unix_listener_name(const char *path, char ret_name[PATH_MAX])
{
	int n = parent_length(path);

	if (n < 0)
		(void)snprintf(ret_name, PATH_MAX, "%s", path);
	else
		(void)snprintf(ret_name, PATH_MAX, "%.*s%s", n, path, strrchr(path, '/') + 1);
}

/* Writes the content of the link @name: tenant/NAME. */
static void make_target(const char *name, char ret_target[PATH_MAX])
{
	const char *slash = strrchr(name, '/');

	(void)snprintf(ret_target, PATH_MAX, UNIX_LISTENER_FOLDER "/%s", slash ? slash + 1 : name);
}

/* Returns true if @name is a link to the socket of this name in the folder for programs. */
static bool is_link(const char *name)
{
	char target[PATH_MAX], content[PATH_MAX];
	ssize_t n = readlink(name, content, sizeof(content) - 1);

	make_target(name, target);
	content[n > 0 ? n : 0] = '\0';
	return strcmp(content, target) == 0;
}

/* Returns 0 if no process listens on @address, else a negative errno. */
static int check_dead(const struct sockaddr_un *address, int type)
{
	CLEANUP_CLOSE int fd = socket(AF_UNIX, type | FLAGS, 0);
	struct stat st;

	if (fd < 0 || lstat(address->sun_path, &st) < 0)
		return -errno;
	if (!S_ISSOCK(st.st_mode) && !is_link(address->sun_path))
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

/* Removes an empty folder, and the socket or link of a process that has ended. */
static int remove_stale(const struct sockaddr_un *address, int type)
{
	int r;

	if (rmdir(address->sun_path) == 0)
		return 0;
	r = check_dead(address, type);
	return r == 0 && unlink(address->sun_path) < 0 && errno != ENOENT ? -errno : r;
}

static int bind_to(int fd, const struct sockaddr_un *address)
{
	return bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? -errno : 0;
}

/* Binds @fd to @address. Removes a stale name and retries once. */
static int bind_over_stale(int fd, const struct sockaddr_un *address, int type)
{
	int r = bind_to(fd, address);

	if (r != -EADDRINUSE)
		return r;
	r = remove_stale(address, type);
	return r < 0 ? r : bind_to(fd, address);
}

/*
 * Sets the mode after bind(), because the mode at bind() depends on the umask. No client can
 * connect before listen(). Follows no link: a container may write to the folder.
 */
static int listen_to(int fd, mode_t mode, int backlog, struct unix_listener *listener)
{
	struct stat st;

	if (lstat(listener->path, &st) < 0)
		return -errno;
	listener->dev = st.st_dev;
	listener->ino = st.st_ino;
	if (fchmodat(AT_FDCWD, listener->path, mode, AT_SYMLINK_NOFOLLOW) < 0 ||
	    listen(fd, backlog) < 0)
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

/* Links @name to its socket in the folder for programs. Removes a stale name and retries once. */
static int link_name(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char target[PATH_MAX];
	int r;

	make_target(name, target);
	r = symlink(target, name) < 0 ? -errno : 0;
	if (r != -EEXIST)
		return r;
	if (is_link(name))
		return 0;
	strcpy(address.sun_path, name); /* shorter than the path of the socket */
	r = remove_stale(&address, SOCK_SEQPACKET);
	if (r == 0 && symlink(target, name) < 0)
		r = -errno;
	return r;
}

int unix_listener_open_for_programs(const char *path, int backlog,
				    struct unix_listener *ret_listener, struct err *reterr)
{
	struct unix_listener listener;
	char name[PATH_MAX];
	int r, fd = unix_listener_open(path, SOCK_SEQPACKET, 0666, backlog, &listener, reterr);

	if (fd < 0)
		return fd;
	unix_listener_name(path, name);
	if (strcmp(name, path) != 0) {
		r = link_name(name);
		if (r < 0) {
			unix_listener_remove(&listener);
			(void)close(fd);
			return fail(reterr, name, -r);
		}
		strcpy(listener.link, name);
	}
	*ret_listener = listener;
	return fd;
}

static bool is_own(const struct unix_listener *listener)
{
	struct stat st;

	return lstat(listener->path, &st) == 0 && st.st_dev == listener->dev &&
	       st.st_ino == listener->ino;
}

bool unix_listener_is_lost(const struct unix_listener *listener)
{
	return listener->ino != 0 &&
	       (!is_own(listener) || (listener->link[0] && !is_link(listener->link)));
}

void unix_listener_remove(struct unix_listener *listener)
{
	if (listener->ino != 0 && is_own(listener)) {
		if (listener->link[0] && is_link(listener->link))
			(void)unlink(listener->link);
		(void)unlink(listener->path);
	}
	*listener = (struct unix_listener){.ino = 0};
}
