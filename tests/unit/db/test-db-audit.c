/* SPDX-License-Identifier: MIT */
/* Audit records: written, read back in order, with ids that are never reused. */
#include "tests/unit/db/test-db.h"

#include "base/clock.h"
#include "db/db.h"
#include "db/conn.h"
#include "db/schema.h"

static struct {
	struct db_audit rows[64];
	int n;
} got;

static int keep_row(void *userdata, const void *data)
{
	const struct db_audit *row = data;

	(void)userdata;
	got.rows[got.n++] = *row;
	return 0;
}

static void append(int64_t ts_ms, const char *path_asked, const char *before)
{
	struct db_audit row = {.ts_ms = ts_ms, .status = 200, .id = 77 /* ignored */};

	strcpy(row.who, "token robot");
	strcpy(row.origin, "192.0.2.7");
	strcpy(row.method, "PATCH");
	strcpy(row.path, path_asked);
	strcpy(row.before_json, before);
	strcpy(row.after_json, "{\"cap\":2}");
	assert_int_equal(db_append_audit(db, &row), 0);
}

static int64_t first_id(void)
{
	return get_sql("SELECT min(id) FROM audit");
}

static void query(int64_t after, int limit)
{
	open_reader();
	memset(&got, 0, sizeof(got));
	assert_int_equal(db_query_audit(reader, after, limit, keep_row, NULL), 0);
	close_reader();
}

FIXTURE(begin, end)

TEST(rows_are_read_as_they_were_written)
{
	append(START_MS, "/v1/vgpus/a", "");
	db_flush(db);
	query(-1, 10);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.rows[0].id, first_id());
	assert_int_equal(got.rows[0].ts_ms, START_MS);
	assert_string_equal(got.rows[0].who, "token robot");
	assert_string_equal(got.rows[0].origin, "192.0.2.7");
	assert_string_equal(got.rows[0].method, "PATCH");
	assert_string_equal(got.rows[0].path, "/v1/vgpus/a");
	assert_int_equal(got.rows[0].status, 200);
	assert_string_equal(got.rows[0].before_json, "");
	assert_string_equal(got.rows[0].after_json, "{\"cap\":2}");
}

TEST(a_reader_continues_after_its_last_id)
{
	int64_t first;

	for (int i = 0; i < 10; i++)
		append(START_MS + i, "/p", "{}");
	close_db();
	first = first_id();
	query(-1, 3);
	assert_int_equal(got.n, 3);
	assert_int_equal(got.rows[0].id, first + 7);
	assert_int_equal(got.rows[2].id, first + 9);
	query(0, 4);
	assert_int_equal(got.n, 4);
	assert_int_equal(got.rows[0].id, first);
	query(first + 3, 100);
	assert_int_equal(got.n, 6);
	assert_int_equal(got.rows[0].id, first + 4);
	query(first + 9, 100);
	assert_int_equal(got.n, 0);
}

TEST(ids_are_not_reused)
{
	int64_t first;

	append(START_MS, "/p", "{}");
	append(START_MS, "/p", "{}");
	close_db();
	first = first_id();
	run_sql("DELETE FROM audit");
	open_db(&keep_all);
	append(START_MS, "/p", "{}");
	close_db();
	query(-1, 10);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.rows[0].id, first + 2);
}

#define BEFORE_AUDIT_IDS 6 /* version of the schema without a first id of audit records */

/* Runs with a new database and with a database of an earlier version of gover. */
TEST_WITH(ids_are_not_reused_after_a_loss_of_the_database, make_folder, end)
{
	const int64_t now_s = clock_now().wall_ms / 1000;
	sqlite3 *plain = NULL;

	open_db(&keep_all);
	append(START_MS, "/p", "{}");
	close_db();
	assert_in_range(first_id(), now_s, now_s + 60);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(
		conn_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, 1000, &plain, NULL), 0);
	assert_int_equal(schema_migrate(plain, path, schema_steps, BEFORE_AUDIT_IDS, NULL), 0);
	sqlite3_close(plain);
	run_sql("INSERT INTO audit (ts_ms, status) VALUES (1, 200), (2, 200)");
	open_db(&keep_all);
	append(START_MS, "/p", "{}");
	close_db();
	assert_int_equal(get_sql("SELECT max(id) FROM audit"), 3);
}
