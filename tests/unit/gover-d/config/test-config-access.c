/* SPDX-License-Identifier: MIT */
/* The configuration of access: TLS for addresses other than loopback, and the defaults. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/config/config.h"
#include "tests/unit/unit.h"

static const struct {
	const char *listen, *certificate, *key;
	const char *message; /* text that the error must contain; NULL: valid */
} cases[] = {
	{"", "", "", NULL},
	{"127.0.0.1:80", "", "", NULL},
	{"127.3.2.1:80", "", "", NULL},
	{"[::1]:80", "", "", NULL},
	{"0.0.0.0:80", "", "", "listen = 0.0.0.0:80: an address other than loopback requires TLS"},
	{"[::]:80", "", "", "an address other than loopback requires TLS"},
	{"[::2]:80", "", "", "set tls_certificate and tls_key, or"},
	{"128.0.0.1:80", "", "", "or listen on 127.0.0.1 or [::1]"},
	{"0.0.0.0:80", "c", "k", NULL},
	{"127.0.0.1:80", "c", "k", NULL},
	{"127.0.0.1:80", "c", "", "tls_certificate is set without tls_key"},
	{"", "", "k", "tls_key is set without tls_certificate"},
};

TEST(addresses_other_than_loopback_require_tls)
{
	static struct config config;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = {""};
		int r;

		config_default(&config);
		strcpy(config.listen, cases[i].listen);
		strcpy(config.tls_certificate, cases[i].certificate);
		strcpy(config.tls_key, cases[i].key);
		r = config_check(&config, &err);
		if (r != (cases[i].message ? -EINVAL : 0) ||
		    (cases[i].message && !strstr(err.msg, cases[i].message)))
			fail_msg("row %zu gave %d \"%s\"", i, r, err.msg);
	}
}

TEST(client_certificates_require_tls_cas_and_subjects)
{
	static const struct {
		const char *certificate, *ca;
		const char *subjects[3]; /* of the sections [client NAME], up to the first NULL */
		const char *message;	 /* text that the error must contain; NULL: valid */
	} rows[] = {
		{"c", "ca", {"CN=a"}, NULL},
		{"c", "ca", {"CN=a", "CN=b"}, NULL},
		{"c", "", {NULL}, NULL},
		{"", "ca", {"CN=a"}, "[daemon] tls_client_ca = ca: requires TLS"},
		{"c", "ca", {NULL}, "tls_client_ca = ca: no certificate has rights"},
		{"c", "", {"CN=a"}, "[client c0]: requires tls_client_ca of [daemon]"},
		{"c", "ca", {"CN=a", ""}, "[client c1] subject: required (allowed: a name such"},
		{"c", "ca", {"/CN=a"}, "subject = \"/CN=a\" is not allowed"},
		{"c", "ca", {"a"}, "subject = \"a\" is not allowed"},
		{"c", "ca", .subjects = {"CN=a", "CN=a"},
		 "[client c1] subject = CN=a: also used by [client c0]"},
	};
	static struct config config;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = {""};
		int r;

		config_default(&config);
		strcpy(config.tls_certificate, rows[i].certificate);
		strcpy(config.tls_key, rows[i].certificate);
		strcpy(config.tls_client_ca, rows[i].ca);
		for (int n = 0; n < 3 && rows[i].subjects[n]; n++) {
			struct client_section *client = &config.clients[config.n_clients++];

			snprintf(client->name, sizeof(client->name), "c%d", n);
			strcpy(client->subject, rows[i].subjects[n]);
			strcpy(client->scope, "read");
		}
		r = config_check(&config, &err);
		if (r != (rows[i].message ? -EINVAL : 0) ||
		    (rows[i].message && !strstr(err.msg, rows[i].message)))
			fail_msg("row %zu gave %d \"%s\"", i, r, err.msg);
	}
}

TEST(anonymous_access_is_off_by_default)
{
	static struct config config;

	config_default(&config);
	assert_string_equal(config.anonymous, "off");
	assert_string_equal(config.operate_group, "gover");
	assert_string_equal(config.read_group, "gover-read");
	assert_string_equal(config.listen, "");
	strcpy(config.anonymous, "operate");
	assert_int_equal(config_check(&config, NULL), -EINVAL);
}
