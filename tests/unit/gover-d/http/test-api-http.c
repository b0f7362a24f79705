/* SPDX-License-Identifier: MIT */
/*
 * Requests over a real socket: complete, slow, in parts, too large, malformed; replies to clients
 * that have disconnected; and the listening sockets. The daemon is a fake (test-api.h).
 */
#include "tests/unit/gover-d/http/test-api-http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include "gover-d/auth/authn.h"
#include "gover-d/auth/tokens.h"
#include "gover-d/http/connection-table.h"
#include "gover-d/http/listen.h"

FIXTURE(begin_http, end_http)

TEST(a_request_is_answered)
{
	assert_int_equal(request("GET /v1/host HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
	assert_non_null(strstr(client.answer, "\r\nContent-Type: application/json\r\n"));
	assert_non_null(strstr(client.answer, "\"ticks\":"));
	assert_int_equal(request("GET /v1/alerts?all=true HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
	assert_int_equal(request("GET /v1/alerts?all HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
	assert_int_equal(request("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"), 404);
	assert_non_null(strstr(client.answer, "\r\nContent-Type: application/problem+json\r\n"));
	assert_int_equal(request("PUT /v1/vgpus HTTP/1.1\r\nHost: x\r\n\r\n"), 405);
	assert_non_null(strstr(client.answer, "\r\nAllow: GET, HEAD, POST\r\n"));
}

TEST(a_connection_is_reused)
{
	static const char text[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

	open_client();
	for (int i = 0; i < 50; i++) {
		client.length = 0;
		client.answer[0] = '\0';
		assert_int_equal(send_all(text, strlen(text)), strlen(text));
		assert_int_equal(await(), 200);
		assert_false(client.closed);
	}
	close(client.fd);
}

TEST(head_returns_the_length_without_a_body)
{
	open_client();
	send_text("HEAD /v1/host HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	while (!client.closed) {
		step();
		receive();
	}
	assert_non_null(strstr(client.answer, "HTTP/1.1 200"));
	assert_null(strstr(client.answer, "Content-Length: 0\r\n"));
	assert_string_equal(strstr(client.answer, "\r\n\r\n"), "\r\n\r\n");
	close(client.fd);
}

TEST(an_escaped_nul_does_not_end_the_path)
{
	assert_int_equal(request("GET /v1/vgpus/a HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
	assert_int_equal(request("GET /v1/vgpus/%61 HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
	assert_int_equal(request("GET /v1/vgpus/a%00b HTTP/1.1\r\nHost: x\r\n\r\n"), 404);
	assert_int_equal(request("GET /v1/alerts?all=true%00x HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
	assert_int_equal(request("GET /%ff%fe HTTP/1.1\r\nHost: x\r\n\r\n"), 404);
	assert_non_null(strstr(client.answer, "\"instance\":\"/\?\?\""));
}

TEST(a_change_is_answered_after_it_is_saved)
{
	int first;

	post("/v1/vgpus", "{\"id\":\"b\",\"initial_cap_pct\":40}");
	await_change();
	run_for(20);
	receive();
	assert_int_equal(client.length, 0);
	first = client.fd;
	assert_int_equal(request("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
	post("/v1/vgpus", "{\"id\":\"c\",\"initial_cap_pct\":40}");
	run_for(20); /* the second change waits for the first one */
	stand_in_save(0);
	assert_int_equal(await(), 201);
	assert_non_null(strstr(client.answer, "\r\nLocation: /v1/vgpus/c\r\n"));
	close(client.fd);
	client.fd = first;
	client.length = 0;
	client.answer[0] = '\0';
	assert_int_equal(await(), 201);
	assert_non_null(strstr(client.answer, "\r\nLocation: /v1/vgpus/b\r\n"));
	close(first);
}

TEST(a_change_that_is_not_on_disk_is_507)
{
	post("/v1/vgpus", "{\"id\":\"b\",\"initial_cap_pct\":40}");
	await_change();
	stand_in_save(-ENOSPC);
	assert_int_equal(await(), 507);
	close(client.fd);
}

TEST(a_closed_connection_is_dropped)
{
	post("/v1/vgpus", "{\"id\":\"b\",\"initial_cap_pct\":40}");
	await_change();
	close(client.fd);
	run_for(20);
	stand_in_save(0);
	run_for(20);
	assert_non_null(stand_in_find("b"));
	assert_int_equal(request("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
}

TEST(a_stop_drops_deferred_replies)
{
	int fds[3];

	for (int i = 0; i < 3; i++) {
		char body[64];

		snprintf(body, sizeof(body), "{\"id\":\"v%d\",\"initial_cap_pct\":40}", i);
		post("/v1/vgpus", body);
		fds[i] = client.fd;
		await_change();
		run_for(20);
	}
	http = http_free(http);
	stand_in_save(0);
	for (int i = 0; i < 3; i++) {
		client.fd = fds[i];
		client.closed = false;
		receive();
		assert_true(client.closed);
		close(fds[i]);
	}
}

TEST(a_large_body_is_rejected_unread)
{
	static const char *const heads[] = {
		"POST /v1/vgpus HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		"Content-Length: 10485760\r\n\r\n",
		"POST /v1/vgpus HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		"Expect: 100-continue\r\nContent-Length: 10485760\r\n\r\n",
	};
	CLEANUP_FREE char *body = malloc(10485760);

	memset(body, ' ', 10485760);
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		open_client();
		assert_int_equal(send_all(heads[i], strlen(heads[i])), strlen(heads[i]));
		assert_true(send_all(body, 10485760) < 1048576);
		assert_int_equal(await(), 413);
		assert_non_null(strstr(client.answer, "65536 bytes"));
		close(client.fd);
	}
	assert_int_equal(manager->changes, 0);
}

TEST(a_body_at_the_limit_is_accepted)
{
	static char text[API_BODY_MAX + 512];
	size_t n;

	for (int over = 0; over <= 1; over++) {
		n = (size_t)sprintf(text,
				    "PATCH /v1/vgpus/a HTTP/1.1\r\nHost: x\r\nContent-Type: "
				    "application/json\r\nContent-Length: %d\r\n\r\n",
				    API_BODY_MAX + over);
		memset(text + n, ' ', (size_t)(API_BODY_MAX + over));
		memcpy(text + n, "{}", 2);
		open_client();
		(void)send_all(text, n + (size_t)(API_BODY_MAX + over));
		if (!over)
			await_change();
		stand_in_save(0);
		assert_int_equal(await(), over ? 413 : 200);
		close(client.fd);
	}
}

/* Sends @n chunks of 1000 bytes. */
static int send_chunks(int n, size_t *ret_sent)
{
	static const char head[] = "PATCH /v1/vgpus/a HTTP/1.1\r\nHost: x\r\nContent-Type: "
				   "application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
	char chunk[1010];
	size_t length = (size_t)sprintf(chunk, "3e8\r\n%1000s\r\n", "");

	open_client();
	*ret_sent = send_all(head, strlen(head));
	for (int i = 0; i < n && !client.closed; i++) {
		memcpy(chunk + 5, i ? "  " : "{}", 2);
		*ret_sent += send_all(chunk, length);
	}
	send_text("0\r\n\r\n");
	for (int i = 0; !change_in_progress(manager) && i < 20; i++)
		step();
	stand_in_save(0);
	return await();
}

TEST(a_chunked_body_is_limited_too)
{
	size_t sent;

	assert_int_equal(send_chunks(3, &sent), 200);
	close(client.fd);
	assert_int_equal(send_chunks(100, &sent), 413);
	close(client.fd);
	assert_int_equal(send_chunks(10000, &sent), 0);
	assert_true(sent < 4 * 1048576);
	close(client.fd);
	assert_int_equal(manager->changes, 1);
}

TEST(a_rejected_body_is_counted)
{
	static const char *const lines[] = {
		"{method=\"POST\",route=\"/v1/vgpus\",status=\"413\"} 1\n",
		"{method=\"PATCH\",route=\"/v1/vgpus/{id}\",status=\"413\"} 1\n",
	};
	size_t sent;

	assert_int_equal(request("POST /v1/vgpus HTTP/1.1\r\nHost: x\r\nContent-Type: "
				 "application/json\r\nContent-Length: 65537\r\n\r\n"),
			 413);
	assert_int_equal(send_chunks(100, &sent), 413);
	close(client.fd);
	assert_int_equal(request("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_non_null(strstr(client.answer, lines[i]));
}

TEST(headers_are_limited)
{
	CLEANUP_FREE char *text = malloc(100000);

	memset(text, 'x', 100000);
	memcpy(text, "GET /healthz HTTP/1.1\r\nHost: ", 29);
	open_client();
	(void)send_all(text, 100000);
	assert_in_range(await(), 400, 499);
	close(client.fd);
}

TEST(an_incomplete_request_does_not_wake_the_loop)
{
	const uint64_t end_ns = clock_now().mono_ns + 500 * NS_PER_MS;
	int half, wakeups = 0;

	open_client();
	send_text("POST /v1/vgpus HTTP/1.1\r\nHost: x\r\nContent-Le");
	half = client.fd;
	while (clock_now().mono_ns < end_ns)
		wakeups += sd_event_run(event, 50 * 1000) > 0;
	assert_in_range(wakeups, 0, 20);
	assert_int_equal(request("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
	close(half);
}

TEST(garbage_is_rejected)
{
	static const char *const texts[] = {
		"\r\n\r\n\r\n",
		"GET\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01",
		"GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n",
		"POST /v1/vgpus HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
		"POST /v1/vgpus HTTP/1.1\r\nHost: x\r\nContent-Length: 1e9\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"GET /v1/vgpus/%zz?%=%&&=&==& HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /?a&b&c&d&e&f&g&h&i&j&k&l HTTP/1.1\r\nHost: x\r\n\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		open_client();
		send_text(texts[i]);
		run_for(10);
		close(client.fd);
		run_for(10);
		assert_int_equal(request("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
	}
}

TEST(connections_over_the_limit_wait)
{
	int fds[300];

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = connect_to(path);
		step();
	}
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	assert_int_equal(request("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
}

/* --- a malformed request on a connection with other requests (tests/openapi/heads.py) --- */

#define GOOD "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
#define BAD  "GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n"

static int count_replies(void)
{
	int n = 0;

	for (const char *at = client.answer; (at = strstr(at, "HTTP/1.1 ")); at++)
		n++;
	return n;
}

static void await_end(void)
{
	const uint64_t end_ns = clock_now().mono_ns + DEADLINE_NS;

	while (!client.closed && clock_now().mono_ns < end_ns) {
		step();
		receive();
	}
}

TEST(the_reply_names_the_problem)
{
	assert_int_equal(request("POST /v1/vgpus HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
				 "Content-Length: 2\r\n\r\n{}"),
			 400);
	assert_non_null(strstr(client.answer, "\r\nContent-Type: application/problem+json\r\n"));
	assert_non_null(strstr(client.answer, "given twice\""));
	assert_non_null(strcasestr(client.answer, "\r\nConnection: close\r\n"));
}

/* Earlier requests of the connection get their replies. */
TEST(requests_before_the_malformed_one_are_answered)
{
	open_client();
	send_text(GOOD GOOD BAD GOOD);
	await_end();
	assert_int_equal(count_replies(), 3);
	assert_non_null(strstr(client.answer, "HTTP/1.1 400"));
	assert_null(strstr(strstr(client.answer, "HTTP/1.1 400"), "HTTP/1.1 200"));
	close(client.fd);
}

/* The malformed request arrives while the reply to the first request is deferred. */
TEST(a_deferred_reply_precedes_the_refusal)
{
	post("/v1/vgpus", "{\"id\":\"b\",\"initial_cap_pct\":40}");
	await_change();
	send_text(BAD);
	run_for(5);
	assert_int_equal(client.length, 0);
	stand_in_save(0);
	await_end();
	assert_int_equal(count_replies(), 2);
	assert_int_equal(await(), 201);
	assert_non_null(strstr(client.answer, "HTTP/1.1 400"));
	close(client.fd);
}

TEST(a_refusal_is_counted)
{
	assert_int_equal(request("GET /healthz HTTP/1.1\r\n\r\n"), 400);
	assert_int_equal(request("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
	assert_non_null(strstr(client.answer, "status=\"400\"} 1\n"));
}

/* --- listening sockets for REST: permissions, stale sockets, and TCP addresses --- */

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
