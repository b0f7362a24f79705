/* SPDX-License-Identifier: MIT */
/*
 * http-malformed unix PATH | tcp PORT | tls PORT: sends each malformed request of test-malformed.h
 * on a connection of its own. Prints each request that did not get exactly one reply, with the
 * expected status, followed by the end of the connection. The last line contains the totals.
 * Link: -lgnutls
 */
#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/gover-d/http/test-malformed.h"

#define WAIT_S	  20 /* limit of the wait for a reply or the end */
#define REPLY_MAX (64 * 1024)

static gnutls_certificate_credentials_t credentials;

static int connect_to(const char *kind, const char *where)
{
	struct sockaddr_un path = {.sun_family = AF_UNIX};
	struct sockaddr_in port = {.sin_family = AF_INET, .sin_port = htons(atoi(where))};
	const struct timeval wait = {.tv_sec = WAIT_S};
	int fd, r;

	if (strcmp(kind, "unix") == 0) {
		snprintf(path.sun_path, sizeof(path.sun_path), "%s", where);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		r = connect(fd, (const struct sockaddr *)&path, sizeof(path));
	} else {
		port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		r = connect(fd, (const struct sockaddr *)&port, sizeof(port));
	}
	if (r < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0) {
		fprintf(stderr, "http-malformed: %s: %s\n", where, strerror(errno));
		exit(1);
	}
	return fd;
}

/* NULL: a plain connection */
static gnutls_session_t begin_tls(int fd)
{
	gnutls_session_t session;
	int r;

	gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL);
	gnutls_set_default_priority(session);
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
	gnutls_transport_set_int(session, fd);
	do
		r = gnutls_handshake(session);
	while (r < 0 && !gnutls_error_is_fatal(r));
	if (r < 0) {
		fprintf(stderr, "http-malformed: %s\n", gnutls_strerror(r));
		exit(1);
	}
	return session;
}

static ssize_t read_some(gnutls_session_t session, int fd, char *buffer, size_t size)
{
	return session ? gnutls_record_recv(session, buffer, size) : read(fd, buffer, size);
}

/* Returns true if the request got its one reply and the end of the connection. */
static bool try(const struct raw_request *raw, const char *kind, const char *where)
{
	static char reply[REPLY_MAX];
	int fd = connect_to(kind, where), status, replies = 0;
	gnutls_session_t session = strcmp(kind, "tls") == 0 ? begin_tls(fd) : NULL;
	size_t size, n = 0;
	CLEANUP_FREE char *bytes = raw_request_bytes(raw, &size);
	bool closed;
	ssize_t r;

	/* The server may close the connection before it has read all bytes. */
	if (session)
		(void)gnutls_record_send(session, bytes, size);
	else
		(void)send(fd, bytes, size, MSG_NOSIGNAL);
	while ((r = read_some(session, fd, reply + n, sizeof(reply) - 1 - n)) > 0)
		n += (size_t)r;
	closed = r == 0 || (session ? r != GNUTLS_E_AGAIN : errno != EAGAIN);
	reply[n] = '\0';
	for (const char *at = reply; (at = strstr(at, "HTTP/1.1 ")); at++)
		replies++;
	status = replies > 0 ? atoi(strstr(reply, "HTTP/1.1 ") + strlen("HTTP/1.1 ")) : 0;
	if (session)
		gnutls_deinit(session);
	close(fd);
	if (replies == 1 && status == raw->status && closed)
		return true;
	printf("%s: %d replies, the first one %d (expected %d), %s\n", raw->name, replies, status,
	       raw->status, closed ? "closed" : "not closed");
	return false;
}

int main(int argc, char **argv)
{
	size_t failed = 0;

	if (argc != 3) {
		fputs("usage: http-malformed unix PATH | tcp PORT | tls PORT\n", stderr);
		return 2;
	}
	gnutls_certificate_allocate_credentials(&credentials);
	for (size_t i = 0; i < ARRAY_SIZE(malformed); i++)
		failed += !try(&malformed[i], argv[1], argv[2]);
	gnutls_certificate_free_credentials(credentials);
	printf("%zu requests, %zu failed\n", ARRAY_SIZE(malformed), failed);
	return failed > 0;
}
