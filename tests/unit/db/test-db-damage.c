/* SPDX-License-Identifier: MIT */
/* Damaged databases: each kind, found at the open or later, is set aside and replaced. */
#include <fcntl.h>
#include <sys/wait.h>

#include "db/schema.h"
#include "db/store.h"
#include "tests/unit/db/test-db.h"

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

static void make_folder_of_log(void)
{
	char log[96];

	snprintf(log, sizeof(log), "%s-wal", path);
	assert_int_equal(mkdir(log, 0755), 0);
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
	{"a folder", make_folder_of_it, true, true, "is a folder"},
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

FIXTURE(make_folder, end)

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

TEST(test_a_folder_in_place_of_the_log_is_moved_alone)
{
	fill();
	make_folder_of_log();
	open_db(&keep_all);
	assert_int_equal(stats_of().damaged.n, 1);
	assert_non_null(strstr(stats_of().set_aside_why, "history.db-wal is a folder"));
	close_db();
	assert_int_equal(get_sql("SELECT count(*) FROM sample"), MINUTES);
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
	struct err err;

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
	struct err err;
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
