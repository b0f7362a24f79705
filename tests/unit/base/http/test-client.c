/* SPDX-License-Identifier: MIT */
/*
 * The HTTP client: complete, incomplete and missing replies; token files, and URLs
 * that a token must not be sent to. A child process acts as the daemon and sends one fixed reply
 * over a unix socket.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/http/client.h"
#include "gover-ctl/shared/ctl.h"
#include "tests/unit/unit.h"

static char folder[64], path[72];

static int make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/gover-test-client.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/s", folder);
	return 0;
}

static int remove_folder(void)
{
	(void)unlink(path);
	return rmdir(folder);
}

FIXTURE_ONCE(make_folder, remove_folder)

static int listen_on_socket(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	(void)unlink(path);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

/* Reads until @end is received. Exits if the connection ends before that. */
static void read_until(int fd, char *text, size_t size, const char *end)
{
	size_t used = 0;

	while (used < size - 1) {
		ssize_t n = read(fd, text + used, size - 1 - used);

		if (n <= 0)
			_exit(1);
		used += (size_t)n;
		text[used] = '\0';
		if (strstr(text, end))
			return;
	}
	_exit(1);
}

/* Starts a child that accepts a connection, waits for @expected in the request and sends @reply. */
static pid_t serve_once(const char *expected, const char *reply)
{
	int listener = listen_on_socket(), connection;
	pid_t pid = fork();
	char text[4096];

	assert_true(pid >= 0);
	if (pid > 0) {
		close(listener);
		return pid;
	}
	alarm(20);
	connection = accept(listener, NULL, NULL);
	if (connection < 0)
		_exit(1);
	read_until(connection, text, sizeof(text), expected);
	if (write(connection, reply, strlen(reply)) < 0)
		_exit(1);
	_exit(0);
}

static struct client *client;
static struct reply reply;
static struct err err;

static int begin(void)
{
	err.msg[0] = '\0';
	return client_new(path, NULL, &client, &err);
}

static int end(void)
{
	reply_fini(&reply);
	client = client_free(client);
	return 0;
}

FIXTURE(begin, end)

/*
 * Sends @call with a new client to a child that waits for @expected and sends @answer. The child
 * exits with 0 only if it has received @expected. Returns the result of the request.
 */
static int exchange(const struct client_call *call, const char *expected, const char *answer)
{
	pid_t pid = serve_once(expected, answer);
	int status, r;

	(void)end();
	assert_int_equal(begin(), 0);
	r = client_request(client, call, &reply, &err);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return r;
}

#define REPLY(status, body) "HTTP/1.1 " status "\r\nConnection: close\r\n\r\n" body

