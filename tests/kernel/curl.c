/* SPDX-License-Identifier: MIT */
/*
 * A replacement for curl in the virtual machine of check-kernel, because curl takes a third of a
 * second there to load its thirty libraries. Sends one request over a unix socket: curl [-sSf]
 * --unix-socket PATH [-X METHOD] [-H HEADER] [-d BODY] [-o FILE] [-w '%{http_code}'] URL. Any other
 * option is an error.
 */
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct {
	const char *socket, *method, *header, *body, *file, *write_out, *url;
	bool fail;
} arg;

static const struct {
	const char *name;
	const char **value;
} options[] = {
	{"--unix-socket", &arg.socket},
	{"-X", &arg.method},
	{"-H", &arg.header},
	{"-d", &arg.body},
	{"-o", &arg.file},
	{"-w", &arg.write_out},
};

static bool is_flags(const char *text)
{
	if (text[0] != '-' || strspn(text + 1, "sSf") != strlen(text + 1))
		return false;
	arg.fail = arg.fail || strchr(text, 'f');
	return true;
}

static void parse(char **argv)
{
	for (; *argv; argv++) {
		size_t i = 0, n = sizeof(options) / sizeof(*options);

		while (i < n && strcmp(options[i].name, *argv) != 0)
			i++;
		if (i < n && argv[1])
			*options[i].value = *++argv;
		else if (**argv != '-' && !arg.url)
			arg.url = *argv;
		else if (!is_flags(*argv))
			errx(2, "not known here: %s", *argv);
	}
	if (!arg.socket || !arg.url || strncmp(arg.url, "http://", 7) != 0)
		errx(2, "a socket and an http:// URL are needed");
	if (arg.write_out && (strcmp(arg.write_out, "%{http_code}") != 0 || !arg.file))
		errx(2, "not known here: -w '%s', or one without -o", arg.write_out);
}

static FILE *ask(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = strchr(arg.url + 7, '/');
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	const char *body = arg.body ? arg.body : "";

	if (strlen(arg.socket) >= sizeof(address.sun_path))
		errx(2, "%s: too long", arg.socket);
	strcpy(address.sun_path, arg.socket);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		err(7, "%s", arg.socket);
	if (!arg.method)
		arg.method = arg.body ? "POST" : "GET";
	dprintf(fd, "%s %s HTTP/1.1\r\nHost: gover\r\nConnection: close\r\n", arg.method,
		path ? path : "/");
	if (arg.header)
		dprintf(fd, "%s\r\n", arg.header);
	if (arg.body)
		dprintf(fd, "Content-Length: %zu\r\n", strlen(body));
	dprintf(fd, "\r\n%s", body);
	return fdopen(fd, "r");
}

int main(int argc, char **argv)
{
	char line[65536];
	FILE *from, *to = stdout;
	int status = 0;
	size_t n;

	(void)argc;
	parse(argv + 1);
	from = ask();
	if (!from || !fgets(line, sizeof(line), from) ||
	    sscanf(line, "HTTP/1.%*d %d", &status) != 1)
		errx(52, "no answer");
	while (fgets(line, sizeof(line), from) && strcmp(line, "\r\n") != 0)
		;
	if (arg.fail && status >= 400)
		errx(22, "status %d", status);
	if (arg.file)
		to = fopen(arg.file, "w");
	if (!to)
		err(23, "%s", arg.file);
	while ((n = fread(line, 1, sizeof(line), from)) > 0)
		fwrite(line, 1, n, to);
	if (fclose(to) != 0)
		err(23, "writing");
	if (arg.write_out)
		printf("%03d", status);
	return 0;
}
