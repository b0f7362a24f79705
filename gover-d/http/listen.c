/* SPDX-License-Identifier: MIT */
/* Listening sockets for TCP, and sockets from systemd. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "gover-d/http/listen.h"

#define BACKLOG	    HTTP_LISTEN_BACKLOG
#define SOCKET_KIND (SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)

/* Splits "ADDR:PORT" or "[ADDR]:PORT" into address and port. */
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
				"listen: invalid address %s (allowed: ADDR:PORT such as "
				"127.0.0.1:9788 or [::1]:9788)",
				address);
	fd = listen_on(info);
	freeaddrinfo(info);
	if (fd < 0)
		return err_fail(reterr, -fd, "listen: %s: %s", address, strerror(-fd));
	return fd;
}

static const struct {
	const char *name;
	bool tcp;
} activated[] = {
	{HTTP_ACTIVATED_UNIX, false},
	{HTTP_ACTIVATED_TCP, true},
};

static bool is_listening(int fd, bool tcp)
{
	return tcp ? sd_is_socket_inet(fd, AF_UNSPEC, SOCK_STREAM, 1, 0) > 0
		   : sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) > 0;
}

/* A socket with an unknown name is an error, because its clients would never get a reply. */
static int take_socket(struct http_activated *sockets, int fd, const char *name, struct err *reterr)
{
	for (size_t i = 0; i < ARRAY_SIZE(activated); i++) {
		int *slot = activated[i].tcp ? &sockets->tcp : &sockets->unix_socket;

		if (strcmp(name, activated[i].name) != 0)
			continue;
		if (*slot >= 0)
			return err_fail(reterr, EINVAL,
					"systemd passed two sockets named %s (limit 1)", name);
		if (!is_listening(fd, activated[i].tcp))
			return err_fail(reterr, EINVAL,
					"systemd passed %s, which is not a listening %s socket",
					name, activated[i].tcp ? "TCP" : "unix stream");
		if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
			return err_fail(reterr, errno, "%s: %s", name, strerror(errno));
		*slot = fd;
		return 0;
	}
	return err_fail(
		reterr, EINVAL,
		"systemd passed a socket named %.60s (allowed: FileDescriptorName=%s or %s)", name,
		HTTP_ACTIVATED_UNIX, HTTP_ACTIVATED_TCP);
}

int http_listen_activated(struct http_activated *ret_sockets, struct err *reterr)
{
	struct http_activated sockets = {-1, -1};
	char **names = NULL;
	int r, n = sd_listen_fds_with_names(/* unset_environment= */ 1, &names);

	r = n < 0 ? err_fail(reterr, -n, "sockets from systemd: cannot be read: %s", strerror(-n))
		  : 0;
	for (int i = 0; i < n; i++) {
		if (r >= 0)
			r = take_socket(&sockets, SD_LISTEN_FDS_START + i, names[i], reterr);
		free(names[i]);
	}
	free(names);
	if (r >= 0)
		*ret_sockets = sockets;
	return r;
}
