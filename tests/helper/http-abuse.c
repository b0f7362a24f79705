/* SPDX-License-Identifier: MIT */
/*
 * http-abuse SOCKET loris|mute|body N: clients that overload a server.
 *   loris  N connections that send headers byte by byte and reconnect when they are closed
 *   mute   N event streams that never read; prints "gone" when the server has closed all of them
 *   body   N requests with a body of 1 GiB, alternately with a length and chunked; prints the
 * status and the accepted MiB of each, and exits The others print "ready" and run until they are
 * killed.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BODY_BYTES (1024L * 1024 * 1024)

static const char *path;

static int connect_to(int flags)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int send_text(int fd, const char *text)
{
	return send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) > 0 ? 0 : -errno;
}

static void send_slowly(int *fds, int n)
{
	for (int turn = 0;; turn++) {
		for (int i = 0; i < n; i++) {
			if (fds[i] >= 0 &&
			    send_text(fds[i], turn % 20 ? "x" : "\r\nX-Y: ") == -EPIPE) {
				close(fds[i]);
				fds[i] = -1;
			}
			if (fds[i] >= 0)
				continue;
			fds[i] = connect_to(SOCK_NONBLOCK);
			if (fds[i] >= 0)
				(void)send_text(fds[i], "GET /v1/host HTTP/1.1\r\nHost: x");
		}
		if (turn == 0) {
			puts("ready");
			fflush(stdout);
		}
		usleep(200000);
	}
}

static void never_read(int *fds, int n)
{
	for (int i = 0; i < n; i++) {
		do
			fds[i] = connect_to(0);
		while (fds[i] < 0 && usleep(10000) == 0);
		(void)send_text(fds[i], "GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
	}
	puts("ready");
	fflush(stdout);
	for (int left = n; left > 0;) {
		left = 0;
		for (int i = 0; i < n; i++) {
			struct pollfd end = {.fd = fds[i], .events = 0};

			left += poll(&end, 1, 0) == 0;
		}
		usleep(100000);
	}
	puts("gone");
	fflush(stdout);
	for (;;)
		pause();
}

static void send_body(int in_chunks)
{
	static char piece[64 * 1024 + 2];
	char head[256], answer[1024] = "";
	int fd = connect_to(0);
	long sent = 0;

	snprintf(head, sizeof(head),
		 "POST /v1/vgpus HTTP/1.1\r\nHost: x\r\nContent-Type: "
		 "application/json\r\n%s%.0ld\r\n"
		 "\r\n",
		 in_chunks ? "Transfer-Encoding: chunked" : "Content-Length: ",
		 in_chunks ? 0 : BODY_BYTES);
	(void)send_text(fd, head);
	memset(piece, ' ', sizeof(piece));
	memcpy(piece + sizeof(piece) - 2, "\r\n", 2);
	while (sent < BODY_BYTES) {
		if (in_chunks && send(fd, "10000\r\n", 7, MSG_NOSIGNAL) != 7)
			break;
		if (send(fd, piece, 64 * 1024 + (in_chunks ? 2 : 0), MSG_NOSIGNAL) < 0)
			break;
		sent += 64 * 1024;
	}
	(void)recv(fd, answer, sizeof(answer) - 1, 0);
	printf("%d %ld\n", strncmp(answer, "HTTP/1.1 ", 9) == 0 ? atoi(answer + 9) : 0,
	       sent / 1024 / 1024);
	close(fd);
}

int main(int argc, char **argv)
{
	int n = argc == 4 ? atoi(argv[3]) : 0;
	int *fds = n > 0 ? malloc((size_t)n * sizeof(int)) : NULL;

	if (!fds) {
		fputs("usage: http-abuse SOCKET loris|mute|body N\n", stderr);
		return 2;
	}
	path = argv[1];
	for (int i = 0; i < n; i++)
		fds[i] = -1;
	if (strcmp(argv[2], "loris") == 0)
		send_slowly(fds, n);
	else if (strcmp(argv[2], "mute") == 0)
		never_read(fds, n);
	for (int i = 0; i < n; i++)
		send_body(i % 2);
	free(fds);
	return 0;
}
