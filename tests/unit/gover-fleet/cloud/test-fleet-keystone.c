/* SPDX-License-Identifier: MIT */
/*
 * Tokens of Keystone, and requests with them. A child process plays Keystone and a service: it
 * accepts one connection for each reply of a list, and stores the requests in shared memory.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gover-fleet/cloud/keystone.h"
#include "tests/unit/unit.h"

#define REQUESTS_MAX 8
#define REQUEST_MAX  4096

static struct {
	char requests[REQUESTS_MAX][REQUEST_MAX];
	int n_requests;
} * shared;
static pid_t server;
static char url[64], secret[64];

static int make_shared(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	snprintf(secret, sizeof(secret), "/tmp/gover-test-keystone.%d", (int)getpid());
	return shared == MAP_FAILED || file_replace(secret, "s3cret\n", 7) < 0 ? -1 : 0;
}

static int remove_shared(void)
{
	(void)unlink(secret);
	return munmap(shared, sizeof(*shared));
}

FIXTURE_ONCE(make_shared, remove_shared)

/* Reads a request: its header and, if it announces a body, the body. */
static void read_request(int fd, char *text)
{
	size_t used = 0;

	while (used < REQUEST_MAX - 1) {
		ssize_t n = read(fd, text + used, REQUEST_MAX - 1 - used);
		const char *end, *length;

		if (n <= 0)
			_exit(1);
		used += (size_t)n;
		text[used] = '\0';
		end = strstr(text, "\r\n\r\n");
		length = strstr(text, "Content-Length: ");
		if (end && strlen(end + 4) >= (length ? strtoul(length + 16, NULL, 10) : 0))
			return;
	}
	_exit(1);
}

/* Writes @text with each @URL@ replaced by the address of this server. */
static void write_reply(int fd, const char *text)
{
	const char *hole = strstr(text, "@URL@");

	if (hole)
		dprintf(fd, "%.*s%s%s", (int)(hole - text), text, url, hole + 5);
	else
		dprintf(fd, "%s", text);
}

/* Starts the child with a list of replies that ends with NULL, and sets @url. */
static void serve(const char *const *replies)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(listener >= 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(listener, 4), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(address.sin_port));
	memset(shared, 0, sizeof(*shared));
	server = fork();
	assert_true(server >= 0);
	if (server > 0) {
		close(listener);
		return;
	}
	alarm(30);
	for (; *replies; replies++) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			_exit(1);
		read_request(fd, shared->requests[shared->n_requests++]);
		write_reply(fd, *replies);
		close(fd);
	}
	_exit(0);
}

static void end_server(int n_requests)
{
	int status;

	assert_int_equal(waitpid(server, &status, 0), server);
	assert_int_equal(status, 0);
	assert_int_equal(shared->n_requests, n_requests);
}

static struct keystone *new_keystone(const char *auth)
{
	struct fleet_config_cloud config = {
		.username = "gover",
		.user_domain = "Default",
		.project = "service",
		.project_domain = "Default",
		.application_credential_id = "acid",
	};
	struct keystone *k = NULL;
	struct err err = {.msg = ""};

	strcpy(config.auth, auth);
	strcpy(config.auth_url, url);
	strcpy(config.secret_file, secret);
	if (keystone_new(&config, 20000, &k, &err) < 0)
		fail_msg("%s", err.msg);
	return k;
}

static struct instant at(int64_t s)
{
	return (struct instant){.boot_ns = (uint64_t)s * NS_PER_S};
}

#define HEAD(status) "HTTP/1.1 " status "\r\nConnection: close\r\n"
#define TOKEN(token, lifetime, catalog)                                           \
	HEAD("201 Created")                                                       \
	"X-Subject-Token: " token "\r\n\r\n{\"token\": {\"issued_at\": "          \
	"\"2026-11-27T10:00:00.000000Z\", \"expires_at\": \"2026-11-27T" lifetime \
	":00.000000Z\", \"catalog\": [" catalog "]}}"
#define ENDPOINT(type, interface, region, where)                                       \
	"{\"type\": \"" type                                                           \
	"\", \"endpoints\": [{\"interface\": \"" interface "\", \"region\": \"" region \
	"\", \"region_id\": \"" region "\", \"url\": \"" where "\"}]}"
#define PLACEMENT ENDPOINT("placement", "public", "one", "@URL@/placement/")

TEST(a_password_is_sent_once_for_the_life_of_the_token)
{
	static const char *const replies[] = {TOKEN("first", "11:00", PLACEMENT),
					      TOKEN("second", "11:00", PLACEMENT), NULL};
	static const struct {
		int64_t s;
		const char *token;
	} steps[] = {
		{0, "first"}, {1, "first"}, {3299, "first"}, {3300, "second"}, {3301, "second"}};
	struct keystone *k;
	struct err err = {.msg = ""};

	serve(replies);
	k = new_keystone("password");
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		const char *token = NULL;

		if (keystone_token(k, at(steps[i].s), &token, &err) < 0)
			fail_msg("step %zu: %s", i, err.msg);
		assert_string_equal(token, steps[i].token);
	}
	keystone_free(k);
	end_server(2);
	assert_non_null(strstr(shared->requests[0], "POST /v3/auth/tokens HTTP/1.1\r\n"));
	assert_non_null(strstr(shared->requests[0],
			       "{\"auth\":{\"identity\":{\"methods\":[\"password\"],\"password\":{"
			       "\"user\":{\"name\":\"gover\",\"domain\":{\"name\":\"Default\"},"
			       "\"password\":\"s3cret\"}}},\"scope\":{\"project\":{\"name\":"
			       "\"service\",\"domain\":{\"name\":\"Default\"}}}}}"));
}

