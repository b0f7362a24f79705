/* SPDX-License-Identifier: MIT */
/*
 * Authorisation: every kind of caller on every kind of route, how scopes are determined, and the
 * subjects of client certificates.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/auth/access.h"
#include "gover-d/auth/tls.h"
#include "gover-d/auth/users.h"
#include "tests/unit/unit.h"

static const struct {
	enum access_scope has;
	enum access_fault fault;
	/* the HTTP status for a route that requires this scope; 0: the request is permitted */
	unsigned int open, read, operate, admin;
	/* part of the message for a route that requires the scope admin; NULL: permitted */
	const char *words;
} callers[] = {
	{ACCESS_ADMIN, ACCESS_NO_FAULT, 0, 0, 0, 0, NULL},
	{ACCESS_OPERATE, ACCESS_NO_FAULT, 0, 0, 0, 403,
	 "uid 7 has scope operate, GET /x requires admin"},
	{ACCESS_READ, ACCESS_NO_FAULT, 0, 0, 403, 403,
	 "uid 7 has scope read, GET /x requires admin: create a token with `gover-ctl token add "
	 "NAME --scope admin`"},
	{ACCESS_NONE, ACCESS_NO_FAULT, 0, 403, 403, 403, "not permitted for any user"},
	{ACCESS_NONE, ACCESS_NOT_IN_GROUP, 0, 403, 403, 403, "permission denied"},
	{ACCESS_NONE, ACCESS_NO_TOKEN, 0, 401, 401, 401, "a token is required"},
	{ACCESS_NONE, ACCESS_BAD_TOKEN, 0, 401, 401, 401, "unknown or revoked token"},
	{ACCESS_NONE, ACCESS_EXPIRED, 0, 401, 401, 401,
	 "expired token (GET /x requires scope admin"},
	{ACCESS_NONE, ACCESS_BACK_OFF, 0, 429, 429, 429, "too many invalid tokens"},
	{ACCESS_NONE, ACCESS_FOREIGN_HOST, 0, 403, 403, 403, "Host"},
	{ACCESS_NONE, ACCESS_BAD_CERTIFICATE, 0, 401, 401, 401,
	 "client certificate: expired, or not issued for clients by a CA of tls_client_ca (GET /x"},
	{ACCESS_NONE, ACCESS_TOO_MANY, 0, 429, 429, 429, "too many requests"},
};

TEST(every_caller_on_every_route)
{
	for (size_t i = 0; i < ARRAY_SIZE(callers); i++) {
		struct principal principal = {
			.name = "uid 7", .scope = callers[i].has, .fault = callers[i].fault};
		struct err err = {""};

		/* A route without a scope refuses every caller. */
		assert_int_not_equal(access_check(&principal, ACCESS_NONE, "GET /x", &err), 0);
		assert_int_equal(access_check(&principal, ACCESS_OPEN, "GET /x", &err),
				 callers[i].open);
		assert_int_equal(access_check(&principal, ACCESS_READ, "GET /x", &err),
				 callers[i].read);
		assert_int_equal(access_check(&principal, ACCESS_OPERATE, "GET /x", &err),
				 callers[i].operate);
		assert_int_equal(access_check(&principal, ACCESS_ADMIN, "GET /x", &err),
				 callers[i].admin);
		if (callers[i].words && !strstr(err.msg, callers[i].words))
			fail_msg("\"%s\" does not contain \"%s\"", err.msg, callers[i].words);
	}
}

