/* SPDX-License-Identifier: MIT */
/*
 * Restarts after the contracts file, the database or both were lost or corrupted, and a daemon that
 * runs without its database and reopens it later.
 */
#include <glob.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "db/db.h"
#include "gover-d/record/history.h"
#include "tests/unit/gover-d/manager/test-manager.h"

/*
 * Stops with vGPU a at a cap of 65 % (contract 80 %), and vGPU b on hold at 35 % (contract 50 %).
 */
static void run_steal_and_hold(void)
{
	start();
	sell("a", 80, 0.05);
	sell("b", 50, BUSY);
	tick(4);
	device("b")->demand = 0;
	assert_int_equal(hold("b", 35), 0);
	assert_int_equal(device("a")->cap_pct, 65);
	stop_daemon();
}

static void expect_state_preserved(void)
{
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 80);
	assert_int_equal(vgpu("b")->contract.terms.initial_cap_pct, 50);
	assert_false(vgpu("a")->found);
	assert_false(vgpu("a")->contract.held);
	assert_true(vgpu("b")->contract.held);
	assert_int_equal(vgpu("b")->contract.held_cap_pct, 35);
	assert_int_equal(device("a")->cap_pct, 65);
	assert_int_equal(device("b")->cap_pct, 35);
}

/* --- contracts file lost --- */

TEST(contracts_and_holds_are_restored_from_the_database)
{
	run_steal_and_hold();
	delete_contracts_file();
	start();
	expect_state_preserved();
	wait_for_saves();
	tick(2);
	expect_state_preserved();
	assert_true(state_file_exists("contracts.json")); /* the daemon wrote the file again */
	stop_daemon();
	delete_database();
	start();
	expect_state_preserved();
}

TEST(a_corrupt_file_is_renamed_and_the_database_is_used)
{
	CLEANUP_FREE char *aside = NULL;

	run_steal_and_hold();
	write_contracts("{\"version\": 2,");
	start();
	expect_state_preserved();
	wait_for_saves();
	aside = read_state("contracts.json.old");
	assert_string_equal(aside, "{\"version\": 2,");
	restart();
	expect_state_preserved();
}

TEST(a_corrupt_file_without_a_database_is_refused)
{
	run_steal_and_hold();
	write_contracts("{\"version\": 2,");
	delete_database();
	assert_int_equal(manager_new(&config, false, &m, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "contracts.json"));
	assert_int_equal(device("a")->cap_pct, 65);
	assert_false(state_file_exists("contracts.json.old"));
}

