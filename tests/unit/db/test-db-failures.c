/* SPDX-License-Identifier: MIT */
/* The writer survives locks, full disks and removed files. Lost records are counted. */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "tests/unit/db/test-db.h"

/* --- a lock held by another program --- */

static sqlite3 *hold_lock(void)
{
	sqlite3 *other;

	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	sqlite3_busy_timeout(other, 5000);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	return other;
}

static void release_lock(sqlite3 *other)
{
	assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
}

FIXTURE(begin, end)

TEST(test_while_another_program_writes_records_wait)
{
	sqlite3 *other = hold_lock();

	put_decision(START_MS);
	for (int i = 0; i < DEADLINE_POLLS && stats_of().last_error != SQLITE_BUSY; i++)
		pause_ms(10);
	assert_int_equal(stats_of().last_error, SQLITE_BUSY);
	assert_true(stats_of().last_message[0] != '\0');
	assert_int_equal(stats_of().queued, 1);
	assert_int_equal(stats_of().errors, 0);
	release_lock(other);
	db_flush(db);
	assert_int_equal(stats_of().written, 1);
	assert_int_equal(stats_of().last_error, 0);
}

TEST(test_a_full_queue_drops_and_counts)
{
	sqlite3 *other = hold_lock();
	uint64_t accepted = 0, refused = 0;
	struct db_stats stats;

	while (refused < 10) {
		struct db_sample sample = make_sample(START_MS + (int64_t)accepted, "vm1");
		int r = db_append_sample(db, &sample);

		assert_true(r == 0 || r == -ENOSPC);
		accepted += r == 0;
		refused += r < 0;
		db_commit(db);
	}
	assert_true(accepted >= 16000);
	stats = stats_of();
	assert_int_equal(stats.dropped, 10);
	assert_int_equal(stats.queued, accepted);
	release_lock(other);
	db_flush(db);
	stats = stats_of();
	assert_int_equal(stats.appended, accepted + 10);
	assert_int_equal(stats.written, accepted);
	put_sample(START_MS + DAY_MS, "vm1"); /* fits again */
	close_db();
	assert_int_equal(get_sql("SELECT count(*) FROM sample"), (int64_t)accepted + 1);
}

static int thread_count(void)
{
	int64_t n = 0;
	FILE *file = fopen("/proc/self/status", "r");
	char line[128];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, "Threads:", 8) == 0)
			n = atoi(line + 8);
	fclose(file);
	return (int)n;
}

TEST_WITH(test_close_waits_a_limited_time_for_a_lock, make_folder, end)
{
	int before = thread_count();
	sqlite3 *other;

	open_db(&keep_all);
	other = hold_lock();
	put_sample(START_MS, "vm1");
	db = db_close_within(db, NS_PER_S / 2);
	assert_null(db);
	assert_int_equal(thread_count(), before); /* the record is lost and the thread has ended */
	release_lock(other);
	assert_int_equal(get_sql("SELECT count(*) FROM sample"), 0);
}

/* --- transactions that fail --- */

static atomic_int commit_mode; /* result of the next commits */
enum { COMMIT_WORKS, COMMIT_FAILS, COMMIT_HANGS };

static int on_commit(void *userdata)
{
	(void)userdata;
	while (atomic_load(&commit_mode) == COMMIT_HANGS)
		pause_ms(5);
	return atomic_load(&commit_mode) == COMMIT_FAILS;
}

static int hook_commits(sqlite3 *opened, const char **message, const void *api)
{
	(void)message;
	(void)api;
	(void)sqlite3_commit_hook(opened, on_commit, NULL);
	return SQLITE_OK;
}

/* Opens a database whose commits depend on commit_mode. */
static void open_hooked(void)
{
	atomic_store(&commit_mode, COMMIT_WORKS);
	assert_int_equal(sqlite3_auto_extension((void (*)(void))hook_commits), SQLITE_OK);
	open_db(&keep_all);
	sqlite3_reset_auto_extension();
}

TEST_WITH(test_a_failed_transaction_loses_only_its_records, make_folder, end)
{
	struct db_stats stats;

	open_hooked();
	put_sample(START_MS, "vm1");
	put_sample(START_MS + 1000, "vm1");
	db_flush(db);
	atomic_store(&commit_mode, COMMIT_FAILS);
	/* the transaction that fails would also add a minute and the name vm2 */
	put_sample(START_MS + MINUTE_MS, "vm2");
	db_flush(db);
	stats = stats_of();
	assert_int_equal(stats.errors, 1);
	assert_int_equal(stats.dropped, 1);
	assert_int_equal(stats.last_error, SQLITE_CONSTRAINT);
	assert_true(stats.last_message[0] != '\0');
	atomic_store(&commit_mode, COMMIT_WORKS);
	put_sample(START_MS + MINUTE_MS + 1000, "vm2");
	db_flush(db);
	assert_int_equal(stats_of().last_error, 0);
	assert_int_equal(stats_of().written, 3);
	close_db();
	assert_int_equal(get_sql("SELECT count(*) FROM sample"), 3);
	/* The next transaction has stored the minute and the name. */
	assert_int_equal(get_sql("SELECT samples FROM sample_minute"), 2);
	assert_int_equal(get_sql("SELECT count(*) FROM sample, vgpu ON vgpu = num"
				 " WHERE id = 'vm2'"),
			 1);
}

