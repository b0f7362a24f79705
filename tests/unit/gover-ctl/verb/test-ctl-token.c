/* SPDX-License-Identifier: MIT */
/* Token files, and URLs that a token must not be sent to. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "client/client.h"
#include "tests/unit/unit.h"

static char path[32];

static int begin(void)
{
	int fd;

	strcpy(path, "/tmp/gover-token.XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int end(void)
{
	return unlink(path);
}

FIXTURE(begin, end)

static int use(const char *url, const char *text, struct err *err)
{
	struct client *client;
	int r;

	assert_int_equal(file_replace(path, text, strlen(text)), 0);
	assert_int_equal(client_new("/s", url, &client, err), 0);
	r = client_load_token(client, path, err);
	client_free(client);
	return r;
}

TEST(a_token_file_has_one_line)
{
	static const char *const good[] = {"gvr_x", "gvr_x\n", "gvr_x\r\n", "gvr_x\n\n"};
	static const char *const bad[] = {
		"", "\n", " gvr_x", "gvr_x y", "gvr_x\ny", "gvr_\xc3\xa9", "gvr_x\r\nX-Other: y"};
	struct err err = {""};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(use("http://localhost:1", good[i], &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(use("http://localhost:1", bad[i], &err), -EINVAL);
		assert_non_null(strstr(err.msg, path));
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
		struct err err = {""};

		if (use(rows[i].url, "gvr_x", &err) != (rows[i].sent ? 0 : -EINVAL))
			fail_msg("%s", rows[i].url);
		assert_true(rows[i].sent || strstr(err.msg, "unencrypted"));
	}
}

TEST_WITH(a_unix_socket_needs_no_token, NULL, NULL)
{
	struct client *client;
	struct err err;

	assert_int_equal(client_new("/s", NULL, &client, &err), 0);
	assert_int_equal(client_load_token(client, "/no/such/file", &err), 0);
	assert_int_equal(client_load_cacert(client, "/no/such/file", &err), -EINVAL);
	client_free(client);
}