/* What a user of this host reads, by its scope, the wanted scope and the groups of the daemon. */
static const struct {
	uid_t uid;
	enum access_scope has, wanted;
	struct access_rules rules;
	const char *message;
} refusals[] = {
	{1001, ACCESS_READ, ACCESS_OPERATE,
	 .rules = {.operate_gid = 50,
		   .operate_group = "gover",
		   .read_gid = 60,
		   .read_group = "view"},
	 "user alice (uid 1001) may not change anything: GET /x requires membership in "
	 "group gover (run `sudo usermod -aG gover alice`, then log in again)"},
	{1001, ACCESS_NONE, ACCESS_READ,
	 .rules = {.operate_gid = 50,
		   .operate_group = "gover",
		   .read_gid = 60,
		   .read_group = "view"},
	 "user alice (uid 1001) may not read anything: GET /x requires membership in group "
	 "view or gover (run `sudo usermod -aG view alice`, then log in again)"},
	{1001, ACCESS_NONE, ACCESS_READ,
	 .rules = {.operate_gid = 50, .operate_group = "gover", .read_gid = ACCESS_NO_GROUP},
	 "user alice (uid 1001) may not read anything: GET /x requires membership in group "
	 "gover (run `sudo usermod -aG gover alice`, then log in again)"},
	{1002, ACCESS_NONE, ACCESS_OPERATE,
	 .rules = {.operate_gid = 50, .operate_group = "gover", .read_gid = ACCESS_NO_GROUP},
	 "uid 1002 may not change anything: GET /x requires membership in group gover (run "
	 "`sudo usermod -aG gover \"$(id -un 1002)\"`, then log in again)"},
	{1001, ACCESS_NONE, ACCESS_OPERATE,
	 .rules = {.operate_gid = ACCESS_NO_GROUP,
		   .operate_group = "gover",
		   .read_gid = ACCESS_NO_GROUP},
	 "user alice (uid 1001) may not change anything: GET /x requires membership in "
	 "group gover, which did not exist when gover-d started (run `sudo groupadd "
	 "--system gover && sudo usermod -aG gover alice && sudo systemctl restart "
	 "gover-d`, then log in again)"},
	{1001, ACCESS_NONE, ACCESS_READ,
	 .rules = {.operate_gid = ACCESS_NO_GROUP, .read_gid = ACCESS_NO_GROUP},
	 "user alice (uid 1001) may not read anything: GET /x requires root: [access] of "
	 "gover.conf(5) configures no group with this right"},
	{1001, ACCESS_OPERATE, ACCESS_ADMIN,
	 .rules = {.operate_gid = 50, .operate_group = "gover", .read_gid = ACCESS_NO_GROUP},
	 "user alice (uid 1001) may not manage tokens or read the audit log: GET /x "
	 "requires root (run the command with sudo)"},
};

/* Returns the users of a file with @text. */
static struct users *load_users(const char *text)
{
	char path[] = "/tmp/gover-test-access.XXXXXX";
	struct users *users = users_new();
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
	assert_int_equal(users_load(users, path), 0);
	(void)unlink(path);
	return users;
}

TEST(a_refused_user_reads_the_command_that_grants_the_right)
{
	struct users *users = load_users("root:x:0:0::/root:/bin/sh\n"
					 "bad name:x:1002:7::/:/bin/sh\n"
					 "alice:x:1001:1001::/home/alice:/bin/sh\n");

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct access_rules rules = refusals[i].rules;
		struct principal principal = {
			.scope = refusals[i].has, .uid = refusals[i].uid, .rules = &rules};
		struct err err = {""};

		rules.users = users;
		assert_int_equal(access_check(&principal, refusals[i].wanted, "GET /x", &err), 403);
		assert_string_equal(err.msg, refusals[i].message);
	}
	users_free(users);
}

