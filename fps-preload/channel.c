/* SPDX-License-Identifier: MIT */
/*
 * Opens vsock connections and virtio-serial ports.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fps-preload/channel.h"

#define PORTS_BY_NAME  "/dev/virtio-ports/" /* udev creates a symlink to each port here */
#define PORTS_IN_SYSFS "/sys/class/virtio-ports/"
#define PATH_BYTES     128

int channel_open_vsock(const struct sockaddr_vm *host, struct owned_fd *ret_sock)
{
	int r = owned_fd_take(socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
			      ret_sock);

	if (r < 0)
		return r;
	if (connect(ret_sock->fd, (const struct sockaddr *)host, sizeof(*host)) < 0 &&
	    errno != EINPROGRESS) {
		r = -errno;
		owned_fd_close(ret_sock);
	}
	return r;
}

int channel_check_connected(const struct owned_fd *sock)
{
	struct pollfd writable = {.fd = sock->fd, .events = POLLOUT};
	socklen_t length = sizeof(int);
	int error = 0;

	if (poll(&writable, 1, 0) <= 0)
		return -EINPROGRESS;
	if (getsockopt(sock->fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
		return -errno;
	return error ? -error : 0;
}

static int open_device(const char *path, struct owned_fd *ret_port)
{
	struct stat st;
	int r = owned_fd_take(open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY), ret_port);

	if (r < 0)
		return r;
	if (fstat(ret_port->fd, &st) == 0 && S_ISCHR(st.st_mode))
		return 0;
	/* not a device: a write, for example to a pipe, could raise SIGPIPE */
	owned_fd_close(ret_port);
	return -ENODEV;
}

/* Returns true if sysfs reports @name as the name of port @port. */
static bool port_has_name(const char *port, const char *name)
{
	char path[PATH_BYTES], found[PATH_BYTES];
	ssize_t n = -1;
	int fd;

	if (snprintf(path, sizeof(path), PORTS_IN_SYSFS "%s/name", port) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, found, sizeof(found));
	(void)close(fd);
	return n > 1 && found[n - 1] == '\n' && (size_t)n - 1 == strlen(name) &&
	       memcmp(found, name, (size_t)n - 1) == 0;
}

/*
 * Finds the device of port @name in sysfs, for a guest without udev. Uses getdents64, because
 * opendir() would allocate memory.
 */
static int find_device(const char *name, char ret_path[PATH_BYTES])
{
	_Alignas(struct dirent64) char entries[2048];
	int fd = open(PORTS_IN_SYSFS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool found = false;
	long n;

	if (fd < 0)
		return -errno;
	while (!found && (n = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < n && !found;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			found = entry->d_name[0] != '.' && port_has_name(entry->d_name, name) &&
				snprintf(ret_path, PATH_BYTES, "/dev/%s", entry->d_name) <
					PATH_BYTES;
			at += entry->d_reclen;
		}
	}
	(void)close(fd);
	return found ? 0 : -ENOENT;
}

int channel_open_port(const char *name, struct owned_fd *ret_port)
{
	char path[PATH_BYTES];
	int r = -ENAMETOOLONG;

	if (snprintf(path, sizeof(path), PORTS_BY_NAME "%s", name) < (int)sizeof(path))
		r = open_device(path, ret_port);
	if (r != -ENOENT)
		return r;
	r = find_device(name, path);
	return r < 0 ? r : open_device(path, ret_port);
}
