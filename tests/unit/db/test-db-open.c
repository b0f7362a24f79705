/* SPDX-License-Identifier: MIT */
/*
 * Opening the history: migrations, and files that are rejected without a change. Damaged databases:
 * each kind, found at the open or later, is set aside and replaced.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "db/conn.h"
#include "db/schema.h"
#include "db/store.h"
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
		struct db_offer offer = {.id = 1, .state = "open", .flavor = "half"};

		assert_int_equal(schema_migrate(plain, path, schema_steps, version, NULL), 0);
		sqlite3_close(plain);
		open_db(&keep_all);
		put_sample(START_MS, "vm1");
		assert_int_equal(db_append_offer(db, &offer), 0);
		assert_null(close_db());
		assert_int_equal(get_sql("PRAGMA user_version"), schema_version);
		assert_int_equal(get_sql("PRAGMA application_id"), SCHEMA_APPLICATION_ID);
		assert_int_equal(get_sql("SELECT count(*) FROM sample"), 1);
		assert_int_equal(get_sql("SELECT flavor = 'half' AND claim_key IS NULL FROM offer"),
				 1);
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

static int count_decision(void *userdata, const void *row)
{
	(void)row;
	++*(int *)userdata;
	return 0;
}

static int count_decisions(void)
{
	int n = 0;

	assert_int_equal(db_query_decisions(reader, 10, count_decision, &n), 0);
	return n;
}

/* sqlite gets the path as a URI, which has characters with a meaning */
TEST(test_a_read_only_file_system_can_only_be_read)
{
	struct db_decision decision = {.id = 1, .kind = "add", .result = "written"};

	snprintf(path, sizeof(path), "%s/a %%41?b#c.db", temp_folder);
	open_db(&keep_all);
	assert_int_equal(db_append_decision(db, &decision), 0);
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
	open_reader(); /* sqlite cannot create an index there */
	assert_int_equal(count_decisions(), 1);
	close_reader();
	assert_int_equal(umount(temp_folder), 0);
}

/* --- damaged databases --- */

#define MINUTES 3000 /* number of samples: the file has more pages than the writer caches */

/* --- kinds of damage --- */

static off_t size_of(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 ? st.st_size : -1;
}

static void overwrite(off_t from, off_t n)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	for (off_t at = from; at < from + n; at++)
		assert_int_equal(pwrite(fd, "\xa5", 1, at), 1);
	assert_int_equal(close(fd), 0);
}

static void make_garbage(void)
{
	overwrite(0, size_of(path));
}

static void make_empty(void)
{
	assert_int_equal(truncate(path, 0), 0);
}

static void make_shorter(void)
{
	assert_int_equal(truncate(path, size_of(path) / 2), 0);
}

static void damage_header(void)
{
	overwrite(0, 100);
}

static void damage_middle(void)
{
	overwrite(16384, size_of(path) - 16384);
}

static void make_text(void)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs("these are the notes of an operator, and long enough to be read as a header\n", file);
	assert_int_equal(fclose(file), 0);
}

static void make_folder_of_it(void)
{
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0755), 0);
}

/* @end: of the name of a further file of the database. */
static void make_folder_beside(const char *end)
{
	char folder_path[96];

	snprintf(folder_path, sizeof(folder_path), "%s%s", path, end);
	assert_int_equal(mkdir(folder_path, 0755), 0);
}

static void drop_table(void)
{
	run_sql("DROP TABLE offer");
}

static void lower_version(void)
{
	run_sql("PRAGMA user_version = 1");
}

static void drop_progress(void)
{
	run_sql("DELETE FROM progress");
}

static const struct kind {
	const char *name;
	void (*damage)(void);
	bool at_open; /* found at the open */
	bool running; /* tried while the writer runs */
	const char *why;
} kinds[] = {
	{"garbage", make_garbage, true, true, "not a database"},
	{"zero bytes", make_empty, true, true, "the file is empty"},
	{"truncated", make_shorter, true, true, "malformed"},
	{"header", damage_header, true, true, "not a database"},
	{"all pages but the first", damage_middle, false, true, ""},
	{"a text file", make_text, true, false, "not a database"},
	{"a folder", make_folder_of_it, true, true, "not a regular file"},
	{"a missing table", drop_table, true, false, "no such table"},
	{"a failed migration", lower_version, true, false, "duplicate column"},
	{"no progress", drop_progress, true, false, ""},
};

static void fill(void)
{
	open_db(&keep_all);
	for (int i = 0; i < MINUTES; i++)
		put_sample(START_MS + i * MINUTE_MS, "vm1");
	db_flush(db);
	assert_int_equal(stats_of().set_aside, 0);
	close_db();
}

