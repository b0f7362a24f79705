/* SPDX-License-Identifier: MIT */
/* Shared by the tests of db/: a temporary folder, samples, and plain SQL on the file. */
#ifndef TESTS_UNIT_DB_TEST_DB_H
#define TESTS_UNIT_DB_TEST_DB_H
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "db/db.h"
#include "tests/unit/temp-folder.h"
#include "tests/unit/unit.h"

#define DAY_MS	  INT64_C(86400000)
#define HOUR_MS	  INT64_C(3600000)
#define MINUTE_MS INT64_C(60000)
#define START_MS  (20000 * DAY_MS) /* a midnight */

static const struct db_retention keep_all = {0};

static char path[80];

static inline int make_folder(void)
{
	int r = temp_folder_make();

	snprintf(path, sizeof(path), "%s/history.db", temp_folder);
	return r;
}

static struct db *db;
static struct db_reader *reader;

static inline void open_db(const struct db_retention *retention)
{
	struct err err = {""};
	int r = db_open(path, retention, &db, &err);

	if (r < 0)
		print_message("# %s\n", err.msg);
	assert_int_equal(r, 0);
}

static inline struct db *close_db(void)
{
	return db = db_close(db);
}

static inline void open_reader(void)
{
	struct err err = {""};
	int r = db_reader_open(path, &reader, &err);

	if (r < 0)
		print_message("# %s\n", err.msg);
	assert_int_equal(r, 0);
}

static inline void close_reader(void)
{
	db_reader_close(reader);
	reader = NULL;
}

/* A folder with an open history. */
static inline int begin(void)
{
	if (make_folder() < 0)
		return -1;
	open_db(&keep_all);
	return 0;
}

static int end(void)
{
	close_reader();
	(void)close_db();
	return temp_folder_remove();
}

static inline struct db_sample make_sample(int64_t ts_ms, const char *vgpu)
{
	struct db_sample sample = {
		.ts_ms = ts_ms,
		.gpu = "gpu0",
		.sample = {.dt_s = 1,
			   .busy_valid = true,
			   .load = 0.3,
			   .util = 0.75,
			   .fps_valid = true,
			   .fps = 58.5,
			   .p99_valid = true,
			   .frame_p99_ms = 21.5},
		.cap_pct = 40,
		.initial_cap_pct = 50,
		.target_fps = 60,
	};

	snprintf(sample.vgpu, sizeof(sample.vgpu), "%s", vgpu);
	return sample;
}

/* Appends one sample and commits it as a tick. */
static inline void put_sample(int64_t ts_ms, const char *vgpu)
{
	struct db_sample sample = make_sample(ts_ms, vgpu);

	assert_int_equal(db_append_samples(db, NULL, &sample, 1), 0);
	db_commit(db);
}

/* Appends readings of clocks that never jumped. */
static inline void put_clock(int64_t ts_ms)
{
	assert_int_equal(db_append_clock(db, ts_ms, (uint64_t)ts_ms * NS_PER_MS), 0);
}

/* Appends a decision, which the writer commits without delay. */
static inline void put_decision(int64_t ts_ms)
{
	struct db_decision row = {.id = 1, .ts_ms = ts_ms, .gpu = "gpu0", .kind = "set"};

	assert_int_equal(db_append_decision(db, &row), 0);
	db_commit(db);
}

/* Runs @sql on a separate connection. */
static inline void run_sql(const char *sql)
{
	char *message = NULL;
	sqlite3 *other;

	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	sqlite3_busy_timeout(other, 5000);
	if (sqlite3_exec(other, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
	assert_int_equal(sqlite3_close(other), SQLITE_OK);
}

/* Returns the first value of the first row of @sql. */
static inline int64_t get_sql(const char *sql)
{
	sqlite3_stmt *statement;
	sqlite3 *other;
	int64_t value;

	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	sqlite3_busy_timeout(other, 5000);
	if (sqlite3_prepare_v2(other, sql, -1, &statement, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(other));
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	assert_int_equal(sqlite3_close(other), SQLITE_OK);
	return value;
}

#define DEADLINE_POLLS 3000 /* number of polls of 10 ms each; generous for a loaded machine */

/* Returns the statistics. Checks that each appended record is written, dropped or queued. */
static inline struct db_stats stats_of(void)
{
	struct db_stats stats;

	db_stats(db, &stats);
	assert_int_equal(stats.appended, stats.written + stats.dropped + (uint64_t)stats.queued);
	return stats;
}

static inline int count_point(void *userdata, const struct db_point *point)
{
	*(int *)userdata += (int)point->samples;
	return 0;
}

/* Returns the number of samples of "vm1" in the hour from START_MS, or the error of the query. */
static inline int count_samples(void)
{
	int n = 0;
	int r = db_query_history(reader, "vm1", START_MS, START_MS + HOUR_MS, 1, 3600, count_point,
				 &n);

	return r < 0 ? r : n;
}

static inline void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static inline void expect_contracts(int64_t revision, const char *text)
{
	int64_t got_revision;
	char *got_text;

	open_reader();
	assert_int_equal(db_query_contracts(reader, &got_revision, &got_text), 0);
	assert_int_equal(got_revision, revision);
	assert_string_equal(got_text, text);
	free(got_text);
	close_reader();
}

#endif
