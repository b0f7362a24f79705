/* SPDX-License-Identifier: MIT */
/* Tests that the daemon runs without its history database and reopens it later. */
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

#include "db/db.h"
#include "gover-d/core/history.h"
#include "tests/unit/gover-d/core/test-manager.h"

static char path[PATH_MAX + 16];

/* A database of another program makes every open fail. */
static void start_with_broken_history(void)
{
	sqlite3 *other;

	snprintf(path, sizeof(path), "%s/history.db", config.state_dir);
	assert_int_equal(file_make_parents(path), 0);
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "PRAGMA application_id = 1", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(other);
	start();
	assert_null(m->history.db);
	tick(1);
	assert_non_null(find_active_alert(ALERT_HISTORY_FAILING, ""));
}

static void retry_after_a_minute(void)
{
	now.mono_ns += 60 * NS_PER_S;
	history_tick(&m->history, &m->config.retention, m->queries, now);
}

static void wait_for_open(void)
{
	while (m->history.opening)
		assert_true(sd_event_run(m->event, UINT64_MAX) >= 0);
}

/* Jobs that block all threads of the queries, like a disk that does not respond. */
static struct blocking {
	struct worker_job jobs[WORKER_THREADS_MAX];
	atomic_bool may_finish;
	int done;
} blocking;

static void run_blocking(struct worker_job *job)
{
	(void)job;
	while (!atomic_load(&blocking.may_finish))
		sched_yield();
}

static void finish_blocking(struct worker_job *job)
{
	(void)job;
	blocking.done++;
}

FIXTURE(set_up, tear_down)

TEST(a_slow_database_open_does_not_block_ticks)
{
	start_with_broken_history();
	assert_int_equal(unlink(path), 0);
	atomic_store(&blocking.may_finish, false);
	for (int i = 0; i < WORKER_THREADS_MAX; i++) {
		blocking.jobs[i] =
			(struct worker_job){.run = run_blocking, .done = finish_blocking};
		assert_int_equal(worker_submit(m->queries, &blocking.jobs[i]), 0);
	}
	retry_after_a_minute();
	assert_true(m->history.opening);
	tick(5);
	retry_after_a_minute(); /* no second open starts while the first one runs */
	assert_null(m->history.db);
	atomic_store(&blocking.may_finish, true);
	wait_for_open();
	assert_true(blocking.done > 0);
	assert_non_null(m->history.db);
	tick(5);
	assert_null(find_active_alert(ALERT_HISTORY_FAILING, ""));
}

TEST(a_failed_open_is_retried_after_a_delay)
{
	start_with_broken_history();
	m->history.error[0] = '\0';
	/* The first retry needs no delay. */
	history_tick(&m->history, &m->config.retention, m->queries, now);
	assert_true(m->history.opening);
	wait_for_open();
	assert_null(m->history.db);
	assert_non_null(strstr(m->history.error, "history.db"));
	history_tick(&m->history, &m->config.retention, m->queries, now);
	assert_false(m->history.opening);
	assert_int_equal(unlink(path), 0);
	retry_after_a_minute();
	wait_for_open();
	assert_non_null(m->history.db);
	retry_after_a_minute();
	assert_false(m->history.opening);
}

TEST(a_stop_during_the_open_closes_the_database)
{
	start_with_broken_history();
	assert_int_equal(unlink(path), 0);
	retry_after_a_minute();
	assert_true(m->history.opening);
	stop_daemon(); /* stop_daemon() waits until the database is open, and closes it */
	assert_int_equal(access(path, F_OK), 0);
}

static int count_stored_decisions(void)
{
	sqlite3 *file;
	sqlite3_stmt *count;
	int n;

	snprintf(path, sizeof(path), "%s/history.db", config.state_dir);
	assert_int_equal(sqlite3_open(path, &file), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(file, "SELECT count(*) FROM decision WHERE vgpu = 'a'",
					    -1, &count, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(count), SQLITE_ROW);
	n = sqlite3_column_int(count, 0);
	sqlite3_finalize(count);
	sqlite3_close(file);
	return n;
}

TEST(a_clock_that_jumps_before_the_first_tick_removes_no_row)
{
	int n;

	config.retention = (struct db_retention){.raw_hours = 1, .minute_days = 1, .hour_days = 1};
	start();
	sell("a", 20, 0.1);
	db_flush(m->history.db);
	n = count_stored_decisions();
	assert_true(n > 0);
	now.wall_ms = clock_now().wall_ms + 800 * INT64_C(86400000);
	now.boot_ns = clock_now().boot_ns;
	for (int minute = 0; minute < 5; minute++) {
		tick(60);
		db_flush(m->history.db);
	}
	stop_daemon();
	assert_true(count_stored_decisions() >= n);
}