static void empty_folder(void)
{
	assert_int_equal(temp_folder_remove(), 0);
	assert_int_equal(mkdir(temp_folder, 0700), 0);
}

/* Checks that the history works and that the damaged file has its content of before. */
static void expect_new_history(const struct kind *kind, off_t size)
{
	struct db_stats stats = stats_of();
	char aside[200];

	assert_int_equal(stats.set_aside, 1);
	if (!strstr(stats.set_aside_why, kind->why))
		fail_msg("%s: %s", kind->name, stats.set_aside_why);
	assert_int_equal(stats.damaged.n, 1);
	assert_string_equal(stats.damaged.names[0], stats.set_aside_name);
	snprintf(aside, sizeof(aside), "%s/%s", temp_folder, stats.set_aside_name);
	assert_non_null(strstr(aside, "history.db.damaged-2"));
	assert_int_equal(size_of(aside), size);
	put_sample(START_MS, "new");
	db_flush(db);
	assert_int_equal(stats_of().last_error, 0);
	assert_int_equal(get_sql("SELECT count(*) FROM sample JOIN vgpu ON num = vgpu"
				 " WHERE id = 'new'"),
			 1);
}

TEST(test_damage_is_found_at_the_open)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		off_t size;

		if (!kinds[i].at_open)
			continue;
		print_message("# %s\n", kinds[i].name);
		fill();
		kinds[i].damage();
		size = size_of(path);
		open_db(&keep_all);
		expect_new_history(&kinds[i], size);
		close_db();
		open_db(&keep_all); /* the new file is not damaged */
		assert_int_equal(stats_of().set_aside, 0);
		assert_int_equal(stats_of().damaged.n, 1);
		close_db();
		empty_folder();
	}
}

/* Damage of the middle is found by a query, as in gover-d/api/fetch.c. */
static void query_until_set_aside(void)
{
	for (int i = 0; i < DEADLINE_POLLS && stats_of().set_aside == 0; i++) {
		int n = 0, r = db_reader_open(path, &reader, NULL);

		if (r == 0)
			r = db_query_history(reader, "vm1", START_MS, START_MS + 30 * DAY_MS, 3600,
					     1000, count_point, &n);
		close_reader();
		if (r < 0)
			db_check(db);
		put_decision(START_MS + (MINUTES + 1) * MINUTE_MS);
		db_flush(db);
		pause_ms(10);
	}
}

TEST(test_damage_is_found_while_the_writer_runs)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct kind any = kinds[i];

		if (!any.running)
			continue;
		print_message("# %s\n", any.name);
		fill();
		open_db(&keep_all);
		put_decision(START_MS + MINUTES * MINUTE_MS);
		db_flush(db);
		any.damage();
		any.why = ""; /* the message depends on the page that is read first */
		query_until_set_aside();
		assert_int_equal(stats_of().set_aside, 1);
		assert_true(stats_of().replaced >= 1);
		put_decision(START_MS);
		db_flush(db);
		assert_int_equal(stats_of().last_error, 0);
		assert_int_equal(get_sql("SELECT count(*) > 0 FROM decision"), 1);
		close_db();
		empty_folder();
	}
}

