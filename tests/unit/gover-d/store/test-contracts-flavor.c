/* SPDX-License-Identifier: MIT */
/* Contracts files of all versions; and the flavour of a contract in requests. */
#include "tests/unit/gover-d/api/test-api.h"

#include "gover-d/store/contracts.h"

static struct contracts contracts;
static struct err err;

static const char *members = ""; /* appended to the members of the file */

static int parse_text(const char *text)
{
	contracts_fini(&contracts);
	memset(&contracts, 0, sizeof(contracts));
	err.msg[0] = '\0';
	return contracts_parse(text, strlen(text), "file", &contracts, &err);
}

/* Parses a file of @version with one contract; @more is appended to the members of the contract. */
static int parse(int version, const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"version\": %d, \"revision\": 9, \"ids\": {\"decision\": 1, \"alert\": 2,"
		 " \"offer\": 3}, \"gpus\": [], \"vgpus\": [{\"id\": \"a\", \"gpu\": \"gpu0\","
		 " \"vm\": \"\", \"cid\": 0, \"labels\": {}, \"initial_cap_pct\": 50,"
		 " \"min_cap_pct\": 0, \"target_fps\": 60, \"weight\": 1, \"burst\": false,"
		 " \"held\": false, \"held_cap_pct\": 0, \"created_ms\": 1, \"found\": false,"
		 " \"offer\": 3, \"claim_key\": \"key\"%s}]%s}",
		 version, more, members);
	return parse_text(text);
}

static void expect_rejected(int version, const char *more, const char *word)
{
	assert_int_equal(parse(version, more), -EINVAL);
	assert_non_null(strstr(err.msg, word));
}

TEST(version_2_has_no_flavour)
{
	assert_int_equal(parse(2, ""), 0);
	assert_int_equal(contracts.head.revision, 9);
	assert_string_equal(contracts.vgpus[0].contract.claim_key, "key");
	assert_string_equal(contracts.vgpus[0].contract.flavor, "");
	expect_rejected(2, ", \"flavor\": \"small\"", "flavor");
}

TEST(version_3_has_the_flavour)
{
	assert_int_equal(parse(3, ", \"flavor\": \"small\""), 0);
	assert_string_equal(contracts.vgpus[0].contract.flavor, "small");
	assert_int_equal(parse(3, ", \"flavor\": \"\""), 0);
	assert_string_equal(contracts.vgpus[0].contract.flavor, "");
	expect_rejected(3, "", "flavor: required");
	contracts_fini(&contracts);
}

TEST(version_4_has_the_fps_limit)
{
	assert_int_equal(parse(4, ", \"flavor\": \"\", \"fps_limit\": 59.5"), 0);
	assert_true(contracts.vgpus[0].contract.fps_limit == 59.5);
	expect_rejected(4, ", \"flavor\": \"\"", "fps_limit: required");
	assert_int_equal(parse(3, ", \"flavor\": \"\""), 0);
	assert_true(contracts.vgpus[0].contract.fps_limit == 0);
	contracts_fini(&contracts);
}

TEST(version_5_has_the_hash_of_the_request)
{
	assert_int_equal(parse(5, ", \"flavor\": \"\", \"fps_limit\": 0, \"claim_body\": \"12\""),
			 0);
	assert_string_equal(contracts.vgpus[0].contract.claim_body, "12");
	expect_rejected(5, ", \"flavor\": \"\", \"fps_limit\": 0", "claim_body: required");
	contracts_fini(&contracts);
}

TEST(version_6_has_the_state_of_the_operator)
{
	static const char rest[] = ", \"flavor\": \"\", \"fps_limit\": 0, \"claim_body\": \"\""
				   ", \"removing\": true";

	assert_int_equal(parse(5, ", \"flavor\": \"\", \"fps_limit\": 0, \"claim_body\": \"\""), 0);
	assert_null(contracts.operator_state);
	assert_false(contracts.vgpus[0].removing);
	expect_rejected(5, rest, "removing");
	members = ", \"settings\": {}, \"silences\": {\"last_id\": 7, \"list\": []}, \"acks\": [],"
		  " \"withdrawn\": []";
	assert_int_equal(parse(6, rest), 0);
	assert_true(contracts.vgpus[0].removing);
	assert_int_equal(contracts.operator_state->silences.last_id, 7);
	assert_int_equal(parse(6, ""), -EINVAL);
	members = "";
	expect_rejected(6, rest, "settings: required");
	contracts_fini(&contracts);
}

/* Parses a file of @version with one GPU; @migrations is appended to the members of the GPU. */
static int parse_migrations(int version, const char *migrations)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"version\": %d, \"revision\": 9, \"ids\": {\"decision\": 1, \"alert\": 2,"
		 " \"offer\": 3}, \"gpus\": [{\"name\": \"gpu0\", \"mode\": \"act\","
		 " \"selling\": true%s}], \"vgpus\": [], \"settings\": {}, \"silences\":"
		 " {\"last_id\": 7, \"list\": []}, \"acks\": [], \"withdrawn\": []}",
		 version, migrations);
	return parse_text(text);
}

