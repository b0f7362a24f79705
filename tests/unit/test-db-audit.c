/* SPDX-License-Identifier: MIT */
/* Who changed what: written, read back in order, numbered for ever. */
#include "tests/unit/test-db.h"

#include "db/audit.h"

static struct {
	struct db_audit rows[64];
	int n;
} got;

static int keep_row(void *userdata, const struct db_audit *row)
{
	(void)userdata;
	got.rows[got.n++] = *row;
	return 0;
}

static void append(struct db *db, int64_t ts_ms, const char *path_asked, const char *before)
{
	struct db_audit row = {.ts_ms = ts_ms, .status = 200, .id = 77 /* not looked at */};

	strcpy(row.who, "token robot");
	strcpy(row.origin, "192.0.2.7");
	strcpy(row.method, "PATCH");
	strcpy(row.path, path_asked);
	strcpy(row.before_json, before);
	strcpy(row.after_json, "{\"cap\":2}");
	assert_int_equal(db_append_audit(db, &row), 0);
}

static void query(int64_t after, int limit)
{
	struct db_reader *reader = open_reader();

	memset(&got, 0, sizeof(got));
	assert_int_equal(db_query_audit(reader, after, limit, keep_row, NULL), 0);
	db_reader_close(reader);
}

static void what_was_written_is_read(void **state)
{
	struct db *db = open_db(&keep_all);

	(void)state;
	append(db, START_MS, "/v1/vgpus/a", "");
	db_flush(db);
	query(-1, 10);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.rows[0].id, 1);
	assert_int_equal(got.rows[0].ts_ms, START_MS);
	assert_string_equal(got.rows[0].who, "token robot");
	assert_string_equal(got.rows[0].origin, "192.0.2.7");
	assert_string_equal(got.rows[0].method, "PATCH");
	assert_string_equal(got.rows[0].path, "/v1/vgpus/a");
	assert_int_equal(got.rows[0].status, 200);
	assert_string_equal(got.rows[0].before_json, "");
	assert_string_equal(got.rows[0].after_json, "{\"cap\":2}");
	db_close(db);
}

static void a_reader_goes_on_where_he_was(void **state)
{
	struct db *db = open_db(&keep_all);

	(void)state;
	for (int i = 0; i < 10; i++)
		append(db, START_MS + i, "/p", "{}");
	db_close(db);
	query(-1, 3);
	assert_int_equal(got.n, 3);
	assert_int_equal(got.rows[0].id, 8);
	assert_int_equal(got.rows[2].id, 10);
	query(0, 4);
	assert_int_equal(got.n, 4);
	assert_int_equal(got.rows[0].id, 1);
	query(4, 100);
	assert_int_equal(got.n, 6);
	assert_int_equal(got.rows[0].id, 5);
	query(10, 100);
	assert_int_equal(got.n, 0);
}

static void no_number_is_given_twice(void **state)
{
	struct db *db = open_db(&keep_all);

	(void)state;
	append(db, START_MS, "/p", "{}");
	append(db, START_MS, "/p", "{}");
	db_close(db);
	run_sql("DELETE FROM audit");
	db = open_db(&keep_all);
	append(db, START_MS, "/p", "{}");
	db_close(db);
	query(-1, 10);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.rows[0].id, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_written_is_read),
		TEST(a_reader_goes_on_where_he_was),
		TEST(no_number_is_given_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
