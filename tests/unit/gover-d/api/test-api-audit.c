/* SPDX-License-Identifier: MIT */
/* Audit rows: only the changed fields are recorded, and they fit into the row. */
#include "tests/unit/gover-d/api/test-api.h"

#include "gover-d/api/audit.h"

static const struct {
	const char *before, *after; /* NULL: the object does not exist */
	const char *was, *became;
} cases[] = {
	{"{\"a\": 1, \"b\": 2}", "{\"a\": 1, \"b\": 3}", "{\"b\":2}", "{\"b\":3}"},
	{"{\"a\": 1}", "{\"a\": 1}", "{}", "{}"},
	{"{\"a\": 1}", "{\"b\": 1}", "{\"a\":1}", "{\"b\":1}"},
	{"{\"a\": {\"x\": 1}}", "{\"a\": {\"x\": 1, \"y\": 2}}", "{\"a\":{\"x\":1}}",
	 "{\"a\":{\"x\":1,\"y\":2}}"},
	{NULL, "{\"a\": 1}", "", "{\"a\":1}"},
	{"{\"a\": 1}", NULL, "{\"a\":1}", ""},
	{NULL, NULL, "", ""},
};

TEST(only_changed_fields_are_recorded)
{
	char was[64], became[64];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *before = cases[i].before ? json_loads(cases[i].before, 0, NULL) : NULL;
		json_t *after = cases[i].after ? json_loads(cases[i].after, 0, NULL) : NULL;

		api_audit_differ(before, after, was, became, sizeof(was));
		assert_string_equal(was, cases[i].was);
		assert_string_equal(became, cases[i].became);
	}
}

TEST(long_values_are_shortened)
{
	char was[40], became[40], name[64];
	json_t *many = json_object();

	api_audit_differ(json_pack("{s:s, s:i}", "long",
				   "12345678901234567890123456789012345678901234567890", "b", 1),
			 NULL, was, became, sizeof(was));
	assert_string_equal(was, "{\"long\":\"...\",\"b\":1}");
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "a-name-of-some-length-%d", i);
		(void)json_object_set_new(many, name, json_integer(i));
	}
	api_audit_differ(NULL, many, was, became, sizeof(was));
	assert_string_equal(became, "{}");
}