TEST(version_8_has_the_estimate_of_migrations)
{
	static const struct {
		const char *value, *word;
	} rejected[] = {
		{"[]", "migrations: required"},
		{"{}", "migrations: "},
		{"{\"unanswered\": 0, \"answered\": 1, \"delay_s\": 1}", "unanswered"},
		{"{\"unanswered\": true, \"answered\": -1, \"delay_s\": 1}", "answered"},
		{"{\"unanswered\": true, \"answered\": 1.5, \"delay_s\": 1}", "answered"},
		{"{\"unanswered\": true, \"answered\": 1, \"delay_s\": -1}", "delay_s"},
		{"{\"unanswered\": true, \"answered\": 1, \"delay_s\": \"1\"}", "delay_s"},
		{"{\"unanswered\": true, \"answered\": 1}", "delay_s"},
		{"{\"unanswered\": true, \"answered\": 1, \"delay_s\": 1, \"x\": 1}", "x"},
	};
	char member[160];

	assert_int_equal(parse_migrations(7, ""), 0);
	assert_int_equal(contracts.gpus[0].migrations.answered, 0);
	assert_int_equal(parse_migrations(8, ""), -EINVAL);
	assert_non_null(strstr(err.msg, "migrations: required"));
	assert_int_equal(parse_migrations(8, ", \"migrations\": {\"unanswered\": true,"
					     " \"answered\": 3, \"delay_s\": 12.5}"),
			 0);
	assert_true(contracts.gpus[0].migrations.unanswered);
	assert_int_equal(contracts.gpus[0].migrations.answered, 3);
	assert_float_equal(contracts.gpus[0].migrations.delay_s, 12.5, 0);
	assert_int_equal(parse_migrations(7, ", \"migrations\": {}"), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(rejected); i++) {
		snprintf(member, sizeof(member), ", \"migrations\": %s", rejected[i].value);
		assert_int_equal(parse_migrations(8, member), -EINVAL);
		assert_non_null(strstr(err.msg, rejected[i].word));
	}
}

/* The members of a contract since version 8. */
static const char rest[] = ", \"flavor\": \"\", \"fps_limit\": 0, \"claim_body\": \"\""
			   ", \"removing\": true, \"target_rate\": 0, \"memory_mib\": 0";

TEST(version_9_has_the_held_offers)
{
	members = ", \"settings\": {}, \"silences\": {\"last_id\": 7, \"list\": []}, \"acks\": [],"
		  " \"withdrawn\": [], \"held_offers\": []";
	assert_int_equal(parse(9, rest), 0);
	expect_rejected(8, rest, "held_offers: unknown member");
	members = ", \"settings\": {}, \"silences\": {\"last_id\": 7, \"list\": []}, \"acks\": [],"
		  " \"withdrawn\": []";
	assert_int_equal(parse(8, rest), 0);
	assert_int_equal(contracts.operator_state->n_holds, 0);
	expect_rejected(9, rest, "held_offers: required");
	members = "";
	contracts_fini(&contracts);
}

TEST(version_10_has_the_smaller_flavours)
{
#define HELD(more)                                                                         \
	", \"settings\": {}, \"silences\": {\"last_id\": 7, \"list\": []}, \"acks\": [], " \
	"\"withdrawn\": "                                                                  \
	"[], \"held_offers\": [{\"offer\": 3, \"gpu\": \"gpu0\", \"flavor\": \"half\", "   \
	"\"holder\": \"k\", "                                                              \
	"\"created_ms\": 1, \"expires_ms\": 2, \"until_ms\": 3, \"initial_cap_pct\": 50, " \
	"\"target\": 0" more "}]"

	members = HELD(", \"smaller_flavors\": [{\"flavor\": \"quarter\", \"initial_cap_pct\": 25,"
		       " \"target\": 30}]");
	assert_int_equal(parse(10, rest), 0);
	assert_int_equal(contracts.operator_state->holds[0].n_flavors, 2);
	assert_string_equal(contracts.operator_state->holds[0].flavors[0].flavor, "half");
	assert_string_equal(contracts.operator_state->holds[0].flavors[1].flavor, "quarter");
	expect_rejected(9, rest, "smaller_flavors");
	members = HELD("");
	assert_int_equal(parse(9, rest), 0);
	assert_int_equal(contracts.operator_state->holds[0].n_flavors, 1);
	expect_rejected(10, rest, "smaller_flavors: required");
	members = HELD(", \"smaller_flavors\": [{\"flavor\": \"quarter\"}]");
	expect_rejected(10, rest, "smaller_flavors: element 0");
	members = "";
	contracts_fini(&contracts);
}

