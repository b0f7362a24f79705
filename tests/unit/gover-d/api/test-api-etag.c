/* SPDX-License-Identifier: MIT */
/*
 * ETags: which changes give a new ETag, and how If-Match is parsed and applied. Idempotency keys:
 * the answers, and the form of a key.
 */
#include "tests/unit/gover-d/api/test-api.h"

#include "gover-d/api/etag.h"

static unsigned int patch(const char *line, const char *body, const char *if_match)
{
	unsigned int status;

	ask_if_match = if_match;
	status = ask(line, body)->status;
	ask_if_match = NULL;
	return status;
}

static void tag_of_a(char tag[API_ETAG_MAX])
{
	api_etag_of_contract(&manager->view, &manager->host.gpus[0], stand_in_find("a"), tag);
	assert_int_equal(strlen(tag), 18);
}

FIXTURE(stand_in_begin, stand_in_end)

TEST(a_changed_contract_changes_the_tag)
{
	struct contract *contract = &stand_in_find("a")->contract;
	char before[API_ETAG_MAX], after[API_ETAG_MAX];

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

TEST(measured_values_do_not_change_the_tag)
{
	struct vgpu *vgpu = stand_in_find("a");
	char before[API_ETAG_MAX], after[API_ETAG_MAX];

	tag_of_a(before);
	vgpu->cap.pct = 31;
	vgpu->row.sample.load = 0.5;
	vgpu->row.sample.busy_valid = true;
	vgpu->tally.steals_in++;
	tag_of_a(after);
	assert_string_equal(before, after);
	assert_string_equal(ask("GET /v1/vgpus/a/contract", NULL)->etag, after);
	assert_memory_equal(ask("GET /v1/vgpus/a", NULL)->etag, "W/", 2);
	assert_string_equal(ask("GET /v1/vgpus/a", NULL)->etag + 2, after);
}

TEST(if_match_is_parsed_strictly)
{
	/* In if_match, $ is replaced by the current ETag. */
	static const struct {
		const char *if_match;
		unsigned int status;
	} cases[] = {
		{NULL, 200},	   {"*", 200},
		{"$", 200},	   {" $ ", 200},
		{"\"x\", $", 200}, {"$,\"x\"", 200},
		{",$,,", 200},	   {"", 412}, /* an empty list matches nothing */
		{"W/$", 200},		      /* the tag that GET /v1/vgpus/a returns */
		{"\"x\"", 412},	   {"\"x,y\", W/\"z\"", 412},
		{" *\t", 200},	   {"**", 400},
		{"$, *", 400},	   {"$x", 400},
		{"\"x", 400},	   {"0123456789abcdef", 400},
		{"w/$", 400},
	};

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

TEST(a_strong_tag_is_compared_strongly)
{
	char tag[API_ETAG_MAX], weak[API_ETAG_MAX + 2];

	tag_of_a(tag);
	snprintf(weak, sizeof(weak), "W/%s", tag);
	assert_int_equal(patch("PATCH /v1/vgpus/a/contract", "{}", weak), 412);
	assert_int_equal(patch("PATCH /v1/vgpus/a/contract", "{}", tag), 200);
}

TEST(if_none_match_prevents_a_change)
{
	static const char *const lines[] = {"PATCH /v1/vgpus/a", "PATCH /v1/vgpus/a/contract",
					    "PATCH /v1/gpus/gpu0", "PATCH /v1/policy",
					    "DELETE /v1/vgpus/a"};
	char tag[API_ETAG_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const char *body = lines[i][0] == 'P' ? "{}" : NULL;

		ask_if_none_match = " * ";
		assert_int_equal(ask(lines[i], body)->status, 412);
		ask_if_none_match = "x";
		assert_int_equal(ask(lines[i], body)->status, 400);
	}
	tag_of_a(tag);
	ask_if_none_match = tag;
	assert_int_equal(ask("PATCH /v1/vgpus/a", "{}")->status, 412);
	assert_int_equal(manager->changes, 0);
	ask_if_none_match = "\"x\"";
	assert_int_equal(ask("PATCH /v1/vgpus/a", "{}")->status, 200);
	ask_if_none_match = NULL;
}

TEST(a_current_tag_is_answered_with_304)
{
	static const char *const lines[] = {"GET /v1/vgpus/a", "GET /v1/vgpus/a/contract",
					    "GET /v1/gpus/gpu0", "GET /v1/policy"};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const struct api_reply *reply = ask(lines[i], NULL);
		bool weak = reply->etag[0] == 'W';
		char tag[API_ETAG_MAX];

		strcpy(tag, reply->etag);
		ask_if_none_match = tag;
		reply = ask(lines[i], NULL);
		assert_int_equal(reply->status, 304);
		assert_string_equal(reply->etag, tag);
		assert_null(reply->text);
		assert_ptr_equal(reply->headers, weak ? api_no_store : NULL);
		ask_if_none_match = "\"x\"";
		assert_int_equal(ask(lines[i], NULL)->status, 200);
		ask_if_none_match = NULL;
	}
}

TEST(equal_strong_tags_mean_equal_bytes)
{
	struct contract *contract = &stand_in_find("a")->contract;
	char tag[API_ETAG_MAX], text[1024];
	const struct api_reply *reply = ask("GET /v1/vgpus/a/contract", NULL);

	strcpy(tag, reply->etag);
	snprintf(text, sizeof(text), "%s", reply->text->data);
	stand_in_find("a")->cap.pct = 7;
	json_object_set_new(contract->labels, "b", json_string("x"));
	json_object_set_new(contract->labels, "a", json_string("x"));
	assert_string_not_equal(ask("GET /v1/vgpus/a/contract", NULL)->etag, tag);
	json_object_del(contract->labels, "a");
	json_object_del(contract->labels, "b");
	reply = ask("GET /v1/vgpus/a/contract", NULL);
	assert_string_equal(reply->etag, tag);
	assert_string_equal(reply->text->data, text);
	contract->terms.weight += 1e-9; /* not in the answer, but a change could overwrite it */
	assert_string_not_equal(ask("GET /v1/vgpus/a/contract", NULL)->etag, tag);
}

TEST(an_invalid_request_is_rejected_before_its_condition)
{
	assert_int_equal(patch("PATCH /v1/vgpus/no", "{}", "\"x\""), 404);
	assert_int_equal(patch("PATCH /v1/vgpus/a", "{\"weight\":0}", "\"x\""), 422);
	assert_int_equal(patch("PATCH /v1/gpus/gpu0", "{\"mode\":\"fast\"}", "\"x\""), 422);
	assert_int_equal(patch("PATCH /v1/gpus/gpu0", "{\"mode\":\"act\"}", "\"x\""), 412);
	assert_int_equal(patch("PATCH /v1/policy", "{\"ttl_s\":5}", "\"x\""), 412);
	assert_int_equal(manager->changes, 0);
}

/* --- idempotency keys --- */

static const struct api_reply *reply;

static unsigned int post(const char *key, const char *body)
{
	ask_key = key;
	reply = ask("POST /v1/vgpus", body);
	ask_key = NULL;
	return reply->status;
}

#define BODY "{\"id\":\"b\",\"initial_cap_pct\":20}"

TEST(a_change_gets_the_key_and_its_owner)
{
	assert_int_equal(post("k", BODY), 201);
	assert_string_equal(manager->key, "root k");
	ask_principal = "token robot";
	assert_int_equal(post("k", BODY), 409);
	ask_principal = "root";
	assert_string_equal(manager->key, "token robot k");
	assert_int_equal(post(NULL, BODY), 409);
	assert_string_equal(manager->key, "root ");
}

TEST(a_repeated_request_gets_the_vgpu_as_it_is_now)
{
	assert_int_equal(post("k", BODY), 201);
	stand_in_find("b")->cap.pct = 7;
	manager->fail = CONTROL_E_REPEATED;
	assert_int_equal(post("k", BODY), 201);
	assert_string_equal(reply->location, "/v1/vgpus/b");
	assert_int_equal(strlen(reply->etag), 20);
	assert_non_null(strstr(reply->text->data, "\"cap_pct\":7"));
	assert_int_equal(manager->changes, 1);
}

/* @offer: the offer of the request; 1 exists, and 9 has ended long ago */
static void expect_repeated_claim(int offer, const char *state)
{
	char line[64];
	json_t *sale;

	snprintf(line, sizeof(line), "POST /v1/offers/%d/claim", offer);
	sale = ask_json(line, "{\"id\":\"a\"}", 200);
	assert_string_equal(json_string_value(json_object_get(json_object_get(sale, "vgpu"), "id")),
			    "a");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(sale, "offer"), "id")),
			 offer);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(sale, "offer"), "state")), state);
	json_decref(sale);
}

