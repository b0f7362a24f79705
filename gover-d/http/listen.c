/* SPDX-License-Identifier: MIT */
/* Listening sockets. Must never take a name from a daemon that lives, or open it to more than
 * asked. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "gover-d/http/listen.h"

/* Of a unix socket nobody waits at a full queue: he is refused. */
#define BACKLOG	    4096
#define SOCKET_KIND (SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)

static int make_folder_of(const char *path)
{
	char folder[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	char *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return 0;
	*slash = '\0';
	return file_make_dirs(folder);
}

/* Does somebody listen behind the name? 1, 0, or a negative errno. */
static int is_answered(const struct sockaddr_un *address)
{
	CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCKET_KIND, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
		return 1;
	if (errno == EAGAIN) /* alive, but its queue is full */
		return 1;
	return errno == ECONNREFUSED || errno == ENOENT ? 0 : -errno;
}

/* The name is taken: makes room where its owner is dead. */
static int remove_stale(const struct sockaddr_un *address, struct err *reterr)
{
	const char *path = address->sun_path;
	struct stat st;
	int r;

	if (lstat(path, &st) < 0)
		return err_fail(reterr, errno, "socket %s: %s", path, strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return err_fail(reterr, ENOTSOCK, "socket %s: something else has this name", path);
	r = is_answered(address);
	if (r > 0)
		return err_fail(reterr, EADDRINUSE, "socket %s: another daemon answers there",
				path);
	if (r < 0)
		return err_fail(reterr, -r, "socket %s: %s", path, strerror(-r));
	if (unlink(path) < 0 && errno != ENOENT)
		return err_fail(reterr, errno, "socket %s: what a dead daemon left: %s", path,
				strerror(errno));
	return 0;
}

static int bind_unix(int fd, const struct sockaddr_un *address)
{
	return bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? -errno : 0;
}

int http_listen_unix(const char *path, struct err *reterr)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	CLEANUP_CLOSE int fd = -1;
	int r;

	if (strlen(path) >= sizeof(address.sun_path))
		return err_fail(reterr, ENAMETOOLONG, "socket %s: at most %zu bytes are allowed",
				path, sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path) + 1);
	r = make_folder_of(path);
	if (r < 0)
		return err_fail(reterr, -r, "socket %s: its folder: %s", path, strerror(-r));
	fd = socket(AF_UNIX, SOCKET_KIND, 0);
	if (fd < 0)
		return err_fail(reterr, errno, "socket %s: %s", path, strerror(errno));
	r = bind_unix(fd, &address);
	if (r == -EADDRINUSE) {
		r = remove_stale(&address, reterr);
		if (r < 0)
			return r;
		r = bind_unix(fd, &address);
	}
	/* Whatever the umask: nobody can connect before listen(). Anybody can then, and is told
	 * who may do what: see access.h. */
	if (r >= 0 && (chmod(path, 0666) < 0 || listen(fd, BACKLOG) < 0))
		r = -errno;
	if (r < 0)
		return err_fail(reterr, -r, "socket %s: %s", path, strerror(-r));
	return steal_fd(&fd);
}

/* Splits "ADDR:PORT" or "[ADDR]:PORT". */
static int split_address(const char *address, char host[64], const char **ret_port)
{
	bool bracketed = address[0] == '[';
	const char *begin = address + bracketed;
	const char *end = bracketed ? strstr(begin, "]:") : strchr(begin, ':');
	int64_t port;

	if (!end || end - begin >= 64 || parse_int(end + 1 + bracketed, 0, 65535, &port) < 0)
		return -EINVAL;
	snprintf(host, 64, "%.*s", (int)(end - begin), begin);
	*ret_port = end + 1 + bracketed;
	return 0;
}

static int listen_on(const struct addrinfo *info)
{
	CLEANUP_CLOSE int fd = socket(info->ai_family, SOCKET_KIND, 0);
	int on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, info->ai_addr, info->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return steal_fd(&fd);
}

int http_listen_tcp(const char *address, struct err *reterr)
{
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
	};
	struct addrinfo *info;
	const char *port;
	char host[64];
	int fd;

	if (split_address(address, host, &port) < 0 || getaddrinfo(host, port, &hints, &info) != 0)
		return err_fail(reterr, EINVAL,
				"listen: %s is not allowed: ADDR:PORT such as 127.0.0.1:9788 or "
				"[::1]:9788",
				address);
	fd = listen_on(info);
	freeaddrinfo(info);
	if (fd < 0)
		return err_fail(reterr, -fd, "listen: %s: %s", address, strerror(-fd));
	return fd;
}

/* Which of the names a socket unit may give is a TCP socket. */
static const struct {
	const char *name;
	bool tcp;
} handed[] = {
	{HTTP_HANDED_UNIX, false},
	{HTTP_HANDED_TCP, true},
};

static bool is_listening(int fd, bool tcp)
{
	return tcp ? sd_is_socket_inet(fd, AF_UNSPEC, SOCK_STREAM, 1, 0) > 0
		   : sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) > 0;
}

/* Nobody would ever answer on a socket that is not understood: better not to start. */
static int take_handed(struct http_handed *sockets, int fd, const char *name, struct err *reterr)
{
	for (size_t i = 0; i < ARRAY_SIZE(handed); i++) {
		int *place = handed[i].tcp ? &sockets->tcp : &sockets->unix_socket;

		if (strcmp(name, handed[i].name) != 0)
			continue;
		if (*place >= 0)
			return err_fail(reterr, EINVAL,
					"systemd handed over two sockets named %s: one is allowed",
					name);
		if (!is_listening(fd, handed[i].tcp))
			return err_fail(reterr, EINVAL,
					"systemd handed over %s, which is not a %s socket that "
					"listens",
					name, handed[i].tcp ? "TCP" : "unix stream");
		if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
			return err_fail(reterr, errno, "%s: %s", name, strerror(errno));
		*place = fd;
		return 0;
	}
	return err_fail(
		reterr, EINVAL,
		"systemd handed over a socket named %.60s; allowed: FileDescriptorName=%s or "
		"%s",
		name, HTTP_HANDED_UNIX, HTTP_HANDED_TCP);
}

int http_listen_handed(struct http_handed *ret_sockets, struct err *reterr)
{
	struct http_handed sockets = {-1, -1};
	char **names = NULL;
	int r, n = sd_listen_fds_with_names(/* unset_environment= */ 1, &names);

	r = n < 0 ? err_fail(reterr, -n, "what systemd handed over: %s", strerror(-n)) : 0;
	for (int i = 0; i < n; i++) {
		if (r >= 0)
			r = take_handed(&sockets, SD_LISTEN_FDS_START + i, names[i], reterr);
		free(names[i]);
	}
	free(names);
	if (r >= 0)
		*ret_sockets = sockets;
	return r;
}