TEST(each_reply_has_a_result)
{
	static const struct {
		const char *reply;
		int result;
		const char *message;
		enum ctl_exit exits;
	} rows[] = {
		{REPLY("200 OK", "{\"a\": 1}"), 0, "", CTL_DONE},
		{REPLY("204 No Content", ""), 0, "", CTL_DONE},
		{REPLY("409 Conflict",
		       "{\"title\": \"Conflict\", \"detail\": \"vGPU 'a' exists\"}"),
		 CLIENT_REFUSED, "vGPU 'a' exists", CTL_FAILED},
		{REPLY("404 Not Found", "{\"title\": \"Not Found\"}"), CLIENT_REFUSED, "Not Found",
		 CTL_FAILED},
		{REPLY("502 Bad Gateway", "<html>"), CLIENT_REFUSED,
		 "GET /v1/x: %s replied with HTTP status 502", CTL_FAILED},
		{REPLY("200 OK", "<html>"), -EPROTO, "another program may use", CTL_FAILED},
		{REPLY("200 OK", "[1, 2]"), -EPROTO, "not a JSON object", CTL_FAILED},
		{"", -ECONNRESET, "no answer from gover-d at %s", CTL_UNREACHABLE},
		{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", -ECONNRESET, "no answer",
		 CTL_UNREACHABLE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct client_call call = {.method = "GET", .path = "/v1/x"};
		char message[256];
		const char *hole = strstr(rows[i].message, "%s");
		int r = exchange(&call, "\r\n\r\n", rows[i].reply);

		snprintf(message, sizeof(message), "%.*s%s%s",
			 hole ? (int)(hole - rows[i].message) : (int)strlen(rows[i].message),
			 rows[i].message, hole ? path : "", hole ? hole + 2 : "");
		if (r != rows[i].result || !strstr(err.msg, message) ||
		    ctl_exit_code(r) != rows[i].exits)
			fail_msg("row %zu gave %d, \"%s\"", i, r, err.msg);
	}
}

TEST(a_reply_is_available_as_text_and_as_json)
{
	struct client_call call = {.method = "GET", .path = "/v1/x"};

	assert_int_equal(exchange(&call, "\r\n\r\n", REPLY("201 Created", "{ \"a\": 1.50 }")), 0);
	assert_int_equal(reply.status, 201);
	assert_string_equal(reply.text, "{ \"a\": 1.50 }");
	assert_int_equal(reply.length, strlen(reply.text));
	assert_float_equal(json_number_value(json_object_get(reply.json, "a")), 1.5, 0);
}

TEST(a_request_has_all_parts)
{
	static const char *const expected[] = {
		"POST /v1/x?y=1 HTTP/1.1\r\n",
		"Content-Type: application/json\r\n",
		"Idempotency-Key: k-1\r\n",
		"\r\n\r\n{\"a\":1}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		json_t *body = json_pack("{s:i}", "a", 1);
		struct client_call call = {
			.method = "POST", .path = "/v1/x?y=1", .body = body, .key = "k-1"};

		assert_int_equal(exchange(&call, expected[i], REPLY("200 OK", "{}")), 0);
		json_decref(body);
	}
}

TEST(a_request_has_the_given_headers_and_a_reply_the_wanted_one)
{
	static const char *const headers[] = {"X-Auth-Token: secret", "X-Version: 1.2"};
	static const struct {
		const char *reply, *value;
	} rows[] = {
		{"HTTP/1.1 201 Created\r\nConnection: close\r\nx-SUBJECT-token: \t a b \r\n\r\n{}",
		 "a b"},
		{"HTTP/1.1 200 OK\r\nConnection: close\r\nX-Subject-Token:\r\n\r\n{}", ""},
		{"HTTP/1.1 200 OK\r\nConnection: close\r\nX-Subject-Token-2: a\r\n\r\n{}", NULL},
		{"HTTP/1.1 100 Continue\r\nX-Subject-Token: a\r\n\r\nHTTP/1.1 200 OK\r\n"
		 "Connection: close\r\nX-Subject-Token: b\r\n\r\n{}",
		 "b"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct client_call call = {.method = "GET",
					   .path = "/x",
					   .headers = headers,
					   .n_headers = ARRAY_SIZE(headers),
					   .wanted = "X-Subject-Token"};

		assert_int_equal(exchange(&call, "X-Auth-Token: secret\r\nX-Version: 1.2\r\n\r\n",
					  rows[i].reply),
				 0);
		if (rows[i].value)
			assert_string_equal(reply.header, rows[i].value);
		else
			assert_null(reply.header);
	}
}

TEST(a_header_with_a_line_break_or_of_too_many_characters_is_rejected)
{
	char longest[CLIENT_HEADER_MAX + 3];
	const char *const lines[] = {"X-Auth-Token: a\r\nX-Other: b", "X-Auth-Token: a\177",
				     longest};

	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct client_call call = {
			.method = "GET", .path = "/x", .headers = &lines[i], .n_headers = 1};

		assert_int_equal(client_request(client, &call, &reply, &err), -EINVAL);
		assert_null(strstr(err.msg, "X-Other"));
	}
}

TEST(a_reply_of_any_status_can_be_accepted)
{
	struct client_call call = {.method = "PUT", .path = "/x", .any_status = true};

	assert_int_equal(
		exchange(&call, "PUT /x HTTP/1.1", REPLY("409 Conflict", "{\"errors\": []}")), 0);
	assert_int_equal(reply.status, 409);
	assert_true(json_is_array(json_object_get(reply.json, "errors")));
	assert_int_equal(exchange(&call, "PUT /x HTTP/1.1", REPLY("502 Bad Gateway", "<html>")), 0);
	assert_int_equal(reply.status, 502);
	assert_null(reply.json);
	assert_string_equal(reply.text, "<html>");
}

TEST(messages_name_the_service)
{
	struct client_call call = {.method = "GET", .path = "/x"};

	(void)unlink(path);
	client_set_service(client, "Placement");
	assert_int_equal(client_request(client, &call, &reply, &err), -ENOTCONN);
	assert_non_null(strstr(err.msg, "no answer from Placement at"));
	assert_null(strstr(err.msg, "gover-d"));
}

TEST(a_failed_connection_names_the_socket_and_a_remedy)
{
	struct client_call call = {.method = "GET", .path = "/v1/host"};

	(void)unlink(path);
	assert_int_equal(client_request(client, &call, &reply, &err), -ENOTCONN);
	assert_non_null(strstr(err.msg, path));
	assert_non_null(strstr(err.msg, "No such file"));
	assert_non_null(strstr(err.msg, "systemctl status gover-d"));
	assert_non_null(strstr(err.msg, "GOVER_SOCKET"));
	assert_int_equal(ctl_exit_code(-ENOTCONN), CTL_UNREACHABLE);

	close(listen_on_socket()); /* leaves a socket file without a listening process */
	assert_int_equal(client_request(client, &call, &reply, &err), -ENOTCONN);
	assert_non_null(strstr(err.msg, "Connection refused"));
}

TEST(a_request_without_a_reply_times_out)
{
	struct client_call call = {.method = "GET", .path = "/v1/host"};
	int listener = listen_on_socket();

	client_set_timeout(client, 50);
	assert_int_equal(client_request(client, &call, &reply, &err), -ECONNRESET);
	assert_non_null(strstr(err.msg, "Timeout"));
	close(listener);
}

TEST(an_unusable_address_is_rejected_at_once)
{
	static const struct {
		const char *socket, *url, *message;
	} rows[] = {
		{"", NULL, "empty path"},
		{"/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/"
		 "0123456789/0123456789/0123456789",
		 NULL, "limit 107"},
		{"", "ftp://host", "URL 'ftp://host': unknown scheme (allowed: http://, https://)"},
		{"", "host:80", "URL 'host:80'"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct client *none = NULL;

		assert_int_equal(client_new(rows[i].socket, rows[i].url, &none, &err), -EINVAL);
		assert_null(none);
		assert_non_null(strstr(err.msg, rows[i].message));
	}
	assert_int_equal(ctl_exit_code(-EINVAL), CTL_USAGE);
}

/* --- tokens --- */

static char token_path[72];

/* Loads a token file of this content in a client for @url. */
static int load_token(const char *url, const char *text)
{
	struct client *other;
	int r;

	snprintf(token_path, sizeof(token_path), "%s/t", folder);
	assert_int_equal(file_replace(token_path, text, strlen(text)), 0);
	assert_int_equal(client_new("/s", url, &other, &err), 0);
	r = client_load_token(other, token_path, &err);
	client_free(other);
	assert_int_equal(unlink(token_path), 0);
	return r;
}

TEST(a_token_file_has_one_line)
{
	static const char *const good[] = {"gvr_x", "gvr_x\n", "gvr_x\r\n", "gvr_x\n\n"};
	static const char *const bad[] = {
		"", "\n", " gvr_x", "gvr_x y", "gvr_x\ny", "gvr_\xc3\xa9", "gvr_x\r\nX-Other: y"};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(load_token("http://localhost:1", good[i]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(load_token("http://localhost:1", bad[i]), -EINVAL);
		assert_non_null(strstr(err.msg, token_path));
		assert_null(strstr(err.msg, "gvr_"));
	}
}

TEST(a_token_is_not_sent_unencrypted_over_a_network)
{
	static const struct {
		const char *url;
		bool sent;
	} rows[] = {
		{"https://gpu1.example", true},
		{"https://10.0.0.1:9788", true},
		{"http://localhost", true},
		{"http://localhost:9788/", true},
		{"http://127.0.0.1:9788", true},
		{"http://127.9.9.9", true},
		{"http://[::1]:9788", true},
		{"http://10.0.0.1:9788", false},
		{"http://gpu1.example", false},
		{"http://localhost.example", false},
		{"http://127.0.0.1.example", false},
		{"http://127.example:80", false},
		{"http://localhost@10.0.0.1", false},
		{"http://[::1].example", false},
		{"http://[::2]", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		err.msg[0] = '\0';
		if (load_token(rows[i].url, "gvr_x") != (rows[i].sent ? 0 : -EINVAL))
			fail_msg("%s", rows[i].url);
		assert_true(rows[i].sent || strstr(err.msg, "unencrypted"));
	}
}

TEST(a_unix_socket_needs_no_token)
{
	assert_int_equal(client_load_token(client, "/no/such/file", &err), 0);
	assert_int_equal(client_load_cacert(client, "/no/such/file", &err), -EINVAL);
}
