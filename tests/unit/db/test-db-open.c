/* SPDX-License-Identifier: MIT */
/* Opening the history: migrations, and files that are rejected without a change. */
#include <sched.h>
#include <sys/mount.h>

#include "db/conn.h"
#include "db/schema.h"
#include "tests/unit/db/test-db.h"

static struct err err;

/* --- migrations --- */

static const char *const three_steps[] = {
	"CREATE TABLE fruit (name TEXT); INSERT INTO fruit VALUES ('apple');",
	"ALTER TABLE fruit ADD COLUMN weight_g INTEGER; UPDATE fruit SET weight_g = 150;",
	"CREATE INDEX fruit_weight ON fruit (weight_g);",
};

static sqlite3 *open_plain(void)
{
	sqlite3 *plain = NULL;

	assert_int_equal(
		conn_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, 1000, &plain, NULL), 0);
	return plain;
}

FIXTURE(make_folder, end)

TEST(test_every_version_is_migrated_to_the_newest)
{
	for (int version = 0; version <= 3; version++) {
		sqlite3 *plain = open_plain();
		int64_t value;

		assert_int_equal(schema_migrate(plain, path, three_steps, version, NULL), 0);
		assert_int_equal(conn_get_int(plain, "PRAGMA user_version", &value), SQLITE_OK);
		assert_int_equal(value, version);
		assert_int_equal(schema_migrate(plain, path, three_steps, 3, NULL), 0);
		assert_int_equal(conn_get_int(plain, "PRAGMA user_version", &value), SQLITE_OK);
		assert_int_equal(value, 3);
		assert_int_equal(conn_get_int(plain, "SELECT weight_g FROM fruit", &value),
				 SQLITE_OK);
		/* the first step inserts the fruit, the second step sets its weight */
		assert_int_equal(value, 150);
		sqlite3_close(plain);
		assert_int_equal(unlink(path), 0);
	}
}

TEST(test_every_released_version_becomes_a_working_history)
{
	for (int version = 0; version <= schema_version; version++) {
		sqlite3 *plain = open_plain();
		struct db_offer offer = {.id = 1, .state = "open", .claim_key = "key-1"};

		assert_int_equal(schema_migrate(plain, path, schema_steps, version, NULL), 0);
		sqlite3_close(plain);
		open_db(&keep_all);
		put_sample(START_MS, "vm1");
		assert_int_equal(db_append_offer(db, &offer), 0);
		assert_null(close_db());
		assert_int_equal(get_sql("PRAGMA user_version"), schema_version);
		assert_int_equal(get_sql("PRAGMA application_id"), SCHEMA_APPLICATION_ID);
		assert_int_equal(get_sql("SELECT count(*) FROM sample"), 1);
		assert_int_equal(get_sql("SELECT claim_key = 'key-1' FROM offer"), 1);
		assert_int_equal(unlink(path), 0);
	}
}

TEST(test_a_step_that_fails_changes_nothing)
{
	static const char *const steps[] = {
		"CREATE TABLE fruit (name TEXT);",
		"INSERT INTO fruit VALUES ('pear'); INSERT INTO no_such_table VALUES (1);",
	};
	sqlite3 *plain = open_plain();
	int64_t value;

	assert_true(schema_migrate(plain, path, steps, 2, &err) < 0);
	assert_non_null(strstr(err.msg, path));
	assert_non_null(strstr(err.msg, "no_such_table"));
	assert_int_equal(conn_get_int(plain, "PRAGMA user_version", &value), SQLITE_OK);
	assert_int_equal(value, 1);
	assert_int_equal(conn_get_int(plain, "SELECT count(*) FROM fruit", &value), SQLITE_OK);
	assert_int_equal(value, 0);
	sqlite3_close(plain);
}

