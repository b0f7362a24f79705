/* SPDX-License-Identifier: MIT */
/* ETags: which changes give a new ETag, and how If-Match is parsed and applied. */
#include "tests/unit/gover-d/api/test-api.h"

#include "gover-d/api/etag.h"

static unsigned int patch(const char *line, const char *body, const char *if_match)
{
	ask_if_match = if_match;
	return ask(line, body)->status;
}

static void tag_of_a(char tag[API_ETAG_MAX])
{
	api_etag_of_vgpu(stand_in_find("a"), tag);
	assert_int_equal(strlen(tag), 18);
}

static void a_changed_contract_changes_the_tag(void **state)
{
	struct contract *contract = &stand_in_find("a")->contract;
	char before[API_ETAG_MAX], after[API_ETAG_MAX];

	(void)state;
	tag_of_a(before);
	contract->held = true;
	tag_of_a(after);
	assert_string_not_equal(before, after);
	contract->held_cap_pct = 40;
	tag_of_a(before);
	assert_string_not_equal(before, after);
	json_object_set_new(contract->labels, "tier", json_string("silver"));
	tag_of_a(after);
	assert_string_not_equal(before, after);
}

static void measured_values_do_not_change_the_tag(void **state)
{
	struct vgpu *vgpu = stand_in_find("a");
	char before[API_ETAG_MAX], after[API_ETAG_MAX];

	(void)state;
	tag_of_a(before);
	vgpu->cap_pct = 31;
	vgpu->row.load = 0.5;
	vgpu->row.busy_valid = true;
	vgpu->tally.steals_in++;
	tag_of_a(after);
	assert_string_equal(before, after);
	assert_string_equal(ask("GET /v1/vgpus/a", NULL)->etag, after);
}

static void if_match_is_parsed_strictly(void **state)
{
	/* In if_match, $ is replaced by the current ETag. */
	static const struct {
		const char *if_match;
		unsigned int status;
	} cases[] = {
		{NULL, 200},
		{"*", 200},
		{"$", 200},
		{" $ ", 200},
		{"\"x\", $", 200},
		{"$,\"x\"", 200},
		{",$,,", 200},
		{"", 412}, /* an empty list matches nothing */
		{"W/$", 412},
		{"\"x\"", 412},
		{"\"x,y\", W/\"z\"", 412},
		{"* ", 400},
		{"$, *", 400},
		{"$x", 400},
		{"\"x", 400},
		{"0123456789abcdef", 400},
		{"w/$", 400},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char tag[API_ETAG_MAX], text[128] = "", *at = text;
		int changes = manager->changes;
		unsigned int status;

		tag_of_a(tag);
		for (const char *c = cases[i].if_match; c && *c; c++) {
			if (*c == '$')
				at += sprintf(at, "%s", tag);
			else
				*at++ = *c;
		}
		status = patch("PATCH /v1/vgpus/a", "{\"target_fps\":50}",
			       cases[i].if_match ? text : NULL);
		if (status != cases[i].status)
			print_error("\"%s\"\n", cases[i].if_match);
		assert_int_equal(status, cases[i].status);
		assert_int_equal(manager->changes, changes + (status == 200));
	}
}

static void an_invalid_request_is_rejected_before_its_condition(void **state)
{
	(void)state;
	assert_int_equal(patch("PATCH /v1/vgpus/no", "{}", "\"x\""), 404);
	assert_int_equal(patch("PATCH /v1/vgpus/a", "{\"weight\":0}", "\"x\""), 422);
	assert_int_equal(patch("PATCH /v1/gpus/gpu0", "{\"mode\":\"fast\"}", "\"x\""), 422);
	assert_int_equal(patch("PATCH /v1/gpus/gpu0", "{\"mode\":\"act\"}", "\"x\""), 412);
	assert_int_equal(patch("PATCH /v1/policy", "{\"ttl_s\":5}", "\"x\""), 412);
	assert_int_equal(manager->changes, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, stand_in_begin, stand_in_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_changed_contract_changes_the_tag),
		TEST(measured_values_do_not_change_the_tag),
		TEST(if_match_is_parsed_strictly),
		TEST(an_invalid_request_is_rejected_before_its_condition),
	};

	return cmocka_run_group_tests_name("api-etag", tests, NULL, NULL);
}
