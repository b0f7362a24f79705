/* SPDX-License-Identifier: MIT */
/*
 * The rows of the audit log in the contracts file: the list, its limit, and the strict decoding.
 * Rows leave the list once the history has written them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/store/audit-rows.h"
#include "gover-d/util/json.h"
#include "tests/unit/db/test-db.h"

static struct audit_rows rows, decoded;
static struct err err;

static int set_up(void)
{
	memset(&rows, 0, sizeof(rows));
	memset(&decoded, 0, sizeof(decoded));
	rows.last_id = 1000;
	return begin();
}

static int tear_down(void)
{
	audit_rows_fini(&rows);
	audit_rows_fini(&decoded);
	return end();
}

FIXTURE(set_up, tear_down)

static struct db_audit make_row(const char *path_asked)
{
	struct db_audit row = {.ts_ms = START_MS,
			       .who = "token robot",
			       .origin = "192.0.2.7",
			       .method = "PATCH",
			       .before_json = "{\"a\":\"x\\\"y\"}",
			       .after_json = ""};

	snprintf(row.path, sizeof(row.path), "%s", path_asked);
	return row;
}

static int64_t add(void)
{
	struct db_audit row = make_row("/p");

	audit_rows_add(&rows, &row);
	return row.id;
}

static void finish(int64_t id, struct db *to)
{
	struct db_audit row = make_row("/p");

	row.id = id;
	row.status = 200;
	audit_rows_end(&rows, &row, to);
}

/* --- the list --- */

TEST(a_row_leaves_the_list_once_the_history_has_written_it)
{
	int64_t id = add(), refused = add(), last = add();

	assert_int_equal(id, 1001);
	audit_rows_remove(&rows, refused);
	audit_rows_remove(&rows, /* unknown */ 7);
	assert_int_equal(rows.n, 2);
	finish(last, db);
	finish(refused, db);
	db_flush(db);
	audit_rows_drop_written(&rows, db);
	assert_int_equal(rows.n, 1);
	finish(id, db);
	db_flush(db);
	audit_rows_drop_written(&rows, NULL);
	assert_int_equal(rows.n, 1);
	audit_rows_drop_written(&rows, db);
	assert_int_equal(rows.n, 0);
	assert_int_equal(get_sql("SELECT count(*) FROM audit WHERE status = 200"), 2);
	assert_int_equal(add(), 1004); /* no id is used twice */
}

TEST(rows_without_a_history_are_passed_to_it_later)
{
	int64_t id = add();

	(void)add();
	finish(id, NULL);
	audit_rows_pass(&rows, db);
	audit_rows_pass(&rows, db);
	db_flush(db);
	assert_int_equal(db_audit_written(db), 1);
	audit_rows_drop_written(&rows, db);
	assert_int_equal(rows.n, 1);
}

static int count(void *userdata, const void *row)
{
	(void)row;
	(*(int *)userdata)++;
	return 0;
}

TEST(rows_are_listed_up_to_the_first_one_without_an_end)
{
	int64_t first = add(), second = add();
	int n = 0;

	(void)add();
	assert_int_equal(audit_rows_end_id(&rows), first);
	finish(second, NULL);
	assert_int_equal(audit_rows_end_id(&rows), first);
	finish(first, NULL);
	assert_int_equal(audit_rows_end_id(&rows), second + 1);
	audit_rows_list(&rows, -1, second + 1, count, &n);
	assert_int_equal(n, 2);
	audit_rows_list(&rows, first, second + 1, count, &n);
	assert_int_equal(n, 3);
}

TEST(the_list_is_bounded)
{
	for (int i = 0; i < AUDIT_ROWS_MAX; i++) {
		assert_false(audit_rows_full(&rows));
		(void)add();
	}
	assert_true(audit_rows_full(&rows));
}

/* --- the file --- */

static int decode(const char *text)
{
	json_t *root = json_loads(text, 0, NULL);
	int r;

	assert_non_null(root);
	audit_rows_fini(&decoded);
	memset(&decoded, 0, sizeof(decoded));
	r = audit_rows_decode(root, &decoded, &err);
	json_decref(root);
	return r;
}