TEST(an_application_credential_has_no_scope)
{
	static const char *const replies[] = {TOKEN("t", "11:00", PLACEMENT), NULL};
	struct keystone *k;
	const char *token = NULL;
	struct err err = {.msg = ""};

	serve(replies);
	k = new_keystone("application_credential");
	assert_int_equal(keystone_token(k, at(0), &token, &err), 0);
	keystone_free(k);
	end_server(1);
	assert_non_null(
		strstr(shared->requests[0],
		       "{\"auth\":{\"identity\":{\"methods\":[\"application_credential\"],"
		       "\"application_credential\":{\"id\":\"acid\",\"secret\":\"s3cret\"}}}}"));
}

TEST(a_valid_token_is_used_while_its_renewal_fails)
{
	static const char *const replies[] = {TOKEN("first", "11:00", PLACEMENT),
					      HEAD("503 Service Unavailable") "\r\n",
					      HEAD("503 Service Unavailable") "\r\n", NULL};
	struct keystone *k;
	const char *token = NULL;
	struct err err = {.msg = ""};

	serve(replies);
	k = new_keystone("password");
	assert_int_equal(keystone_token(k, at(0), &token, &err), 0);
	assert_int_equal(keystone_token(k, at(3400), &token, &err), 0);
	assert_string_equal(token, "first");
	assert_int_equal(keystone_token(k, at(3429), &token, &err), 0); /* no request */
	assert_int_equal(keystone_token(k, at(3600), &token, &err), -EAGAIN);
	keystone_free(k);
	end_server(3);
}

