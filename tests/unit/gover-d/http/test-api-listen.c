/* SPDX-License-Identifier: MIT */
/* Listening sockets for REST: permissions, stale sockets, and TCP addresses. */
#include "tests/unit/gover-d/http/test-api-http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include "gover-d/auth/authn.h"
#include "gover-d/http/connection-table.h"
#include "gover-d/http/listen.h"
#include "gover-d/auth/tokens.h"

FIXTURE(begin_http, end_http)

TEST(every_user_can_connect_to_the_socket)
{
	static const mode_t masks[] = {0, 022, 077, 0777};

	for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
		mode_t before;
		struct stat st;

		http = http_free(http);
		before = umask(masks[i]);
		assert_int_equal(http_new(event, path, "", api, authn, &http, &err), 0);
		umask(before);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0666);
	}
}

TEST(a_socket_in_use_is_not_replaced)
{
	struct http *second;

	assert_int_equal(http_new(event, path, "", api, authn, &second, &err), -EADDRINUSE);
	assert_non_null(strstr(err.msg, path));
	assert_non_null(strstr(err.msg, "another daemon listens on it"));
	assert_int_equal(request("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
}

TEST(a_stale_socket_is_replaced)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	http = http_free(http);
	strcpy(address.sun_path, path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	assert_int_equal(http_new(event, path, "", api, authn, &http, &err), 0);
	assert_int_equal(request("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
}

TEST(another_file_is_not_replaced)
{
	struct http *second;
	char name[48];
	int fd;

	snprintf(name, sizeof(name), "%s/file", folder);
	fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	assert_int_equal(http_new(event, name, "", api, authn, &second, &err), -ENOTSOCK);
	assert_non_null(strstr(err.msg, name));
	assert_int_equal(unlink(name), 0);
}

TEST(the_socket_of_another_daemon_is_not_removed)
{
	struct http *second;

	assert_int_equal(unlink(path), 0);
	assert_int_equal(http_new(event, path, "", api, authn, &second, &err), 0);
	http = http_free(http);
	assert_int_equal(access(path, F_OK), 0);
	http = second;
}

TEST(addresses_are_numeric)
{
	static const char *const addresses[] = {
		"9788",	       ":9788",	       "127.0.0.1",	  "127.0.0.1:",	 "127.0.0.1:x",
		"localhost:1", "127.0.0.1:-1", "127.0.0.1:65536", "[::1]",	 "[::1:9788",
		"::1:9788",    "[]:9788",      "127.0.0.1:9788 ", "1.2.3.4.5:9", "256.0.0.1:9",
	};
	struct http *second;
	char other[48];

	snprintf(other, sizeof(other), "%s/other.sock", folder);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		assert_int_equal(http_new(event, other, addresses[i], api, authn, &second, &err),
				 -EINVAL);
		assert_non_null(strstr(err.msg, addresses[i]));
		assert_int_equal(access(other, F_OK), -1);
	}
}

static struct sockaddr_in address;

/* Binds a free port; returns the socket that reserves it. */
static int find_address(char text[32])
{
	socklen_t size = sizeof(address);
	int fd = http_listen_tcp("127.0.0.1:0", &err);

	assert_true(fd >= 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	snprintf(text, 32, "127.0.0.1:%d", ntohs(address.sin_port));
	return fd;
}

/* Sends a request on a new connection. */
static int request_tcp(const char *words)
{
	client.length = 0;
	client.closed = false;
	client.answer[0] = '\0';
	client.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (connect(client.fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		assert_int_equal(errno, EINPROGRESS);
	send_text(words);
	return await();
}

TEST(http_listens_on_tcp_too)
{
	char text[32];
	int fd = find_address(text);

	http = http_free(http);
	assert_int_equal(http_new(event, path, text, api, authn, &http, &err), -EADDRINUSE);
	assert_non_null(strstr(err.msg, text));
	close(fd);
	assert_int_equal(http_new(event, path, text, api, authn, &http, &err), 0);
	assert_int_equal(request_tcp("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
	close(client.fd);
	assert_int_equal(request("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
}

TEST(event_streams_of_an_address_are_limited)
{
	char text[32], words[2][160];
	int fds[CONNECTION_STREAMS_PER_CLIENT];

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		struct token token = {.scope = ACCESS_READ};
		char secret[TOKEN_TEXT_SIZE];

		snprintf(token.name, sizeof(token.name), "t%zu", i);
		assert_int_equal(tokens_add(authn_tokens(authn), &token, secret, &err), 0);
		snprintf(words[i], sizeof(words[i]),
			 "GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n",
			 secret);
	}
	close(find_address(text));
	http = http_free(http);
	assert_int_equal(http_new(event, path, text, api, authn, &http, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		assert_int_equal(request_tcp(words[i % 2]), 200);
		fds[i] = client.fd;
	}
	assert_int_equal(request_tcp(words[0]), 503);
	assert_non_null(strstr(client.answer, "too many open event streams (limit 128)"));
	close(client.fd);
	assert_int_equal(request("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
	assert_non_null(strstr(client.answer, "route=\"/v1/events\",status=\"200\"} 128\n"));
	assert_non_null(strstr(client.answer, "route=\"/v1/events\",status=\"503\"} 1\n"));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}
