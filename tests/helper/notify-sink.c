/* SPDX-License-Identifier: MIT */
/*
 * notify-sink SOCKET: receives sd_notify() messages in place of systemd. Binds the datagram socket
 * and prints one assignment per line until it is killed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

int main(int argc, char *argv[])
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char message[4096];
	ssize_t n;
	int fd;

	if (argc != 2 || strlen(argv[1]) >= sizeof(address.sun_path)) {
		fputs("Usage: notify-sink SOCKET\n", stderr);
		return 2;
	}
	strcpy(address.sun_path, argv[1]);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		fprintf(stderr, "notify-sink: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	while ((n = recv(fd, message, sizeof(message), 0)) >= 0) {
		printf("%.*s\n", (int)n, message);
		(void)fflush(stdout);
	}
	return 1;
}