TEST(a_refused_or_wrong_reply_gives_no_token)
{
	static const struct {
		const char *reply;
		int result;
		const char *message;
	} rows[] = {
		{HEAD("401 Unauthorized") "\r\n{}", -EACCES, "refused the credentials"},
		{HEAD("500 Internal Server Error") "\r\n", -EAGAIN, "HTTP status 500"},
		{HEAD("300 Multiple Choices") "\r\n{}", -EPROTO, "HTTP status 300"},
		{HEAD("201 Created") "\r\n{\"token\": {}}", -EPROTO, "X-Subject-Token"},
		{HEAD("201 Created") "X-Subject-Token: a\r\n\r\n{\"token\": {}}", -EPROTO,
		 "issued_at"},
		{TOKEN("a", "10:00", ""), -EPROTO, "expires_at"},
		{TOKEN("a", "1x:00", ""), -EPROTO, "expires_at"},
		{TOKEN("a", "11:00", ENDPOINT("placement", "public", "one", "ftp://x")), -EPROTO,
		 "url"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *const replies[] = {rows[i].reply, NULL};
		const char *token = NULL;
		struct err err = {.msg = ""};
		struct keystone *k;
		int r;

		serve(replies);
		k = new_keystone("password");
		r = keystone_token(k, at(0), &token, &err);
		if (r != rows[i].result || !strstr(err.msg, rows[i].message) || token ||
		    strstr(err.msg, "s3cret"))
			fail_msg("row %zu: %d, %s", i, r, err.msg);
		keystone_free(k);
		end_server(1);
	}
}

TEST(the_endpoint_is_the_public_one_of_type_and_region)
{
	static const struct {
		const char *catalog, *region, *placement;
	} rows[] = {
		{ENDPOINT("placement", "public", "one", "http://a/"), "", "http://a"},
		{ENDPOINT("placement", "public", "one", "http://a"), "one", "http://a"},
		{ENDPOINT("placement", "public", "one", "http://a"), "two", NULL},
		{ENDPOINT("placement", "admin", "one", "http://a"), "", NULL},
		{ENDPOINT("compute", "public", "one", "http://a"), "", NULL},
		{ENDPOINT("placement", "public", "one",
			  "http://a") "," ENDPOINT("placement", "public", "two", "http://b"),
		 "two", "http://b"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[1024];
		const char *const replies[] = {text, NULL};
		struct fleet_config_cloud config = {.auth = "password"};
		struct err err = {.msg = ""};
		struct keystone *k = NULL;
		const char *token, *endpoint = NULL;
		int r;

		snprintf(text, sizeof(text), TOKEN("t", "11:00", "%s"), rows[i].catalog);
		serve(replies);
		snprintf(config.auth_url, sizeof(config.auth_url), "%s/v3", url);
		strcpy(config.secret_file, secret);
		strcpy(config.region, rows[i].region);
		assert_int_equal(keystone_new(&config, 20000, &k, &err), 0);
		assert_int_equal(keystone_token(k, at(0), &token, &err), 0);
		r = keystone_endpoint(k, "placement", &endpoint, &err);
		if (rows[i].placement ? r != 0 || strcmp(endpoint, rows[i].placement) != 0
				      : r != -ENOENT)
			fail_msg("row %zu: %d, %s", i, r, endpoint ? endpoint : err.msg);
		keystone_free(k);
		end_server(1);
		assert_non_null(strstr(shared->requests[0], "POST /v3/auth/tokens HTTP/1.1\r\n"));
	}
}

/* Sends a request to Placement, whose address is that of the server. */
static int request(struct keystone *k, struct reply *ret_reply, struct err *err)
{
	const struct service_config config = {"placement", "Placement", "placement 1.36"};
	struct service *service = service_new(&config, k);
	int r = service_request(service, "GET", "/x", NULL, ret_reply, err);

	service_free(service);
	return r;
}

TEST(a_refused_token_is_renewed_once)
{
	static const char *const replies[] = {
		TOKEN("old", "11:00", PLACEMENT), HEAD("401 Unauthorized") "\r\n",
		TOKEN("new", "11:00", PLACEMENT), HEAD("404 Not Found") "\r\n{\"a\": 1}", NULL};
	CLEANUP_REPLY struct reply reply = {0};
	struct keystone *k;
	struct err err = {.msg = ""};

	serve(replies);
	k = new_keystone("password");
	if (request(k, &reply, &err) != 0)
		fail_msg("%s", err.msg);
	assert_int_equal(reply.status, 404);
	assert_true(json_is_integer(json_object_get(reply.json, "a")));
	keystone_free(k);
	end_server(4);
	assert_non_null(strstr(shared->requests[1], "GET /placement/x HTTP/1.1\r\n"));
	assert_non_null(strstr(shared->requests[1], "X-Auth-Token: old\r\n"));
	assert_non_null(strstr(shared->requests[3], "X-Auth-Token: new\r\n"));
	assert_non_null(strstr(shared->requests[3], "OpenStack-API-Version: placement 1.36\r\n"));
}

TEST(each_status_of_a_service_has_a_result)
{
	static const struct {
		const char *status;
		int result;
	} rows[] = {
		{"200 OK", 0},
		{"204 No Content", 0},
		{"400 Bad Request", 0},
		{"409 Conflict", 0},
		{"403 Forbidden", -EACCES},
		{"429 Too Many Requests", -EAGAIN},
		{"500 Internal Server Error", -EAGAIN},
		{"503 Service Unavailable", -EAGAIN},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[128];
		const char *const replies[] = {text, NULL};
		struct fleet_config_cloud config = {.auth = "none"};
		CLEANUP_REPLY struct reply reply = {0};
		struct err err = {.msg = ""};
		struct keystone *k = NULL;
		int r;

		snprintf(text, sizeof(text), HEAD("%s") "\r\n", rows[i].status);
		serve(replies);
		strcpy(config.placement_url, url);
		assert_int_equal(keystone_new(&config, 20000, &k, &err), 0);
		r = request(k, &reply, &err);
		if (r != rows[i].result)
			fail_msg("%s: %d, %s", rows[i].status, r, err.msg);
		keystone_free(k);
		end_server(1);
		assert_non_null(strstr(shared->requests[0], "X-Auth-Token: admin\r\n"));
	}
}

TEST(missing_certificates_are_named_by_their_key)
{
	struct fleet_config_cloud config = {.auth = "password",
					    .auth_url = "https://127.0.0.1:1",
					    .secret_file = "/nonexistent/secret",
					    .cacert = "/nonexistent/ca.pem"};
	struct err err = {.msg = ""};
	struct keystone *k = NULL;

	assert_int_equal(keystone_new(&config, 20000, &k, &err), -EINVAL);
	assert_string_equal(err.msg, "cacert '/nonexistent/ca.pem': No such file or directory");
}

TEST(a_service_that_does_not_listen_is_not_connected)
{
	struct fleet_config_cloud config = {.auth = "none", .placement_url = "http://127.0.0.1:1"};
	struct reply reply = {0};
	struct err err = {.msg = ""};
	struct keystone *k = NULL;

	assert_int_equal(keystone_new(&config, 20000, &k, &err), 0);
	assert_int_equal(request(k, &reply, &err), -ENOTCONN);
	assert_non_null(strstr(err.msg, "Placement"));
	keystone_free(k);
}

TEST(a_secret_file_has_one_line)
{
	static const char *const rows[] = {"", "\n", "a\nb\n"};

	snprintf(url, sizeof(url), "http://127.0.0.1:1");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct keystone *k = new_keystone("password");
		const char *token = NULL;
		struct err err = {.msg = ""};

		assert_int_equal(file_replace(secret, rows[i], strlen(rows[i])), 0);
		assert_int_equal(keystone_token(k, at(0), &token, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "must have one line"));
		keystone_free(k);
	}
	assert_int_equal(file_replace(secret, "s3cret\n", 7), 0);
}