TEST_WITH(test_close_waits_a_limited_time_for_a_disk, make_folder, end)
{
	int before;

	open_hooked();
	before = thread_count();
	atomic_store(&commit_mode, COMMIT_HANGS);
	put_sample(START_MS, "vm1");
	db = db_close_within(db, NS_PER_S / 2);
	assert_null(db);
	assert_int_equal(thread_count(), before); /* the writer thread is still blocked */
	atomic_store(&commit_mode, COMMIT_WORKS);
	for (int i = 0; i < DEADLINE_POLLS && thread_count() == before; i++)
		pause_ms(10);
	assert_int_equal(thread_count(), before - 1);
	assert_int_equal(get_sql("SELECT count(*) FROM sample"), 1);
}

/* Appends ticks of 64 samples, from *ts_ms on, until @until returns true for the statistics. */
static void put_ticks(int64_t *ts_ms, bool (*until)(const struct db_stats *stats))
{
	struct db_stats stats;

	for (int i = 0; i < 20000; i++) {
		for (int j = 0; j < 64; j++) {
			struct db_sample sample = make_sample(*ts_ms, "");

			snprintf(sample.vgpu, sizeof(sample.vgpu), "vm%d", j);
			assert_int_equal(db_append_sample(db, &sample), 0);
		}
		db_commit(db);
		db_flush(db);
		*ts_ms += 1000;
		stats = stats_of();
		if (until(&stats))
			return;
	}
	fail_msg("the condition was never true");
}

static bool has_dropped(const struct db_stats *stats)
{
	return stats->dropped > 0;
}

static bool has_written(const struct db_stats *stats)
{
	return stats->last_error == 0;
}

static void check_newest_is_readable(int64_t ts_ms)
{
	char sql[96];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM sample WHERE ts_ms = %lld",
		 (long long)ts_ms - 1000);
	assert_int_equal(get_sql(sql), 64);
	assert_int_equal(get_sql("SELECT count(*) FROM pragma_integrity_check"
				 " WHERE integrity_check = 'ok'"),
			 1);
}

TEST_WITH(test_a_full_disk_is_reported_and_survived, make_folder, end)
{
	int64_t ts_ms = START_MS;
	struct db_stats stats;
	char filler[96];

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", temp_folder, "tmpfs", 0, "size=2m") < 0) {
		print_message("# only root can mount a small file system\n");
		skip();
	}
	snprintf(filler, sizeof(filler), "%s/filler", temp_folder);
	FILE *file = fopen(filler, "w");

	assert_non_null(file);
	assert_int_equal(ftruncate(fileno(file), 0), 0);
	assert_int_equal(posix_fallocate(fileno(file), 0, 1 << 20), 0);
	assert_int_equal(fclose(file), 0);
	open_db(&keep_all);
	put_ticks(&ts_ms, has_dropped);
	stats = stats_of();
	assert_int_equal(stats.last_error, SQLITE_FULL);
	assert_true(stats.errors >= 1);
	assert_non_null(strstr(stats.last_message, "full"));
	assert_int_equal(unlink(filler), 0);
	put_ticks(&ts_ms, has_written);
	check_newest_is_readable(ts_ms);
	close_db();
	check_newest_is_readable(ts_ms);
	assert_int_equal(umount(temp_folder), 0);
}

TEST(test_a_file_size_limit_does_not_end_the_program)
{
	struct rlimit before, small;
	int64_t ts_ms = START_MS;
	struct db_stats stats;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 200000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	/* the signal SIGXFSZ must not end this program */
	put_ticks(&ts_ms, has_dropped);
	stats = stats_of();
	assert_int_equal(stats.last_error, SQLITE_IOERR);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	put_ticks(&ts_ms, has_written);
	check_newest_is_readable(ts_ms);
	close_db();
	check_newest_is_readable(ts_ms);
}

/* --- a file that goes away --- */

static void lose_nothing(void)
{
}

static void lose_file(void)
{
	assert_int_equal(unlink(path), 0);
}

static void lose_all_files(void)
{
	char name[96];

	lose_file();
	snprintf(name, sizeof(name), "%s-wal", path);
	assert_int_equal(unlink(name), 0);
	snprintf(name, sizeof(name), "%s-shm", path);
	assert_int_equal(unlink(name), 0);
}