/* Replaces a file of the state directory by a folder. */
static void replace_by_folder(const char *name)
{
	CLEANUP_FREE char *path = strdup(state_path(name));

	assert_non_null(path);
	assert_int_equal(remove(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int count_set_aside(const char *name)
{
	char pattern[2 * PATH_MAX];
	glob_t found = {0};
	int n;

	snprintf(pattern, sizeof(pattern), "%s.damaged-*", state_path(name));
	n = glob(pattern, 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
	globfree(&found);
	return n;
}

TEST(a_folder_is_renamed_and_the_database_is_used)
{
	run_steal_and_hold();
	for (int times = 1; times <= 2; times++) { /* the second name may be in use */
		replace_by_folder("contracts.json");
		start();
		expect_state_preserved();
		wait_for_saves();
		assert_int_equal(count_set_aside("contracts.json"), times);
		stop_daemon();
	}
	start();
	expect_state_preserved();
}

TEST(a_folder_without_a_database_counts_as_a_lost_file)
{
	run_steal_and_hold();
	replace_by_folder("contracts.json");
	delete_database();
	start();
	tick(1);
	assert_int_equal(count_set_aside("contracts.json"), 1);
	assert_true(vgpu("a")->contract.held); /* its contract is lost */
	assert_int_equal(device("a")->cap_pct, 65);
}

TEST(a_folder_in_place_of_the_cap_journal_is_renamed)
{
	run_steal_and_hold();
	replace_by_folder("caps");
	start();
	expect_state_preserved();
	assert_int_equal(count_set_aside("caps"), 1);
	expect_journal("a", 65);
}

TEST(a_dry_run_does_not_rename_a_folder)
{
	run_steal_and_hold();
	replace_by_folder("contracts.json");
	assert_int_equal(manager_new(&config, true, &m, &err), 0);
	assert_int_equal(count_set_aside("contracts.json"), 0);
}

TEST(a_file_of_a_newer_version_is_refused_even_with_a_database)
{
	run_steal_and_hold();
	write_contracts("{\"version\": 999, \"gpus\": [], \"vgpus\": []}");
	assert_int_equal(manager_new(&config, false, &m, &err), -EPROTO);
	assert_non_null(strstr(err.msg, "version: 999"));
	assert_false(state_file_exists("contracts.json.old"));
}

TEST(contracts_missing_from_the_file_are_restored_from_the_database)
{
	start();
	sell("a", 50, 0);
	assert_int_equal(mkdir(state_path("contracts.json.new"), 0700), 0);
	device("a")->cap_pct = 33;
	tick(1); /* the external change puts the vGPU on hold, which needs no client */
	wait_for_saves();
	assert_true(m->store.result < 0);
	assert_int_equal(hold("a", 40), CONTROL_E_NOT_STORED);
	stop_daemon();
	assert_int_equal(rmdir(state_path("contracts.json.new")), 0);
	start();
	assert_true(vgpu("a")->contract.held);
	assert_int_equal(vgpu("a")->contract.held_cap_pct, 33);
	assert_true(state_file_exists("contracts.json.old"));
}

TEST(an_edited_file_takes_precedence_over_the_database)
{
	json_t *root;

	run_steal_and_hold();
	root = json_load_file(state_path("contracts.json"), 0, NULL);
	assert_int_equal(json_object_set_new(json_array_get(json_object_get(root, "vgpus"), 0),
					     "initial_cap_pct", json_integer(75)),
			 0);
	assert_int_equal(json_dump_file(root, state_path("contracts.json"), 0), 0);
	json_decref(root);
	start();
	assert_int_equal(vgpu("a")->contract.terms.initial_cap_pct, 75);
	assert_false(state_file_exists("contracts.json.old"));
}

TEST(unreadable_contracts_in_the_database_are_ignored)
{
	run_steal_and_hold();
	change_database("UPDATE contracts SET json = '{}', revision = revision + 1");
	start();
	expect_state_preserved();
	assert_false(state_file_exists("contracts.json.old"));
}

TEST(a_dry_run_uses_the_database_and_writes_no_file)
{
	run_steal_and_hold();
	delete_contracts_file();
	start_dry_run();
	expect_state_preserved();
	tick(2);
	stop_daemon();
	assert_false(state_file_exists("contracts.json"));
	write_contracts("corrupt");
	start_dry_run();
	expect_state_preserved();
	stop_daemon();
	assert_false(state_file_exists("contracts.json.old"));
}

TEST(a_restore_uses_the_database_if_the_file_is_missing)
{
	run_steal_and_hold();
	delete_contracts_file();
	assert_int_equal(manager_restore(&config, &err), 0);
	assert_int_equal(device("a")->cap_pct, 80);
	assert_int_equal(device("b")->cap_pct, 50);
}

/* --- contracts file and database lost --- */

static void run_and_delete_file_and_database(void)
{
	run_steal_and_hold();
	delete_contracts_file();
	delete_database();
}

TEST(without_file_and_database_adopted_vgpus_are_held_at_their_caps)
{
	run_and_delete_file_and_database();
	start();
	device("a")->demand = 0.01; /* vGPU a is on hold, so it is not a donor */
	device("b")->demand = BUSY;
	tick(20);
	wait_for_saves();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(device("a")->cap_pct, 65);
		assert_int_equal(device("b")->cap_pct, 35);
		assert_true(vgpu("a")->found && vgpu("b")->found);
		assert_true(vgpu("a")->contract.held && vgpu("b")->contract.held);
		assert_int_equal(vgpu("a")->contract.held_cap_pct, 65);
		assert_int_equal(count_decisions("foreign_write", NULL), 0);
		restart();
		tick(20);
	}
}

TEST(without_file_and_database_a_restored_cap_is_not_lowered_again)
{
	run_steal_and_hold();
	assert_int_equal(manager_restore(&config, &err), 0);
	delete_contracts_file();
	delete_database();
	start();
	tick(5);
	assert_int_equal(device("a")->cap_pct, 80);
	assert_int_equal(device("b")->cap_pct, 50);
}

TEST(without_file_and_database_a_vgpu_new_to_the_journal_is_not_held)
{
	run_and_delete_file_and_database();
	*device("c") = (struct gpu_vgpu){.exists = true, .cap_pct = 10};
	start();
	tick(1);
	assert_true(vgpu("a")->contract.held);
	assert_true(vgpu("c")->found);
	assert_false(vgpu("c")->contract.held);
	assert_int_equal(vgpu("c")->contract.terms.initial_cap_pct, 10);
}

TEST(a_vgpu_adopted_on_hold_can_be_sold_and_released)
{
	run_and_delete_file_and_database();
	start();
	tick(1);
	assert_int_equal(add(contract_of("a", 80)), 0);
	assert_int_equal(release("a"), 0);
	assert_int_equal(release("b"), 0);
	device("a")->demand = BUSY;
	tick(20);
	assert_true(device("a")->cap_pct > 65);
}

TEST(a_vgpu_adopted_on_hold_and_removed_is_adopted_again_without_hold)
{
	run_and_delete_file_and_database();
	fake.external_vgpus = true;
	start();
	tick(1);
	assert_true(vgpu("a")->contract.held);
	assert_int_equal(remove_vgpu("a"), 0);
	tick(1);
	assert_true(vgpu("a")->found);
	assert_false(vgpu("a")->contract.held);
}

TEST(without_file_and_database_a_restore_fails)
{
	run_and_delete_file_and_database();
	assert_int_equal(manager_restore(&config, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "contracts.json"));
	assert_int_equal(device("a")->cap_pct, 65);
}

TEST(a_first_start_reports_no_lost_files)
{
	*device("c") = (struct gpu_vgpu){.exists = true, .cap_pct = 30};
	start();
	tick(1);
	assert_false(vgpu("c")->contract.held);
	assert_int_equal(decisions_after(m->recorder.decisions, 0)->id, 1);
	stop_daemon();
	delete_contracts_file();
	delete_database();
	assert_int_equal(unlink(state_path("caps")), 0);
	assert_int_equal(manager_restore(&config, &err), 0);
}

/* --- ids --- */

/* Raises an alert, opens an offer, and returns the newest ids. */
static struct db_last_ids allocate_ids(void)
{
	for (int i = 0; i < 200 && !offers_live(m->sales.offers, "gpu0"); i++)
		tick(1);
	assert_non_null(offers_live(m->sales.offers, "gpu0"));
	device("a")->cap_pct = device("a")->cap_pct == 30 ? 29 : 30;
	tick(1);
	save_tick(&m->store);
	wait_for_saves();
	return (struct db_last_ids){
		.decision = decisions_last_id(m->recorder.decisions),
		.alert = alerts_last_id(m->recorder.alerts),
		.offer = offers_last_id(m->sales.offers),
	};
}

static void expect_ids_above(struct db_last_ids last)
{
	const struct decision *first = decisions_after(m->recorder.decisions, 0);

	assert_true(first->id > last.decision);
	assert_true(alerts_at(m->recorder.alerts, 0)->id > last.alert);
	assert_true(offers_at(m->sales.offers, 0)->id > last.offer);
}

TEST(ids_of_a_lost_history_are_not_reused)
{
	struct db_last_ids last;

	start();
	sell("a", 50, 0);
	last = allocate_ids();
	assert_true(last.decision > 1 && last.alert >= 1 && last.offer >= 1);
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			stop_by_sigterm();
		else
			stop_daemon(); /* without a last save, as after a crash */
		delete_database();
		start();
		assert_int_equal(release("a"), 0);
		(void)allocate_ids();
		expect_ids_above(last);
		last = allocate_ids();
	}
}

TEST(ids_have_no_gap_after_an_orderly_stop)
{
	int64_t last;

	start();
	sell("a", 50, 0);
	last = decisions_last_id(m->recorder.decisions);
	stop_by_sigterm();
	for (int i = 0; i < 2; i++) {
		start();
		/* Each start records one adopt decision. */
		assert_int_equal(decisions_last_id(m->recorder.decisions), last + 1);
		last++;
		stop_by_sigterm();
	}
	delete_database();
	start();
	assert_int_equal(decisions_after(m->recorder.decisions, 0)->id, last + 1);
}

TEST(ids_missing_from_an_older_database_are_not_reused)
{
	int64_t last;

	start();
	sell("a", 50, 0);
	stop_by_sigterm();
	start();
	for (int i = 0; i < 20; i++)
		assert_int_equal(hold("a", 20 + i), 0);
	last = decisions_last_id(m->recorder.decisions);
	stop_by_sigterm();
	/* Simulate a database restored from an older backup. */
	change_database("DELETE FROM decision WHERE id > 3");
	start();
	assert_int_equal(decisions_last_id(m->recorder.decisions), last + 1);
	assert_int_equal(decisions_after(m->recorder.decisions, 3)->id, last + 1);
}

/* --- shutdown --- */

TEST(a_failed_save_is_retried_at_shutdown)
{
	CLEANUP_FREE char *text = NULL;

	start();
	sell("a", 50, 0);
	assert_int_equal(mkdir(state_path("contracts.json.new"), 0700), 0);
	device("a")->cap_pct = 33;
	tick(1);
	wait_for_saves();
	assert_true(m->store.result < 0);
	assert_int_equal(rmdir(state_path("contracts.json.new")), 0);
	stop_by_sigterm();
	text = read_state("contracts.json");
	assert_non_null(strstr(text, "\"held_cap_pct\": 33"));
}

/* --- a history database that cannot be opened --- */

/* A database of another program makes every open fail. */
static void start_with_broken_history(void)
{
	assert_int_equal(file_make_parents(state_path("history.db")), 0);
	change_database("PRAGMA application_id = 1");
	start();
	assert_null(m->recorder.history.db);
	tick(1);
	assert_non_null(find_active_alert(ALERT_HISTORY_FAILING, ""));
}

static void retry_after_a_minute(void)
{
	now.mono_ns += 60 * NS_PER_S;
	history_retry_open(&m->recorder.history, &m->store.settings.config.retention, m->queries,
			   now);
}

static void wait_for_open(void)
{
	while (m->recorder.history.opening)
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

TEST(a_slow_database_open_does_not_block_ticks)
{
	start_with_broken_history();
	delete_database();
	atomic_store(&blocking.may_finish, false);
	for (int i = 0; i < WORKER_THREADS_MAX; i++) {
		blocking.jobs[i] =
			(struct worker_job){.run = run_blocking, .done = finish_blocking};
		assert_int_equal(worker_submit(m->queries, &blocking.jobs[i]), 0);
	}
	retry_after_a_minute();
	assert_true(m->recorder.history.opening);
	tick(5);
	retry_after_a_minute(); /* no second open starts while the first one runs */
	assert_null(m->recorder.history.db);
	atomic_store(&blocking.may_finish, true);
	wait_for_open();
	assert_true(blocking.done > 0);
	assert_non_null(m->recorder.history.db);
	tick(5);
	assert_null(find_active_alert(ALERT_HISTORY_FAILING, ""));
}

TEST(a_failed_open_is_retried_after_a_delay)
{
	start_with_broken_history();
	m->recorder.history.error[0] = '\0';
	/* The first retry needs no delay. */
	history_retry_open(&m->recorder.history, &m->store.settings.config.retention, m->queries,
			   now);
	assert_true(m->recorder.history.opening);
	wait_for_open();
	assert_null(m->recorder.history.db);
	assert_non_null(strstr(m->recorder.history.error, "history.db"));
	history_retry_open(&m->recorder.history, &m->store.settings.config.retention, m->queries,
			   now);
	assert_false(m->recorder.history.opening);
	delete_database();
	retry_after_a_minute();
	wait_for_open();
	assert_non_null(m->recorder.history.db);
	retry_after_a_minute();
	assert_false(m->recorder.history.opening);
}

TEST(a_stop_during_the_open_closes_the_database)
{
	start_with_broken_history();
	delete_database();
	retry_after_a_minute();
	assert_true(m->recorder.history.opening);
	stop_daemon(); /* stop_daemon() waits until the database is open, and closes it */
	assert_true(state_file_exists("history.db"));
}

static int count_stored_decisions(void)
{
	sqlite3 *file;
	sqlite3_stmt *count;
	int n;

	assert_int_equal(sqlite3_open(state_path("history.db"), &file), SQLITE_OK);
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
	db_flush(m->recorder.history.db);
	n = count_stored_decisions();
	assert_true(n > 0);
	now.wall_ms = clock_now().wall_ms + 800 * INT64_C(86400000);
	now.boot_ns = clock_now().boot_ns;
	for (int minute = 0; minute < 5; minute++) {
		tick(60);
		db_flush(m->recorder.history.db);
	}
	stop_daemon();
	assert_true(count_stored_decisions() >= n);
}
