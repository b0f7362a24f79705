/* SPDX-License-Identifier: MIT */
/* A database that cannot be opened, and a whole daemon that goes on without it until it can. */
#include <pthread.h>
#include <stdatomic.h>

#include "db/db.h"
#include "gover-d/core/history.h"
#include "tests/unit/gover-d/core/test-manager.h"

static char path[PATH_MAX + 16];

/* A folder in its place, which nobody can write as a file, root neither. */
static void start_without_history(void)
{
	snprintf(path, sizeof(path), "%s/history.db", config.state_dir);
	assert_int_equal(file_make_dirs(path), 0);
	start();
	assert_null(m->history.db);
	tick(1);
	assert_non_null(alert_of(ALERT_HISTORY_FAILING, ""));
}

static void retry(void)
{
	now.mono_ns += 60 * NS_PER_S;
	history_retry(&m->history, &m->config.retention, m->worker, now);
}

static void wait_for_opening(void)
{
	while (m->history.opening)
		assert_true(sd_event_run(m->event, UINT64_MAX) >= 0);
}

/* Stands for a disk that does not answer. */
static struct slow {
	struct worker_job job;
	atomic_bool goes_on, done;
} slow;

static void run_slow(struct worker_job *job)
{
	(void)job;
	while (!atomic_load(&slow.goes_on))
		sched_yield();
}

static void slow_done(struct worker_job *job)
{
	(void)job;
	atomic_store(&slow.done, true);
}

static void no_tick_waits_for_a_database_that_opens_slowly(void **state)
{
	(void)state;
	start_without_history();
	assert_int_equal(rmdir(path), 0);
	atomic_store(&slow.goes_on, false);
	slow.job = (struct worker_job){.run = run_slow, .done = slow_done};
	assert_int_equal(worker_submit(m->worker, &slow.job), 0);
	retry();
	assert_true(m->history.opening);
	tick(5);
	retry(); /* one at a time */
	assert_null(m->history.db);
	atomic_store(&slow.goes_on, true);
	wait_for_opening();
	assert_true(atomic_load(&slow.done));
	assert_non_null(m->history.db);
	tick(5);
	assert_null(alert_of(ALERT_HISTORY_FAILING, ""));
}

static void one_that_still_fails_is_tried_again_and_not_at_once(void **state)
{
	(void)state;
	start_without_history();
	m->history.error[0] = '\0';
	history_retry(&m->history, &m->config.retention, m->worker,
		      now); /* after the first tick already */
	assert_true(m->history.opening);
	wait_for_opening();
	assert_null(m->history.db);
	assert_non_null(strstr(m->history.error, "history.db"));
	history_retry(&m->history, &m->config.retention, m->worker, now);
	assert_false(m->history.opening);
	assert_int_equal(rmdir(path), 0);
	retry();
	wait_for_opening();
	assert_non_null(m->history.db);
	retry();
	assert_false(m->history.opening);
}

static void an_end_meanwhile_leaves_nothing_open(void **state)
{
	(void)state;
	start_without_history();
	assert_int_equal(rmdir(path), 0);
	retry();
	assert_true(m->history.opening);
	stop(); /* finishes it, and closes what it opened */
	assert_int_equal(access(path, F_OK), 0);
}

int main(void)
{
#define RIGGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		RIGGED(no_tick_waits_for_a_database_that_opens_slowly),
		RIGGED(one_that_still_fails_is_tried_again_and_not_at_once),
		RIGGED(an_end_meanwhile_leaves_nothing_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