TEST(a_repeated_claim_gets_the_offer_even_if_it_ended_long_ago)
{
	stand_in_find("a")->contract.offer = 9;
	manager->fail = CONTROL_E_REPEATED;
	expect_repeated_claim(1, "open");
	expect_repeated_claim(9, "kept");
	assert_int_equal(manager->changes, 0);
}

TEST(an_invalid_key_is_400)
{
	char key[CLAIM_MAX + 1] = "";

	assert_int_equal(post("", BODY), 400);
	assert_int_equal(post("a b", BODY), 400);
	assert_int_equal(post("\xc3\xa9", BODY), 400);
	memset(key, 'k', CLAIM_MAX);
	assert_int_equal(post(key, BODY), 400);
	assert_int_equal(manager->changes, 0);
	key[CLAIM_MAX - 1] = '\0';
	assert_int_equal(post(key, BODY), 201);
}

TEST(a_hold_needs_a_key_and_a_time)
{
	static const struct {
		const char *body, *word;
	} rejected[] = {
		{"{}", "holder: required"},
		{"{\"holder\":\"k\"}", "ttl_s: required"},
		{"{\"holder\":\"\",\"ttl_s\":5}", "holder: not allowed"},
		{"{\"holder\":\"a key\",\"ttl_s\":5}", "holder: not allowed"},
		{"{\"holder\":\"k\",\"ttl_s\":0}", "ttl_s"},
		{"{\"holder\":\"k\",\"ttl_s\":601}", "ttl_s"},
		{"{\"holder\":\"k\",\"ttl_s\":5,\"more\":1}", "more"},
	};
	json_t *offer;

	for (size_t i = 0; i < ARRAY_SIZE(rejected); i++)
		assert_problem("POST /v1/offers/1/hold", rejected[i].body, 422, rejected[i].word);
	assert_problem("POST /v1/offers/9/hold", "{\"holder\":\"k\",\"ttl_s\":5}", 404, "9");
	offer = ask_json("POST /v1/offers/1/hold", "{\"holder\":\"k\",\"ttl_s\":600}", 200);
	assert_string_equal(json_string_value(json_object_get(offer, "held_by")), "k");
	assert_true(json_is_string(json_object_get(offer, "held_until")));
	assert_string_equal(json_string_value(json_object_get(offer, "state")), "open");
	json_decref(offer);
}
