/* SPDX-License-Identifier: MIT */
/*
 * http-sink PORTFILE BODIES STATUS: receives webhooks on 127.0.0.1. Writes its port to PORTFILE,
 * appends the body of each request as a line to BODIES, and responds with the status in the file
 * STATUS (default 200; "hang": no response).
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_MAX 65536

static int read_status(const char *path)
{
	FILE *file = fopen(path, "r");
	char word[16] = "200";

	if (file) {
		(void)!fscanf(file, "%15s", word);
		(void)fclose(file);
	}
	return strcmp(word, "hang") == 0 ? 0 : atoi(word);
}

/*
 * Reads a request with a body of the announced length. Returns NULL if the connection ends earlier.
 */
static const char *read_request(int connection, char text[REQUEST_MAX])
{
	size_t n = 0;

	text[0] = '\0';
	for (;;) {
		const char *body = strstr(text, "\r\n\r\n");
		const char *length = strcasestr(text, "\r\nContent-Length:");
		ssize_t got;

		if (body && (!length || strlen(body + 4) >= strtoul(length + 17, NULL, 10)))
			return body + 4;
		got = read(connection, text + n, REQUEST_MAX - 1 - n);
		if (got <= 0)
			return NULL;
		n += (size_t)got;
		text[n] = '\0';
	}
}

static void serve(int connection, const char *bodies, const char *status_path)
{
	static char text[REQUEST_MAX];
	const char *body = read_request(connection, text);
	int status = read_status(status_path);
	FILE *file;

	if (!body)
		return;
	file = fopen(bodies, "a");
	if (file) {
		fprintf(file, "%s\n", body);
		(void)fclose(file);
	}
	if (status)
		dprintf(connection,
			"HTTP/1.1 %d X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);
	else if (dup(connection) < 0) /* keeps the connection open */
		perror("dup");
}

int main(int argc, char *argv[])
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), connection;
	socklen_t size = sizeof(address);
	FILE *file;

	if (argc != 4 || fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 ||
	    listen(fd, 64) < 0 || getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return 1;
	file = fopen(argv[1], "w");
	if (!file)
		return 1;
	fprintf(file, "%d\n", ntohs(address.sin_port));
	(void)fclose(file);
	while ((connection = accept(fd, NULL, NULL)) >= 0) {
		serve(connection, argv[2], argv[3]);
		(void)close(connection);
	}
	return 0;
}
