/* SPDX-License-Identifier: MIT */
/* The configuration of who may ask, and where nothing may be said in the clear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/config/config.h"

static const struct {
	const char *listen, *certificate, *key;
	const char *says; /* NULL: is good */
} cases[] = {
	{"", "", "", NULL},
	{"127.0.0.1:80", "", "", NULL},
	{"127.3.2.1:80", "", "", NULL},
	{"[::1]:80", "", "", NULL},
	{"0.0.0.0:80", "", "", "listen = 0.0.0.0:80: off loopback TLS is required"},
	{"[::]:80", "", "", "off loopback TLS is required"},
	{"[::2]:80", "", "", "set tls_certificate and tls_key too"},
	{"128.0.0.1:80", "", "", "or listen on 127.0.0.1 or [::1]"},
	{"0.0.0.0:80", "c", "k", NULL},
	{"127.0.0.1:80", "c", "k", NULL},
	{"127.0.0.1:80", "c", "", "tls_certificate is set and tls_key is not"},
	{"", "", "k", "tls_key is set and tls_certificate is not"},
};

static void nothing_is_said_in_the_clear_on_a_network(void **state)
{
	static struct config config;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = {""};
		int r;

		config_default(&config);
		strcpy(config.listen, cases[i].listen);
		strcpy(config.tls_certificate, cases[i].certificate);
		strcpy(config.tls_key, cases[i].key);
		r = config_check(&config, &err);
		if (r != (cases[i].says ? -EINVAL : 0) ||
		    (cases[i].says && !strstr(err.msg, cases[i].says)))
			fail_msg("row %zu gave %d \"%s\"", i, r, err.msg);
	}
}

static void nobody_is_let_in_by_default(void **state)
{
	static struct config config;

	(void)state;
	config_default(&config);
	assert_string_equal(config.anonymous, "off");
	assert_string_equal(config.operate_group, "gover");
	assert_string_equal(config.read_group, "gover-read");
	assert_string_equal(config.listen, "");
	strcpy(config.anonymous, "operate");
	assert_int_equal(config_check(&config, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_said_in_the_clear_on_a_network),
		cmocka_unit_test(nobody_is_let_in_by_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