TEST(test_a_new_history_is_wal)
{
	open_db(&keep_all);

	close_db();
	assert_int_equal(get_sql("SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
}

TEST(test_opening_again_keeps_all_rows)
{
	for (int i = 0; i < 3; i++) {
		open_db(&keep_all);

		put_sample(START_MS + i * 1000, "vm1");
		close_db();
	}
	assert_int_equal(get_sql("SELECT count(*) FROM sample"), 3);
	assert_int_equal(get_sql("SELECT count(*) FROM vgpu"), 1);
}

/* --- rejected files --- */

static void make_foreign_database(void)
{
	run_sql("CREATE TABLE song (title TEXT)");
}

static void make_foreign_application(void)
{
	run_sql("PRAGMA application_id = 12345");
}

static void make_newer_database(void)
{
	char sql[64];

	open_db(&keep_all);
	close_db();
	snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", schema_version + 1);
	run_sql(sql);
}

static void make_negative_version(void)
{
	open_db(&keep_all);
	close_db();
	run_sql("PRAGMA user_version = -1");
}

static const struct refusal {
	const char *name;
	void (*make)(void);
	int r;
	const char *said;
} refusals[] = {
	{"a database of another program", make_foreign_database, -EINVAL,
	 "not a database of gover"},
	{"an application id of another program", make_foreign_application, -EINVAL,
	 "not a database of gover"},
	{"a newer history", make_newer_database, -EPROTO, "newer version of gover"},
	{"a version below zero", make_negative_version, -EINVAL, "not a database of gover"},
};

static off_t file_size(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

TEST(test_foreign_and_newer_files_are_rejected_without_a_change)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		off_t size;

		print_message("# %s\n", refusals[i].name);
		refusals[i].make();
		size = file_size();
		assert_int_equal(db_open(path, &keep_all, &db, &err), refusals[i].r);
		assert_null(db);
		assert_non_null(strstr(err.msg, refusals[i].said));
		assert_non_null(strstr(err.msg, path));
		assert_int_equal(db_reader_open(path, &reader, &err), refusals[i].r);
		assert_null(reader);
		assert_int_equal(file_size(), size);
		assert_int_equal(unlink(path), 0);
	}
}

TEST(test_a_missing_folder_is_reported)
{
	assert_int_equal(db_open("/nonexistent/history.db", &keep_all, &db, &err), -ENOENT);
	assert_null(db);
	assert_non_null(strstr(err.msg, "/nonexistent/history.db"));
}

TEST(test_a_reader_does_not_create_a_file)
{
	assert_int_equal(db_reader_open(path, &reader, &err), -ENOENT);
	assert_null(reader);
	assert_int_equal(access(path, F_OK), -1);
}

TEST(test_a_reader_rejects_an_older_schema)
{
	assert_int_equal(mknod(path, S_IFREG | 0644, 0), 0); /* an empty file has version 0 */
	assert_int_equal(db_reader_open(path, &reader, &err), -EPROTO);
	assert_null(reader);
}

/* Runs as the user "nobody" if the tests run as root, because root can write read-only files. */
static int open_as_nobody(struct err *reterr)
{
	bool root = geteuid() == 0;
	int r;

	if (root)
		assert_int_equal(seteuid(65534), 0);
	r = db_open(path, &keep_all, &db, reterr);
	if (root)
		assert_int_equal(seteuid(0), 0);
	assert_null(db);
	return r;
}

TEST(test_a_read_only_folder_is_rejected)
{
	assert_int_equal(chmod(temp_folder, 0555), 0);
	assert_int_equal(open_as_nobody(&err), -EACCES);
	assert_non_null(strstr(err.msg, path));
	assert_int_equal(chmod(temp_folder, 0755), 0);
}

TEST(test_a_read_only_file_is_rejected)
{
	open_db(&keep_all);
	close_db();
	assert_int_equal(chmod(path, 0444), 0);
	assert_int_equal(chmod(temp_folder, 0777), 0);
	assert_int_equal(open_as_nobody(&err), -EACCES);
	assert_non_null(strstr(err.msg, "cannot be written"));
}

TEST(test_a_history_in_a_folder_that_became_read_only_is_rejected)
{
	int r;

	open_db(&keep_all);
	close_db();
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(chmod(temp_folder, 0555), 0);
	r = open_as_nobody(&err); /* the file is writable, but the WAL cannot be created */
	assert_true(r == -EACCES || r == -EROFS);
	assert_non_null(strstr(err.msg, path));
	assert_int_equal(chmod(temp_folder, 0755), 0);
}

TEST(test_a_read_only_file_system_is_rejected)
{
	open_db(&keep_all);
	close_db();
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(temp_folder, temp_folder, NULL, MS_BIND, NULL) < 0) {
		print_message("# only root can mount a file system\n");
		skip();
	}
	assert_int_equal(mount(NULL, temp_folder, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), 0);
	assert_int_equal(db_open(path, &keep_all, &db, &err), -EROFS);
	assert_null(db);
	assert_non_null(strstr(err.msg, path));
	assert_int_equal(umount(temp_folder), 0);
}