TEST(a_newer_version_is_rejected_with_both_versions)
{
	static const char *const texts[] = {
		"{\"version\": 11, \"gpus\": [], \"vgpus\": []}",
		"{\"version\": 11, \"gpus\": [], \"vgpus\": [], \"tenants\": {}}",
		"{\"version\": 11}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(
			contracts_parse(texts[i], strlen(texts[i]), "file", &contracts, &err),
			-EPROTO);
		assert_string_equal(err.msg,
				    "file: version: 11 is not supported (allowed: 1 to 10)");
	}
}

TEST(messages_contain_the_name_of_a_text)
{
	static const char text[] = "{\"version\": 1, \"gpus\": []}";

	assert_int_equal(contracts_parse(text, strlen(text), "the database", &contracts, &err),
			 -EINVAL);
	assert_string_equal(
		err.msg,
		"the database: vgpus: required (allowed: a list of at most 16384 objects)");
}

/* --- requests --- */

static void sell_small(void)
{
	strcpy(manager->config.offer.flavor, "half");
	manager->config.flavors[0] =
		(struct flavor){.name = "small", .cap_pct = 20, .target_fps = 30, .target_rate = 4};
	manager->config.n_flavors = 1;
}

TEST_WITH(the_flavour_sets_cap_and_target, stand_in_begin, stand_in_end)
{
	static const struct {
		const char *more;
		int cap_pct;
		double target_fps;
		const char *flavor;
	} rows[] = {
		{"\"flavor\": \"small\"", 20, 30, "small"},
		{"\"flavor\": \"small\", \"initial_cap_pct\": 25", 25, 30, "small"},
		{"\"flavor\": \"small\", \"target_fps\": 0", 20, 0, "small"},
		{"\"flavor\": \"half\"", 50, 0, "half"},
		{"\"flavor\": \"\"", 50, 0, ""},
		{"\"initial_cap_pct\": 10", 10, 0, ""},
	};

	sell_small();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char body[128];

		snprintf(body, sizeof(body), "{\"id\": \"v%zu\", %s}", i, rows[i].more);
		assert_int_equal(ask("POST /v1/vgpus", body)->status, 201);
		assert_int_equal(manager->values.terms.initial_cap_pct, rows[i].cap_pct);
		assert_true(manager->values.terms.target_fps == rows[i].target_fps);
		assert_string_equal(manager->values.flavor, rows[i].flavor);
	}
	assert_problem("POST /v1/vgpus", "{\"id\": \"w\"}", 422, "initial_cap_pct: required");
	assert_problem("POST /v1/vgpus", "{\"id\": \"w\", \"flavor\": 5}", 422, "flavor: 5");
}

TEST_WITH(a_flavour_promises_in_the_unit_of_the_gpu, stand_in_begin, stand_in_end)
{
	static const struct {
		enum gpu_unit unit;
		const char *more;
		double target_fps, target_rate;
	} rows[] = {
		{GPU_FRAMES, "\"weight\": 1", 30, 0},
		{GPU_WORK, "\"weight\": 1", 0, 4},
		{GPU_WORK, "\"target_rate\": 2.5", 0, 2.5},
		{GPU_WORK, "\"target_fps\": 20", 20, 4},
		{GPU_FRAMES, "\"target_rate\": 2.5", 30, 2.5},
	};

	sell_small();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char body[128];

		manager->host.gpus[0].open = true;
		manager->host.gpus[0].traits.unit = rows[i].unit;
		snprintf(body, sizeof(body), "{\"id\": \"v%zu\", \"flavor\": \"small\", %s}", i,
			 rows[i].more);
		assert_int_equal(ask("POST /v1/vgpus", body)->status, 201);
		assert_true(manager->values.terms.target_fps == rows[i].target_fps);
		assert_true(manager->values.target_rate == rows[i].target_rate);
	}
}

TEST_WITH(the_answer_has_the_flavour_that_sets_the_price, stand_in_begin, stand_in_end)
{
	struct vgpu *vgpu = host_find_vgpu(&manager->host, "a", NULL);
	static const struct {
		const char *flavor, *shown;
	} rows[] = {{"", "half"}, {"small", "small"}, {"gone", "half"}};

	sell_small();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char words[64];

		strcpy(vgpu->contract.flavor, rows[i].flavor);
		snprintf(words, sizeof(words), "\"flavor\":\"%s\"", rows[i].shown);
		assert_non_null(strstr(ask("GET /v1/vgpus/a", NULL)->text->data, words));
	}
}

TEST_WITH(the_flavour_can_be_changed, stand_in_begin, stand_in_end)
{
	sell_small();
	assert_int_equal(ask("PATCH /v1/vgpus/a", "{\"flavor\": \"small\"}")->status, 200);
	assert_int_equal(manager->fields, CONTRACT_FLAVOR);
	assert_string_equal(manager->values.flavor, "small");
}