static void lose_by_rename(void)
{
	char name[96];

	snprintf(name, sizeof(name), "%s.old", path);
	assert_int_equal(rename(path, name), 0);
}

static void lose_by_truncation(void)
{
	assert_int_equal(truncate(path, 0), 0);
	lose_all_files();
}

static const struct loss {
	const char *name;
	void (*lose)(void);
	int kept;
} losses[] = {
	{"nothing", lose_nothing, 2},
	{"the file", lose_file, 1},
	{"the file, WAL and index", lose_all_files, 1},
	{"renamed", lose_by_rename, 1},
	{"truncated and deleted", lose_by_truncation, 1},
};

TEST_WITH(test_a_deleted_history_is_created_again, make_folder, end)
{
	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		open_db(&keep_all);
		print_message("# %s\n", losses[i].name);
		put_sample(START_MS, "vm1");
		db_flush(db);
		open_reader();
		assert_int_equal(count_samples(), 1);
		losses[i].lose();
		put_sample(START_MS + 1000, "vm1");
		db_flush(db);
		assert_int_equal(stats_of().written, 2);
		assert_int_equal(stats_of().dropped, 0);
		/* the reader opens the new file */
		assert_int_equal(count_samples(), losses[i].kept);
		close_reader();
		close_db();
		assert_int_equal(get_sql("SELECT count(*) FROM sample"), losses[i].kept);
		assert_int_equal(temp_folder_remove(), 0);
		assert_int_equal(mkdir(temp_folder, 0700), 0);
	}
}

TEST(test_without_its_folder_the_writer_drops_records_and_continues)
{
	struct db_stats stats;

	open_reader();
	put_sample(START_MS, "vm1");
	db_flush(db);
	assert_int_equal(temp_folder_remove(), 0);
	put_sample(START_MS + 1000, "vm1");
	db_flush(db);
	stats = stats_of();
	assert_int_equal(stats.dropped, 1);
	assert_int_equal(stats.errors, 1);
	assert_int_equal(stats.last_error, SQLITE_CANTOPEN);
	assert_non_null(strstr(stats.last_message, path));
	assert_int_equal(count_samples(), -ENOENT);
	assert_int_equal(mkdir(temp_folder, 0700), 0);
	put_sample(START_MS + 2000, "vm1");
	db_flush(db);
	assert_int_equal(stats_of().last_error, 0);
	assert_int_equal(count_samples(), 1);
}

/* --- contracts --- */

TEST(test_contracts_wait_for_a_lock_and_the_newest_is_written)
{
	sqlite3 *other = hold_lock();

	db_save_contracts(db, 1, "one");
	for (int i = 0; i < DEADLINE_POLLS && stats_of().last_error != SQLITE_BUSY; i++)
		pause_ms(10);
	assert_int_equal(stats_of().last_error, SQLITE_BUSY);
	db_save_contracts(db, 2, "two");
	release_lock(other);
	db_flush(db);
	assert_int_equal(stats_of().last_error, 0);
	assert_int_equal(stats_of().errors, 0);
	expect_contracts(2, "two");
}

TEST_WITH(test_failed_contracts_are_written_with_the_next_records, make_folder, end)
{
	open_hooked();
	atomic_store(&commit_mode, COMMIT_FAILS);
	db_save_contracts(db, 1, "one");
	db_flush(db);
	assert_int_equal(stats_of().errors, 1);
	assert_int_equal(stats_of().last_error, SQLITE_CONSTRAINT);
	assert_true(stats_of().last_message[0] != '\0');
	assert_int_equal(stats_of().dropped, 0);
	atomic_store(&commit_mode, COMMIT_WORKS);
	put_decision(START_MS);
	for (int i = 0; i < DEADLINE_POLLS && get_sql("SELECT count(*) FROM contracts") == 0; i++)
		pause_ms(10);
	expect_contracts(1, "one");
	assert_int_equal(stats_of().written, 1);
}

TEST_WITH(test_failed_contracts_are_tried_again_at_the_end, make_folder, end)
{
	open_hooked();
	atomic_store(&commit_mode, COMMIT_FAILS);
	db_save_contracts(db, 1, "one");
	db_flush(db);
	atomic_store(&commit_mode, COMMIT_WORKS);
	close_db();
	expect_contracts(1, "one");
}

TEST_WITH(test_a_new_history_gets_the_contracts_again, make_folder, end)
{
	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		open_db(&keep_all);
		print_message("# %s\n", losses[i].name);
		db_save_contracts(db, 5, "five");
		db_flush(db);
		losses[i].lose();
		put_sample(START_MS, "vm1");
		db_flush(db);
		close_db();
		expect_contracts(5, "five");
		assert_int_equal(temp_folder_remove(), 0);
		assert_int_equal(mkdir(temp_folder, 0700), 0);
	}
}
