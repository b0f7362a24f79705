/* SPDX-License-Identifier: MIT */
/* Request targets: their forms, and which escapes are decoded. */
#include <stdio.h>

#include "base/cleanup.h"
#include "gover-d/http/head.h"
#include "tests/unit/unit.h"

/* The result is valid until the next call. */
static struct http_target parse(const char *target)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s", target);
	return http_target_parse(text);
}

TEST(a_target_has_a_path_and_perhaps_an_authority)
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

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_target target = parse(cases[i].target);

		assert_true(target.valid);
		assert_string_equal(target.path, cases[i].path);
		assert_string_equal(target.authority ? target.authority : "(none)",
				    cases[i].authority ? cases[i].authority : "(none)");
		assert_int_equal(target.n_query, 0);
	}
}

TEST(a_malformed_target_is_rejected)
{
	static const char *const cases[] = {"http://",	 "http:///v1", "https://user@gover/v1",
					    "http://@/", "http://?a",  "/a b",
					    "/a?b c",	 "/a\rb",      "/a\x7f",
					    "/?\t"};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_false(parse(cases[i]).valid);
}

TEST(escapes_are_decoded_except_separators)
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
		{"a+b%2B", "a+b+", "a b+"},
		{"%", "%", "%"},
		{"%4", "%4", "%4"},
		{"%zz%4g%", "%zz%4g%", "%zz%4g%"},
		{"%ff", "\xff", "\xff"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char parameter[64];

		assert_string_equal(parse(cases[i].text).path, cases[i].path);
		snprintf(parameter, sizeof(parameter), "/?x=%s", cases[i].text);
		assert_string_equal(parse(parameter).query[0].value, cases[i].parameter);
	}
}

TEST(parameters_are_split_and_counted)
{
	static const struct {
		const char *query;
		size_t n;
		const char *name, *value; /* of the first parameter */
	} cases[] = {
		{"a=b", 1, "a", "b"},
		{"a", 1, "a", ""},
		{"a=b=c&d", 2, "a", "b=c"},
		{"a?b&c", 2, "a?b", ""},
		{"&a&", 2, "", ""},
		{"a%3db=%26", 1, "a=b", "&"},
		{"a&b&c&d&e&f&g&h&i", 9, "a", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[64];
		struct http_target target;

		snprintf(text, sizeof(text), "http://gover?%s", cases[i].query);
		target = parse(text);
		assert_string_equal(target.path, "/");
		assert_int_equal(target.n_query, cases[i].n);
		assert_string_equal(target.query[0].name, cases[i].name);
		assert_string_equal(target.query[0].value, cases[i].value);
	}
	assert_int_equal(parse("/?").n_query, 0);
}