/* Writes a row in a process that ends without closing the database. */
static void write_and_exit(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		open_db(&keep_all);
		put_decision(START_MS);
		db_flush(db);
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

TEST(test_a_file_that_was_not_closed_is_checked_without_a_query)
{
	fill();
	write_and_exit();
	overwrite(size_of(path) / 2 & ~4095, 4096); /* rows that the writer does not read */
	open_db(&keep_all);
	for (int i = 0; i < DEADLINE_POLLS && stats_of().set_aside == 0; i++) {
		put_decision(START_MS);
		db_flush(db);
		pause_ms(10);
	}
	assert_int_equal(stats_of().set_aside, 1);
}

TEST(test_a_folder_in_place_of_a_further_file_is_moved_alone)
{
	static const char *const ends[] = {"-wal", "-shm", "-journal"};
	char why[64];

	fill();
	for (int i = 0; i < 3; i++) {
		make_folder_beside(ends[i]);
		open_db(&keep_all);
		assert_int_equal(stats_of().damaged.n, i + 1);
		snprintf(why, sizeof(why), "history.db%s is not a regular file", ends[i]);
		assert_non_null(strstr(stats_of().set_aside_why, why));
		close_db();
		assert_int_equal(get_sql("SELECT count(*) FROM sample"), MINUTES);
	}
}

TEST(test_another_file_that_was_set_aside_is_listed)
{
	char caps[96];

	snprintf(caps, sizeof(caps), "%.*scaps.damaged-20261130T120000Z",
		 (int)(strrchr(path, '/') + 1 - path), path);
	fill();
	assert_int_equal(close(creat(caps, 0600)), 0);
	open_db(&keep_all);
	assert_int_equal(stats_of().damaged.n, 1);
	assert_false(stats_of().damaged.database);
	close_db();
	assert_int_equal(unlink(caps), 0);
}

TEST(test_a_check_without_damage_changes_nothing)
{
	fill();
	open_db(&keep_all);
	db_check(db);
	put_decision(START_MS);
	db_flush(db);
	close_db();
	assert_int_equal(get_sql("SELECT count(*) FROM sample"), MINUTES);
}

TEST(test_the_log_of_a_damaged_file_is_kept)
{
	struct db_damaged damaged;
	struct db *again = NULL;
	char log[200];

	open_db(&keep_all);
	put_sample(START_MS, "vm1");
	db_flush(db);
	damage_header(); /* the samples are still only in the log */
	assert_int_equal(db_open(path, &keep_all, &again, NULL), 0);
	damage_list(path, &damaged);
	assert_int_equal(damaged.n, 1);
	snprintf(log, sizeof(log), "%s/%s-wal", temp_folder, damaged.names[0]);
	assert_true(size_of(log) > 0);
	db_close(again);
}

TEST(test_the_oldest_and_the_newest_files_are_kept)
{
	char names[7][DB_DAMAGED_NAME_MAX];
	struct db_stats stats;

	for (int i = 0; i < 7; i++) {
		make_text();
		open_db(&keep_all);
		stats = stats_of();
		strcpy(names[i], stats.set_aside_name);
		close_db();
	}
	/* the names differ also in one second */
	assert_string_not_equal(names[0], names[1]);
	assert_string_not_equal(names[1], names[6]);
	assert_int_equal(stats.damaged.n, DB_DAMAGED_MAX);
	assert_string_equal(stats.damaged.names[0], names[0]);
	assert_string_equal(stats.damaged.names[1], names[1]);
	assert_string_equal(stats.damaged.names[2], names[6]);
}

TEST(test_a_removed_file_is_no_longer_listed)
{
	char name[200];

	make_text();
	open_db(&keep_all);
	snprintf(name, sizeof(name), "%s/%s", temp_folder, stats_of().set_aside_name);
	assert_int_equal(unlink(name), 0);
	for (int i = 0; i < DEADLINE_POLLS && stats_of().damaged.n > 0; i++) {
		put_decision(START_MS);
		db_flush(db);
		pause_ms(10);
	}
	assert_int_equal(stats_of().damaged.n, 0);
}

TEST(test_without_a_new_file_the_damaged_one_stays)
{
	char blocker[200], inside[220];

	make_text();
	snprintf(blocker, sizeof(blocker), "%s.new", path);
	snprintf(inside, sizeof(inside), "%s/x", blocker);
	assert_int_equal(mkdir(blocker, 0755), 0); /* a folder that is not empty stops root too */
	assert_int_equal(mkdir(inside, 0755), 0);
	assert_true(db_open(path, &keep_all, &db, &err) < 0);
	assert_null(db);
	assert_non_null(strstr(err.msg, "damaged (not a database)"));
	assert_true(size_of(path) > 0);
}

TEST(test_a_link_is_followed_and_never_replaced)
{
	char target[200];
	struct stat st;
	FILE *file;

	snprintf(target, sizeof(target), "%s/disk", temp_folder);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(db_open(path, &keep_all, &db, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "the target of the link is missing"));
	file = fopen(target, "w"); /* an empty file */
	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
	open_db(&keep_all);
	assert_int_equal(stats_of().damaged.n, 1);
	assert_non_null(strstr(stats_of().set_aside_name, "disk.damaged-"));
	close_db();
	assert_true(size_of(target) > 0);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static bool is_damaged_again(void)
{
	return strstr(stats_of().last_message, "damaged again");
}

/* On a slow machine, more than the pause can pass until a damage is found; it is then repeated. */
TEST(test_a_second_damage_within_seconds_is_only_reported)
{
	uint64_t seen = 0;

	fill();
	open_db(&keep_all);
	make_garbage();
	query_until_set_aside();
	for (int i = 0; i < DEADLINE_POLLS && !is_damaged_again(); i++) {
		if (stats_of().set_aside != seen) {
			seen = stats_of().set_aside;
			make_garbage();
			db_check(db);
		}
		put_decision(START_MS);
		db_flush(db);
		pause_ms(10);
	}
	assert_true(is_damaged_again());
}
