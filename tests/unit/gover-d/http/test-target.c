/* SPDX-License-Identifier: MIT */
/* Request targets: their forms, and which escapes are decoded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/http/target.h"

static void a_target_has_a_path_and_perhaps_an_authority(void **state)
{
	static const struct {
		const char *target, *path, *authority; /* authority NULL: none */
	} cases[] = {
		{"/v1/host", "/v1/host", NULL},
		{"*", "*", NULL},
		{"", "", NULL},
		{"gover:80", "gover:80", NULL},
		{"ftp://gover/v1", "ftp://gover/v1", NULL},
		{"//gover/v1", "//gover/v1", NULL},
		{"http://gover/v1/host", "/v1/host", "gover"},
		{"HTTPS://[::1]:8080/", "/", "[::1]:8080"},
		{"http://gover", "/", "gover"},
		{"http://gover//", "//", "gover"},
		{"http://gover/http://other/", "/http://other/", "gover"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_target target;

		assert_int_equal(http_target_split(cases[i].target, &target), 0);
		assert_string_equal(target.path, cases[i].path);
		if (!cases[i].authority) {
			assert_null(target.authority);
			continue;
		}
		assert_int_equal(target.authority_length, strlen(cases[i].authority));
		assert_memory_equal(target.authority, cases[i].authority, target.authority_length);
	}
}

static void a_malformed_authority_is_rejected(void **state)
{
	static const char *const cases[] = {"http://", "http:///v1", "https://user@gover/v1",
					    "http://@/"};
	struct http_target target;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(http_target_split(cases[i], &target), -EINVAL);
}

static void escapes_are_decoded_except_separators(void **state)
{
	static const struct {
		const char *text, *path, *parameter;
	} cases[] = {
		{"", "", ""},
		{"/v1", "/v1", "/v1"},
		{"%61%7a%7A", "azz", "azz"},
		{"a%2Fb%2fc", "a%2Fb%2fc", "a/b/c"},
		{"a%252Fb", "a%2Fb", "a%2Fb"},
		{"a%00b", "a%00b", "a%00b"},
		{"%", "%", "%"},
		{"%4", "%4", "%4"},
		{"%zz%4g%", "%zz%4g%", "%zz%4g%"},
		{"%ff", "\xff", "\xff"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char texts[64], *at = texts;

		assert_string_equal(http_target_decode(&at, cases[i].text, true), cases[i].path);
		assert_int_equal(at - texts, strlen(cases[i].path) + 1);
		assert_string_equal(http_target_decode(&at, cases[i].text, false),
				    cases[i].parameter);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_has_a_path_and_perhaps_an_authority),
		cmocka_unit_test(a_malformed_authority_is_rejected),
		cmocka_unit_test(escapes_are_decoded_except_separators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