static char *encode(const struct audit_rows *from)
{
	json_t *root = json_object();

	audit_rows_encode(from, root);
	return json_encode_dump(root);
}

TEST(rows_are_decoded_as_they_were_encoded)
{
	CLEANUP_FREE char *text = NULL, *again = NULL;
	struct db_audit row = make_row("/v1/vgpus/\x7f\x01\xff");

	memset(row.before_json, ' ', sizeof(row.before_json) - 1);
	memcpy(row.before_json, "{}", 2);
	audit_rows_add(&rows, &row);
	finish(add(), NULL);
	text = encode(&rows);
	assert_non_null(strstr(text, "/v1/vgpus/???"));
	assert_int_equal(decode(text), 0);
	assert_int_equal(decoded.n, 2);
	assert_int_equal(decoded.last_id, 1002);
	assert_int_equal(audit_rows_end_id(&decoded), 1003); /* all rows of a file are final */
	again = encode(&decoded);
	assert_string_equal(text, again);
}

TEST(the_longest_list_fits_into_the_file)
{
	CLEANUP_FREE char *text = NULL;
	struct db_audit row = make_row("");

	memset(row.who, '"', sizeof(row.who) - 1);
	memset(row.path, '"', sizeof(row.path) - 1);
	memset(row.origin, '"', sizeof(row.origin) - 1);
	memset(row.before_json, '"', sizeof(row.before_json) - 1);
	memset(row.after_json, '\\', sizeof(row.after_json) - 1);
	while (!audit_rows_full(&rows))
		audit_rows_add(&rows, &row);
	text = encode(&rows);
	assert_true(strlen(text) < 10 * 1024 * 1024);
}

#define ROW(id, more)                                                                            \
	"{\"id\": " id ", \"ts_ms\": 1, \"who\": \"w\", \"from\": \"f\", \"method\": \"PATCH\"," \
	" \"path\": \"/p\", \"status\": 200, " more "}"
#define GOOD "\"before\": \"{\\\"a\\\":1}\", \"after\": \"\""

TEST(a_wrong_row_is_named)
{
	static const struct {
		const char *text, *word; /* word: NULL: accepted */
	} cases[] = {
		{"{\"audit\": []}", NULL},
		{"{\"audit\": [" ROW("1", GOOD) ", " ROW("2", GOOD) "]}", NULL},
		{"{}", "audit: required"},
		{"{\"audit\": {}}", "audit: required"},
		{"{\"audit\": [" ROW("1", GOOD) ", " ROW("1", GOOD) "]}",
		 "audit: element 1: id: 1 is not above the previous id"},
		{"{\"audit\": [" ROW("0", GOOD) "]}", "audit: element 0: id: "},
		{"{\"audit\": [" ROW("9007199254740993", GOOD) "]}", "audit: element 0: id: "},
		{"{\"audit\": [" ROW("1", "\"before\": \"\"") "]}",
		 "audit: element 0: after: required"},
		{"{\"audit\": [" ROW("1", GOOD ", \"x\": 1") "]}", "audit: element 0: x"},
		{"{\"audit\": [" ROW("1", "\"before\": \"[]\", \"after\": \"\"") "]}",
		 "audit: element 0: before and after: invalid"},
		{"{\"audit\": [" ROW("1", "\"before\": \"\", \"after\": \"{\"") "]}",
		 "audit: element 0: before and after: invalid"},
		{"{\"audit\": [" ROW("1", "\"before\": 1, \"after\": \"\"") "]}",
		 "audit: element 0: before: "},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(decode(cases[i].text), cases[i].word ? -EINVAL : 0);
		if (cases[i].word && !strstr(err.msg, cases[i].word))
			fail_msg("case %zu: %s", i, err.msg);
	}
}

TEST(a_list_that_is_too_long_is_rejected)
{
	json_t *root = json_object(), *list = json_array();

	for (int i = 0; i <= AUDIT_ROWS_MAX; i++)
		json_array_append_new(list, json_object());
	json_object_set_new(root, "audit", list);
	assert_int_equal(audit_rows_decode(root, &decoded, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "audit: required (allowed: a list of at most 512"));
	json_decref(root);
}
