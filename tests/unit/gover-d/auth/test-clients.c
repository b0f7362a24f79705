/* SPDX-License-Identifier: MIT */
/* The subjects of [client NAME]: forms of one name, rejected names, and the rights found. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/auth/clients.h"
#include "tests/unit/unit.h"

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