TEST(a_refused_client_reads_its_subject_or_its_section)
{
	static const struct {
		const char *name, *subject;
		enum access_scope has;
		enum access_fault fault;
		const char *message;
	} rows[] = {
		{"", "", ACCESS_NONE, ACCESS_UNKNOWN_SUBJECT,
		 "client certificate: its subject is empty or too long (limit 160 characters)"},
		{"client web", "CN=a", ACCESS_READ, ACCESS_NO_FAULT,
		 "client web has scope read, GET /x requires operate: set scope = operate in "
		 "[client web] of gover.conf(5)"},
		{"", "CN=a", ACCESS_NONE, ACCESS_UNKNOWN_SUBJECT,
		 "client certificate CN=a: no section [client NAME] of gover.conf(5) has this "
		 "subject"},
		{"", "CN=a", ACCESS_NONE, ACCESS_FOREIGN_ORIGIN,
		 "client certificate CN=a: the Origin header names another host (a client "
		 "certificate is not accepted from the page of another host)"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct principal principal = {
			.scope = rows[i].has, .fault = rows[i].fault, .subject = rows[i].subject};
		struct err err = {""};

		strcpy(principal.name, rows[i].name);
		assert_int_equal(access_check(&principal, ACCESS_OPERATE, "GET /x", &err), 403);
		assert_string_equal(err.msg, rows[i].message);
	}
}

TEST(an_origin_must_be_the_host_of_the_request)
{
	static const struct {
		const char *origin, *host;
		bool own;
	} rows[] = {
		{NULL, NULL, true},
		{NULL, "gpu-1:9788", true},
		{"https://gpu-1:9788", "gpu-1:9788", true},
		{"HTTPS://GPU-1:9788", "gpu-1:9788", true},
		{"https://[::1]:9788", "[::1]:9788", true},
		{"https://gpu-1:9788", NULL, false},
		{"http://gpu-1:9788", "gpu-1:9788", false},
		{"https://gpu-1", "gpu-1:9788", false},
		{"https://gpu-1:9788.evil.example", "gpu-1:9788", false},
		{"https://evil.example", "gpu-1:9788", false},
		{"null", "gpu-1:9788", false},
		{"", "", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (access_origin_is_own(rows[i].origin, rows[i].host) != rows[i].own)
			fail_msg("row %zu", i);
}

TEST(lines_of_the_user_file)
{
	static const struct {
		const char *text;
		uid_t uid;
		const char *name; /* NULL: no name */
	} rows[] = {
		{"a:x:5:5::/:/bin/sh\n", 5, "a"},
		{"a:x:5:5::/:/bin/sh", 5, "a"},
		{"a:x:5:5::/:/bin/sh\n", 6, NULL},
		{"\n:\na:x\na:x:\nb:x:6:", 6, "b"},
		{"b:x:6", 6, NULL},
		{"b:x:06x:6", 6, NULL},
		{"-b:x:6:6", 6, NULL},
		{"$(reboot):x:6:6", 6, NULL},
		{"abcdefghijklmnopqrstuvwxyz012345:x:6:", 6, "abcdefghijklmnopqrstuvwxyz012345"},
		{"abcdefghijklmnopqrstuvwxyz0123456:x:6:", 6, NULL},
		{"", 0, NULL},
		{"c:x:4294967294:1:", 4294967294u, "c"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct users *users = load_users(rows[i].text);
		char name[USERS_NAME_MAX] = "";

		if (users_find(users, rows[i].uid, name) != (rows[i].name != NULL) ||
		    strcmp(name, rows[i].name ? rows[i].name : "") != 0)
			fail_msg("row %zu: \"%s\"", i, name);
		users_free(users);
	}
}

#define OWN	41
#define OPERATE 50
#define READ	60

static const struct {
	const char *rule;
	uid_t uid;
	gid_t gid;
	gid_t groups[3];
	size_t n;
	enum access_scope scope, without_groups;
} peers[] = {
	{"root has full access", 0, 0, {0}, 0, ACCESS_ADMIN, ACCESS_ADMIN},
	{"the daemon's user has full access", OWN, 1, {0}, 0, ACCESS_ADMIN, ACCESS_ADMIN},
	{"a user in no group has no access", 7, 7, {7, 8, 9}, 3, ACCESS_NONE, ACCESS_NONE},
	{"the group root has no access", 7, 0, {0}, 1, ACCESS_NONE, ACCESS_NONE},
	{"operate as the primary group", 7, OPERATE, {0}, 0, ACCESS_OPERATE, ACCESS_NONE},
	{"operate as a supplementary group", 7, 7, {8, 9, OPERATE}, 3, ACCESS_OPERATE, ACCESS_NONE},
	{"read as the primary group", 7, READ, {0}, 0, ACCESS_READ, ACCESS_NONE},
	{"read as a supplementary group", 7, 7, {READ}, 1, ACCESS_READ, ACCESS_NONE},
	{"the larger of two scopes", 7, READ, {READ, OPERATE}, 2, ACCESS_OPERATE, ACCESS_NONE},
	{"groups after the end of the list are ignored", 7, 7, .groups = {8, OPERATE}, 1,
	 ACCESS_NONE, ACCESS_NONE},
	{"ACCESS_NO_GROUP matches no group", 7, ACCESS_NO_GROUP, .groups = {ACCESS_NO_GROUP}, 1,
	 ACCESS_NONE, ACCESS_NONE},
};

TEST(a_peer_has_the_scope_of_its_user_and_groups)
{
	struct access_rules rules = {.own_uid = OWN, .operate_gid = OPERATE, .read_gid = READ};
	struct access_rules bare = {
		.own_uid = OWN, .operate_gid = ACCESS_NO_GROUP, .read_gid = ACCESS_NO_GROUP};

	for (size_t i = 0; i < ARRAY_SIZE(peers); i++) {
		const gid_t *groups = peers[i].groups;

		if (access_of_peer(&rules, peers[i].uid, peers[i].gid, groups, peers[i].n) !=
		    peers[i].scope)
			fail_msg("%s", peers[i].rule);
		if (access_of_peer(&bare, peers[i].uid, peers[i].gid, groups, peers[i].n) !=
		    peers[i].without_groups)
			fail_msg("%s, without configured groups", peers[i].rule);
	}
}

TEST(scopes_have_names)
{
	assert_int_equal(access_scope_find("read"), ACCESS_READ);
	assert_int_equal(access_scope_find("operate"), ACCESS_OPERATE);
	assert_int_equal(access_scope_find("admin"), ACCESS_ADMIN);
	assert_int_equal(access_scope_find("none"), ACCESS_NONE);
	assert_int_equal(access_scope_find("open"), ACCESS_NONE);
	assert_int_equal(access_scope_find(""), ACCESS_NONE);
	assert_string_equal(access_scope_name(ACCESS_OPERATE), "operate");
}

TEST(loopback_addresses_are_recognised)
{
	static const struct {
		const char *address;
		bool loopback;
	} cases[] = {
		{"127.0.0.1", true},
		{"127.255.0.9", true},
		{"128.0.0.1", false},
		{"0.0.0.0", false},
		{"10.0.0.1", false},
		{"::1", true},
		{"::", false},
		{"fe80::1", false},
		{"::ffff:127.0.0.1", true},
		{"::ffff:9.9.9.9", false},
		{"::ffff:0.0.0.0", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sockaddr_in v4 = {.sin_family = AF_INET};
		struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
		bool is_v4 = inet_pton(AF_INET, cases[i].address, &v4.sin_addr) == 1;
		const void *address = is_v4 ? (const void *)&v4 : &v6;

		if (!is_v4)
			assert_int_equal(inet_pton(AF_INET6, cases[i].address, &v6.sin6_addr), 1);
		if (access_is_loopback(address) != cases[i].loopback)
			fail_msg("%s", cases[i].address);
	}
	assert_false(access_is_loopback(&(struct sockaddr){.sa_family = AF_UNIX}));
}

TEST(a_host_header_must_name_this_host)
{
	static const char *const here[] = {"localhost",	     "LOCALHOST:9788", "127.0.0.1",
					   "127.0.0.1:9788", "[::1]",	       "[::1]:9788"};
	static const char *const elsewhere[] = {"",
						"evil.example",
						"localhost.evil.example",
						"127.0.0.1.evil.example",
						"[::1].evil.example",
						"10.0.0.1:9788",
						"::1",
						"[::2]:1"};

	assert_true(access_host_is_local(NULL));
	for (size_t i = 0; i < ARRAY_SIZE(here); i++)
		if (!access_host_is_local(here[i]))
			fail_msg("%s", here[i]);
	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++)
		if (access_host_is_local(elsewhere[i]))
			fail_msg("%s", elsewhere[i]);
}

/* --- the subjects of [client NAME]: forms of one name, rejected names, and the rights found --- */

static struct config config;

static void add_section(const char *name, const char *subject, const char *scope)
{
	struct client_section *client = &config.clients[config.n_clients++];

	snprintf(client->name, sizeof(client->name), "%s", name);
	snprintf(client->subject, sizeof(client->subject), "%s", subject);
	snprintf(client->scope, sizeof(client->scope), "%s", scope);
}

TEST(forms_of_a_subject)
{
	static const struct {
		const char *configured;
		const char *certificate; /* as GnuTLS prints the subject; NULL: rejected */
	} rows[] = {
		{"CN=a", "CN=a"},
		{"cn=a", "CN=a"},
		{"CN=a,O=b", "CN=a,O=b"},
		{"CN=a, O=b", "CN=a,O=b"},
		{"UID=x,DC=example,DC=com", "UID=x,DC=example,DC=com"},
		{"CN=a\\,b", "CN=a\\,b"},
		{"CN=Z\xc3\xbcrich", "CN=Z\xc3\xbcrich"},
		{"a", NULL},
		{"CN=", NULL},
		{"CN", NULL},
		{"/O=b/CN=a", NULL},
		{"CN=a+OU=b", NULL},
		{"NOTATYPE=a", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = {""};
		struct clients *clients = NULL;
		int r;

		config.n_clients = 0;
		add_section("c", rows[i].configured, "read");
		r = clients_new(&config, &clients, &err);
		if (r != (rows[i].certificate ? 0 : -EINVAL))
			fail_msg("%s: %d %s", rows[i].configured, r, err.msg);
		if (r < 0 && !strstr(err.msg, "[client c] subject = "))
			fail_msg("%s: %s", rows[i].configured, err.msg);
		if (r == 0 && !clients_find(clients, rows[i].certificate))
			fail_msg("%s is not %s", rows[i].configured, rows[i].certificate);
		clients_free(clients);
	}
}

TEST(only_the_whole_subject_has_rights)
{
	static const char *const others[] = {
		"",
		"CN=admin",
		"CN=admin,O=Example,C=DE",
		"O=Example,CN=admin",
		"CN=Admin,O=Example",
	};
	struct clients *clients = NULL;
	const struct client_rights *rights;

	config.n_clients = 0;
	add_section("viewer", "CN=viewer,O=Example", "read");
	add_section("root", "CN=admin, O=Example", "admin");
	assert_int_equal(clients_new(&config, &clients, NULL), 0);
	rights = clients_find(clients, "CN=admin,O=Example");
	assert_non_null(rights);
	assert_string_equal(rights->name, "root");
	assert_int_equal(rights->scope, ACCESS_ADMIN);
	assert_int_equal(rights->number, 1);
	assert_int_equal(clients_find(clients, "CN=viewer,O=Example")->scope, ACCESS_READ);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (clients_find(clients, others[i]))
			fail_msg("\"%s\" has rights", others[i]);
	clients_free(clients);
}

TEST(two_forms_of_one_subject_are_rejected)
{
	struct clients *clients = NULL;
	struct err err = {""};

	config.n_clients = 0;
	add_section("one", "CN=a,O=b", "read");
	add_section("two", "cn=a, o=b", "admin");
	assert_int_equal(clients_new(&config, &clients, &err), -EINVAL);
	assert_string_equal(err.msg, "[client two] subject = cn=a, o=b: also used by [client one]");
}
