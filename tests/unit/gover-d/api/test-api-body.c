/* SPDX-License-Identifier: MIT */
/*
 * Invalid bodies: each body is rejected with the expected status and a message that contains the
 * field and the value.
 */
#include "tests/unit/gover-d/api/test-api.h"

FIXTURE(stand_in_begin, stand_in_end)

TEST(a_body_that_is_not_an_object_is_400)
{
	static const struct {
		const char *body, *words;
	} cases[] = {
		{"", "not JSON: line 1, column 0"},
		{"{", "line 1"},
		{"{\n\"id\": }", "line 2"},
		{"not json", "line 1"},
		{"{\"id\":\"b\"} x", "line 1"},
		{"{'id':'b'}", "line 1"},
		{"{\"initial_cap_pct\":NaN}", "line 1"},
		{"{\"initial_cap_pct\":0x10}", "line 1"},
		{"{\"initial_cap_pct\":+1}", "line 1"},
		{"{\"id\":\"b\",\"id\":\"c\"}", "duplicate"},
		{"{\"id\":\"b\\u0000\"}", "line 1"},
		{"{\"id\":\"\xff\"}", "line 1"},
		{"[]", "not a JSON object"},
		{"7", "not a JSON object"},
		{"null", "not a JSON object"},
		{"\"text\"", "not a JSON object"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_problem("POST /v1/vgpus", cases[i].body, 400, cases[i].words);
		assert_problem("PATCH /v1/vgpus/a", cases[i].body, 400, cases[i].words);
		assert_problem("PATCH /v1/policy", cases[i].body, 400, cases[i].words);
	}
	assert_int_equal(manager->changes, 0);
}

TEST(an_invalid_value_is_422_and_quoted)
{
	static const char whole[] = " is not allowed (allowed: a whole number 1..100)";
	static const struct {
		const char *field, *value, *shown;
	} cases[] = {
		{"initial_cap_pct", "0",
		 "initial_cap_pct: 0 is not allowed (allowed: a whole number 1..100)"},
		{"initial_cap_pct", "-1", "initial_cap_pct: -1 is"},
		{"initial_cap_pct", "101", "initial_cap_pct: 101 is"},
		{"initial_cap_pct", "1.5", "initial_cap_pct: 1.5 is"},
		{"initial_cap_pct", "\"ten\"", "initial_cap_pct: \"ten\" is"},
		{"initial_cap_pct", "null", "initial_cap_pct: null is"},
		{"initial_cap_pct", "true", "initial_cap_pct: true is"},
		{"initial_cap_pct", "[50]", "initial_cap_pct: [50] is"},
		{"initial_cap_pct", "1e300", whole},
		{"initial_cap_pct", "99999999999999999999", "too big"},
		{"initial_cap_pct", "1e400", "overflow"},
		{"held_cap_pct", "0", whole},
		{"held_cap_pct", "100.5", whole},
		{"min_cap_pct", "-1", "a whole number 0..100"},
		{"min_cap_pct", "101", "a whole number 0..100"},
		{"target_fps", "-1", "a number 0..10000"},
		{"target_fps", "10001", "a number 0..10000"},
		{"target_fps", "\"60\"", "target_fps: \"60\" is"},
		{"weight", "0", "weight: 0 is"},
		{"fps_limit", "1000.5", "fps_limit: 1000.5 is"},
		{"fps_limit", "-1", "fps_limit: -1 is"},
		{"weight", "101", "weight: 101 is"},
		{"burst", "1", "burst: 1 is not allowed (allowed: true or false)"},
		{"burst", "\"on\"", "true or false"},
		{"held", "null", "true or false"},
		{"cid", "2",
		 "cid: 2 is not allowed (allowed: a whole number 3..4294967294, or null)"},
		{"cid", "4294967295", "cid: 4294967295 is"},
		{"cid", "\"7\"", "cid: \"7\" is"},
		{"vm", "7", "vm: 7 is"},
		{"vm", "null", "vm: null is"},
		{"vm", "\"a\\nb\"", "no control characters"},
		{"vm", "\"a\\u007fb\"", "no control characters"},
		{"labels", "[]", "labels: [] is"},
		{"labels", "null", "labels: null is"},
		{"labels", "{\"k\":1}", "labels: {\"k\":1} is"},
		{"labels", "{\"\":\"v\"}", "keys of 1 to 63"},
		{"labels", "{\"a\\tb\":\"v\"}", "no control characters"},
		{"no_such", "1", "no_such: unknown field (allowed: "},
		{"id", "\"b\"", "id: unknown field"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char body[128];

		snprintf(body, sizeof(body), "{\"%s\":%s}", cases[i].field, cases[i].value);
		assert_problem("PATCH /v1/vgpus/a", body, 422, cases[i].shown);
	}
	assert_int_equal(manager->changes, 0);
}

#define TEN "0123456789"

TEST(an_invalid_id_is_422)
{
	static const char *const ids[] = {"\"\"",
					  "\".a\"",
					  "\"-a\"",
					  "\"a b\"",
					  "\"a/b\"",
					  "\"../x\"",
					  "\"\xc3\xa9\"",
					  "7",
					  "null",
					  "{}",
					  "\"" TEN TEN TEN TEN TEN TEN "0123\""};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		char body[160];

		snprintf(body, sizeof(body), "{\"id\":%s,\"initial_cap_pct\":50}", ids[i]);
		assert_problem("POST /v1/vgpus", body, 422, "id: ");
	}
	assert_int_equal(manager->changes, 0);
}

TEST(a_missing_required_field_is_422)
{
	assert_problem("POST /v1/vgpus", "{}", 422, "id: required (allowed: 1 to 63");
	assert_problem("POST /v1/vgpus", "{\"id\":\"b\"}", 422,
		       "initial_cap_pct: required (allowed: a whole number 1..100)");
	assert_problem("POST /v1/vgpus", "{\"id\":\"b\",\"initial_cap_pct\":5,\"held\":true}", 422,
		       "held");
}

/* Writes a JSON string that contains the character @c @n times. */
static void make_text(char *text, char c, size_t n)
{
	text[0] = '"';
	memset(text + 1, c, n);
	strcpy(text + 1 + n, "\"");
}

TEST(texts_and_labels_are_limited)
{
	static char body[16384], text[512];
	size_t n;

	make_text(text, 'v', VM_MAX - 1);
	snprintf(body, sizeof(body), "{\"vm\":%s}", text);
	json_decref(ask_json("PATCH /v1/vgpus/a", body, 200));
	make_text(text, 'v', VM_MAX);
	snprintf(body, sizeof(body), "{\"vm\":%s}", text);
	assert_problem("PATCH /v1/vgpus/a", body, 422, "vm: ");

	make_text(text, 'k', 63);
	snprintf(body, sizeof(body), "{\"labels\":{%s:\"\"}}", text);
	json_decref(ask_json("PATCH /v1/vgpus/a", body, 200));
	make_text(text, 'k', 64);
	snprintf(body, sizeof(body), "{\"labels\":{%s:\"\"}}", text);
	assert_problem("PATCH /v1/vgpus/a", body, 422, "labels: ");

	make_text(text, 'v', 255);
	snprintf(body, sizeof(body), "{\"labels\":{\"k\":%s}}", text);
	json_decref(ask_json("PATCH /v1/vgpus/a", body, 200));
	make_text(text, 'v', 256);
	snprintf(body, sizeof(body), "{\"labels\":{\"k\":%s}}", text);
	assert_problem("PATCH /v1/vgpus/a", body, 422, "labels: ");

	for (int labels = LABELS_MAX; labels <= LABELS_MAX + 1; labels++) {
		n = (size_t)snprintf(body, sizeof(body), "{\"labels\":{");
		for (int i = 0; i < labels; i++)
			n += (size_t)snprintf(body + n, sizeof(body) - n, "%s\"k%d\":\"v\"",
					      i ? "," : "", i);
		snprintf(body + n, sizeof(body) - n, "}}");
		assert_int_equal(ask("PATCH /v1/vgpus/a", body)->status,
				 labels == LABELS_MAX ? 200 : 422);
	}
}

TEST(a_body_with_another_content_type_is_415)
{
	static const struct {
		const char *type;
		unsigned int status;
	} cases[] = {
		{NULL, 415},
		{"", 415},
		{"text/plain", 415},
		{"application/jsonx", 415},
		{"application/x-www-form-urlencoded", 415},
		{"application/json", 200},
		{"Application/JSON;charset=utf-8", 200},
		{"application/merge-patch+json", 200},
		{"application/merge-patch", 415},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct api_request request = {
			.method = "PATCH",
			.path = "/v1/vgpus/a",
			.content_type = cases[i].type,
			.body = "{}",
			.body_length = 2,
			.principal = {.scope = ACCESS_OPERATE},
		};

		api_serve(api, &request);
		stand_in_save(0);
		assert_int_equal(request.reply.status, cases[i].status);
		api_request_fini(&request);
	}
}

TEST(only_a_patch_may_be_a_merge_patch)
{
	const struct api_reply *reply;

	ask_type = "application/merge-patch+json";
	reply = ask("POST /v1/vgpus", "{\"id\":\"b\",\"initial_cap_pct\":5}");
	assert_int_equal(reply->status, 415);
	assert_string_equal(reply->headers[0].name, "Accept");
	assert_string_equal(reply->headers[0].value, "application/json");
	reply = ask("PATCH /v1/vgpus/a", "{\"target_fps\":null,\"labels\":{\"tier\":null}}");
	assert_int_equal(reply->status, 200);
	assert_float_equal(stand_in_find("a")->contract.terms.target_fps, 0, 0);
	ask_type = "application/json";
}

TEST(a_coded_body_is_415)
{
	const struct api_reply *reply;

	ask_content_encoding = "gzip";
	reply = ask("PATCH /v1/vgpus/a", "{}");
	assert_int_equal(reply->status, 415);
	assert_string_equal(reply->headers[0].name, "Accept-Encoding");
	ask_content_encoding = "identity";
	assert_int_equal(ask("PATCH /v1/vgpus/a", "{}")->status, 200);
	ask_content_encoding = NULL;
}

TEST(a_long_value_is_quoted_in_part)
{
	static char body[40000], text[30000];
	json_t *problem;

	make_text(text, 'v', sizeof(text) - 3);
	snprintf(body, sizeof(body), "{\"initial_cap_pct\":%s}", text);
	problem = ask_json("PATCH /v1/vgpus/a", body, 422);
	assert_in_range(json_string_length(json_object_get(problem, "detail")), 100, 400);
	assert_non_null(strstr(json_string_value(json_object_get(problem, "detail")),
			       "... is not allowed"));
	json_decref(problem);
}

/* A xorshift generator: every run of the test sends the same random bytes. */
static uint32_t next_random(void)
{
	static uint32_t x = 2463534242u;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x;
}

TEST(garbage_is_rejected_without_partial_changes)
{
	static const char good[] =
		"{\"id\":\"b\",\"gpu\":\"gpu0\",\"vm\":\"v\",\"cid\":7,\"labels\":"
		"{\"a\":\"b\"},\"initial_cap_pct\":40,\"target_fps\":5e1,"
		"\"weight\":2,\"burst\":true}";
	static const char letters[] = "{}[]\",:0123456789eE+-.\\utrfalsn \xff\xc3";
	int accepted = 0, rejected = 0;

	for (int round = 0; round < 4000; round++) {
		char body[sizeof(good)];
		unsigned int status;

		strcpy(body, good);
		for (uint32_t k = next_random() % 4; k > 0; k--)
			body[next_random() % (sizeof(good) - 1)] =
				letters[next_random() % (sizeof(letters) - 1)];
		body[next_random() % 2 ? sizeof(good) - 1 : next_random() % sizeof(good)] = '\0';
		status = ask("POST /v1/vgpus", body)->status;
		if (status == 201) {
			char line[128];

			snprintf(line, sizeof(line), "DELETE /v1/vgpus/%s", manager->values.id);
			assert_int_equal(ask(line, NULL)->status, 204);
			accepted++;
		} else {
			assert_true(status == 400 || status == 409 || status == 422);
			rejected++;
		}
		assert_int_equal(manager->host.gpus[0].n_vgpus, 1);
	}
	assert_true(accepted > 100 && rejected > 1000);
}
