/* SPDX-License-Identifier: MIT */
/*
 * The writer: transactions, delays, and the rows of each record. It survives locks, full disks and
 * removed files. Lost records are counted.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "tests/unit/db/test-db.h"

static void fill_text(char *text, size_t size, char c)
{
	memset(text, c, size - 1);
	text[size - 1] = '\0';
}

/* --- batches --- */

FIXTURE(begin, end)

TEST(test_a_commit_writes_all_earlier_records)
{
	struct db_stats stats;

	for (int i = 0; i < 100; i++) {
		struct db_sample sample = make_sample(START_MS + i, "vm1");

		assert_int_equal(db_append_samples(db, NULL, &sample, 1), 0);
	}
	db_commit(db);
	for (int i = 0; i < DEADLINE_POLLS && stats_of().queued > 0; i++)
		pause_ms(10);
	stats = stats_of();
	assert_int_equal(stats.written, 100);
	assert_int_equal(stats.dropped, 0);
	assert_int_equal(stats.last_error, 0);
	assert_int_equal(get_sql("SELECT count(*) FROM sample"), 100);
}

TEST(test_without_a_commit_records_are_written_later)
{
	struct db_sample sample = make_sample(START_MS, "vm1");

	assert_int_equal(db_append_samples(db, NULL, &sample, 1), 0);
	for (int i = 0; i < DEADLINE_POLLS && stats_of().queued > 0; i++)
		pause_ms(10);
	assert_int_equal(get_sql("SELECT count(*) FROM sample"), 1);
}

/* Returns the number of transactions in the WAL, counted by their commit frames. The WAL must not
 * have been reset. */
static int count_transactions(void)
{
	uint8_t head[32], page_size[4];
	char name[96];
	FILE *wal;
	int n = 0;

	snprintf(name, sizeof(name), "%s-wal", path);
	wal = fopen(name, "r");
	assert_non_null(wal);
	if (fread(head, 1, sizeof(head), wal) < sizeof(head)) { /* nothing was written yet */
		(void)fclose(wal);
		return 0;
	}
	memcpy(page_size, head + 8, sizeof(page_size));
	while (fread(head, 1, 24, wal) == 24) {
		n += (head[4] | head[5] | head[6] | head[7]) != 0;
		(void)fseek(wal, page_size[2] << 8 | page_size[1] << 16, SEEK_CUR);
	}
	(void)fclose(wal);
	return n;
}

TEST(test_samples_of_several_ticks_share_a_transaction)
{
	int before = count_transactions();

	for (int i = 0; i < 20; i++) {
		put_sample(START_MS + 1000 * i, "vm1");
		pause_ms(10);
	}
	db_flush(db);
	assert_true(count_transactions() < before + 10);
	assert_int_equal(get_sql("SELECT count(*) FROM sample"), 20);
}

TEST(test_events_are_written_at_the_end_of_their_tick)
{
	int before = count_transactions();

	for (int i = 0; i < 3; i++) {
		struct db_decision decision = {.id = i + 1, .ts_ms = START_MS, .kind = "add"};
		struct db_sample sample = make_sample(START_MS + 1000 * i, "vm1");

		assert_int_equal(db_append_decision(db, &decision), 0);
		assert_int_equal(db_append_samples(db, NULL, &sample, 1), 0);
		db_commit(db);
		for (int j = 0; j < DEADLINE_POLLS && stats_of().queued > 0; j++)
			pause_ms(10);
		assert_int_equal(count_transactions(), before + i + 1);
		assert_int_equal(get_sql("SELECT count(*) FROM sample"), i + 1);
	}
}

TEST(test_a_flush_waits_at_most_the_given_time)
{
	sqlite3 *other;

	assert_int_equal(db_flush_within(db, 1), 0); /* empty queue */
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	put_sample(START_MS, "vm1");
	assert_int_equal(db_flush_within(db, 50), -ETIMEDOUT);
	assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
	assert_int_equal(db_flush_within(db, 30000), 0);
	assert_int_equal(get_sql("SELECT count(*) FROM sample"), 1);
}

TEST(test_flush_waits_for_the_last_record)
{
	db_flush(db); /* empty queue */
	for (int i = 0; i < 50; i++) {
		struct db_sample sample = make_sample(START_MS + i, "vm1");

		assert_int_equal(db_append_samples(db, NULL, &sample, 1), 0);
		db_flush(db);
		assert_int_equal(stats_of().queued, 0);
		assert_int_equal(get_sql("SELECT count(*) FROM sample"), i + 1);
	}
}

TEST(test_close_writes_what_is_queued)
{
	for (int i = 0; i < 5000; i++) {
		struct db_sample sample = make_sample(START_MS + i, "vm1");

		assert_int_equal(db_append_samples(db, NULL, &sample, 1), 0);
	}
	assert_null(close_db());
	assert_null(db_close(NULL));
	assert_int_equal(get_sql("SELECT count(*) FROM sample"), 5000);
}

/* --- records --- */

TEST(test_values_that_are_not_valid_are_null)
{
	struct db_sample sample = make_sample(START_MS, "vm1");
	struct db_gpu_sample gpu = {.ts_ms = START_MS,
				    .gpu = "gpu0",
				    .util_pct = NAN,
				    .load_pct = 0,
				    .sum_cap_pct = 90,
				    .sum_initial_cap_pct = 150,
				    .vgpus = 3,
				    .gap = true};

	sample.sample.busy_valid = sample.sample.fps_valid = sample.sample.p99_valid = false;
	sample.target_fps = NAN;
	sample.broken = true;
	assert_int_equal(db_append_samples(db, NULL, &sample, 1), 0);
	assert_int_equal(db_append_samples(db, &gpu, NULL, 0), 0);
	close_db();
	assert_int_equal(
		get_sql("SELECT count(*) FROM sample WHERE load_pct IS NULL AND"
			" util_pct IS NULL AND fps IS NULL AND target_fps IS NULL AND"
			" frame_p99_ms IS NULL AND dt_s = 1 AND cap_pct = 40 AND"
			" initial_cap_pct = 50 AND broken AND NOT short_of_target AND NOT gap"),
		1);
	assert_int_equal(
		get_sql("SELECT count(*) FROM gpu_sample WHERE util_pct IS NULL AND"
			" load_pct = 0 AND sum_cap_pct = 90 AND sum_initial_cap_pct = 150 AND"
			" vgpus = 3 AND gap"),
		1);
}

TEST(test_invalid_records_are_rejected)
{
	struct db_sample sample = make_sample(START_MS, "vm1");
	struct db_gpu_sample gpu = {.ts_ms = -1, .gpu = "gpu0"};
	struct db_decision decision = {.id = 1};
	char key[65], value[DB_TEXT_MAX + 1];

	memset(decision.why, 'x', sizeof(decision.why)); /* no NUL */
	assert_int_equal(db_append_decision(db, &decision), -EINVAL);
	memset(sample.vgpu, 'x', sizeof(sample.vgpu));
	assert_int_equal(db_append_samples(db, NULL, &sample, 1), -EINVAL);
	sample = make_sample(START_MS, "");
	assert_int_equal(db_append_samples(db, NULL, &sample, 1), -EINVAL);
	gpu.ts_ms = START_MS; /* a valid row beside an invalid one is not appended either */
	assert_int_equal(db_append_samples(db, &gpu, &sample, 1), -EINVAL);
	gpu.ts_ms = -1;
	sample = make_sample(-1, "vm1");
	assert_int_equal(db_append_samples(db, NULL, &sample, 1), -EINVAL);
	assert_int_equal(db_append_samples(db, &gpu, NULL, 0), -EINVAL);
	fill_text(key, sizeof(key), 'k');
	fill_text(value, sizeof(value), 'v');
	assert_int_equal(db_append_setting(db, key, "1"), -EINVAL);
	assert_int_equal(db_append_setting(db, "", "1"), -EINVAL);
	assert_int_equal(db_append_setting(db, "key", value), -EINVAL);
	key[63] = value[DB_TEXT_MAX - 1] = '\0';
	assert_int_equal(db_append_setting(db, key, value), 0);
	db_flush(db);
	assert_int_equal(stats_of().written, 1);
}

TEST(test_a_vgpu_keeps_its_number_when_it_moves)
{
	struct db_sample sample = make_sample(START_MS, "vm1");

	assert_int_equal(db_append_samples(db, NULL, &sample, 1), 0);
	sample = make_sample(START_MS, "vm2");
	assert_int_equal(db_append_samples(db, NULL, &sample, 1), 0);
	sample = make_sample(START_MS + 1000, "vm1");
	strcpy(sample.gpu, "gpu1");
	assert_int_equal(db_append_samples(db, NULL, &sample, 1), 0);
	close_db();
	assert_int_equal(get_sql("SELECT count(*) FROM vgpu"), 2);
	assert_int_equal(get_sql("SELECT count(*) FROM sample, vgpu ON vgpu = num"
				 " WHERE id = 'vm1' AND gpu = 'gpu1'"),
			 2);
}

TEST(test_a_vgpu_that_moves_back_has_its_current_gpu)
{
	static const char *const gpus[] = {"gpu0", "gpu1", "gpu0", "gpu0"};

	for (size_t i = 0; i < ARRAY_SIZE(gpus); i++) {
		struct db_sample sample = make_sample(START_MS + 1000 * (int64_t)i, "vm1");

		snprintf(sample.gpu, sizeof(sample.gpu), "%s", gpus[i]);
		assert_int_equal(db_append_samples(db, NULL, &sample, 1), 0);
	}
	db_flush(db);
	assert_int_equal(get_sql("SELECT count(*) FROM sample, vgpu ON vgpu = num"
				 " WHERE id = 'vm1' AND gpu = 'gpu0'"),
			 4);
}

/* The writer caches the numeric ids of vGPUs across transactions. */
TEST(test_changes_of_names_by_another_program_are_noticed)
{
	for (int i = 0; i < 3; i++) {
		put_sample(START_MS + 1000 * i, "vm1");
		put_sample(START_MS + 1000 * i, "vm2");
		db_flush(db);
	}
	run_sql("UPDATE vgpu SET num = num + 10; UPDATE sample SET vgpu = vgpu + 10");
	put_sample(START_MS + 3000, "vm1");
	put_sample(START_MS + 3000, "vm2");
	db_flush(db);
	run_sql("DELETE FROM vgpu WHERE id = 'vm1'");
	put_sample(START_MS + 4000, "vm1");
	put_sample(START_MS + 4000, "vm2");
	db_flush(db);
	assert_int_equal(get_sql("SELECT count(*) FROM sample, vgpu ON vgpu = num"
				 " WHERE id = 'vm2'"),
			 5);
	assert_int_equal(get_sql("SELECT count(*) FROM sample, vgpu ON vgpu = num"
				 " WHERE id = 'vm1'"),
			 1);
}

TEST(test_a_cap_write_is_stored_with_its_error)
{
	struct db_cap_write row = {.ts_ms = START_MS,
				   .vgpu = "vm1",
				   .gpu = "gpu0",
				   .cause = "steal",
				   .from_pct = 40,
				   .to_pct = 45,
				   .read_back_pct = 40,
				   .error = EIO};

	assert_int_equal(db_append_cap_write(db, &row), 0);
	/* cap writes have no id, so this is a second row */
	assert_int_equal(db_append_cap_write(db, &row), 0);
	close_db();
	assert_int_equal(
		get_sql("SELECT count(*) FROM cap_write WHERE vgpu = 'vm1' AND gpu = 'gpu0' AND"
			" cause = 'steal' AND from_pct = 40 AND to_pct = 45 AND"
			" read_back_pct = 40 AND error = 5"),
		2);
}

/* --- the audit log --- */

static uint64_t add_row(int64_t id)
{
	struct db_audit row = {.id = id, .ts_ms = START_MS, .status = 200};
	uint64_t number = 0;

	assert_int_equal(db_add_audit(db, &row, &number), 0);
	return number;
}

static void wait_written(uint64_t number)
{
	for (int i = 0; i < DEADLINE_POLLS && db_audit_written(db) < number; i++)
		pause_ms(10);
	assert_int_equal(db_audit_written(db), number);
}

TEST(test_rows_of_the_audit_log_are_reported_once_they_are_on_disk)
{
	struct db_audit row = {.id = 1, .ts_ms = -1};
	uint64_t number = 7;

	assert_int_equal(db_audit_written(db), 0);
	assert_int_equal(db_add_audit(db, &row, &number), -EINVAL);
	assert_int_equal(number, 7);
	assert_int_equal(add_row(5), 1);
	assert_int_equal(add_row(3), 2);
	assert_int_equal(add_row(5), 3); /* not written again */
	wait_written(3);
	assert_int_equal(get_sql("SELECT count(*) FROM audit"), 2);
	assert_int_equal(stats_of().dropped, 0);
}

TEST(test_rows_of_the_audit_log_outlast_a_lock)
{
	sqlite3 *other;

	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	for (int i = 0; i < 600; i++)
		assert_int_equal(add_row(1 + i), 1 + i);
	assert_int_equal(db_flush_within(db, 500), -ETIMEDOUT);
	assert_int_equal(db_audit_written(db), 0);
	assert_int_equal(stats_of().queued, 600);
	assert_int_equal(stats_of().last_error, SQLITE_BUSY);
	assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
	wait_written(600);
	assert_int_equal(get_sql("SELECT count(*) FROM audit"), 600);
	assert_int_equal(stats_of().dropped, 0);
	assert_int_equal(stats_of().queued, 0);
}

/* An error that is no lock: the table refuses rows. */
TEST(test_rows_of_the_audit_log_are_written_again_after_a_failure)
{
	run_sql("CREATE TRIGGER refuse BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no'); "
		"END");
	(void)add_row(1);
	for (int i = 0; i < DEADLINE_POLLS && stats_of().errors == 0; i++)
		pause_ms(10);
	assert_int_equal(db_audit_written(db), 0);
	assert_string_equal(stats_of().last_message, "no");
	put_decision(START_MS); /* other records are not affected */
	db_flush(db);
	assert_int_equal(get_sql("SELECT count(*) FROM decision"), 1);
	run_sql("DROP TRIGGER refuse");
	(void)add_row(2);
	wait_written(2);
	assert_int_equal(get_sql("SELECT sum(id) FROM audit"), 3);
}

TEST(test_rows_of_the_audit_log_go_to_a_new_file)
{
	sqlite3 *other;

	(void)add_row(1);
	wait_written(1);
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	(void)add_row(2);
	assert_int_equal(db_flush_within(db, 300), -ETIMEDOUT);
	assert_int_equal(unlink(path), 0);
	wait_written(2);
	sqlite3_close(other);
	assert_int_equal(get_sql("SELECT sum(id) FROM audit"), 2);
}

/* --- concurrent reading --- */

static atomic_bool reading_ends;
static atomic_int reads;

static void *read_in_a_loop(void *arg)
{
	int last = 0;

	while (!atomic_load(&reading_ends)) {
		int n = count_samples();

		if (n < last && !(n == -ENOENT && last == 0))
			return arg; /* an error, or fewer rows than before */
		last = n > 0 ? n : 0;
		atomic_fetch_add(&reads, 1);
	}
	return NULL;
}

TEST(test_readers_and_the_writer_do_not_block_each_other)
{
	pthread_t thread;
	void *wrong;
	int ticks = 0;

	open_reader();
	atomic_store(&reading_ends, false);
	atomic_store(&reads, 0);
	assert_int_equal(pthread_create(&thread, NULL, read_in_a_loop, reader), 0);
	while (ticks < 1500 || (atomic_load(&reads) < 20 && ticks < 3500)) {
		put_sample(START_MS + 1000 * ticks++, "vm1");
		db_flush(db);
		if (ticks > 1500)
			pause_ms(1); /* gives the reader CPU time */
	}
	atomic_store(&reading_ends, true);
	assert_int_equal(pthread_join(thread, &wrong), 0);
	assert_null(wrong);
	assert_true(atomic_load(&reads) >= 20);
	assert_int_equal(stats_of().dropped, 0);
	assert_int_equal(count_samples(), ticks);
}

/* The writer survives locks, full disks and removed files. Lost records are counted. */

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
		int r = db_append_samples(db, NULL, &sample, 1);

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
			assert_int_equal(db_append_samples(db, NULL, &sample, 1), 0);
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

static void lose_log(void)
{
	char name[96];

	snprintf(name, sizeof(name), "%s-wal", path);
	assert_int_equal(unlink(name), 0);
}

static void lose_index(void)
{
	char name[96];

	snprintf(name, sizeof(name), "%s-shm", path);
	assert_int_equal(unlink(name), 0);
}

static void lose_log_and_index(void)
{
	lose_log();
	lose_index();
}

static void lose_all_files(void)
{
	lose_file();
	lose_log_and_index();
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
	{"nothing", lose_nothing, 2},	{"the WAL", lose_log, 2},
	{"the index", lose_index, 2},	{"WAL and index", lose_log_and_index, 2},
	{"the file", lose_file, 1},	{"the file, WAL and index", lose_all_files, 1},
	{"renamed", lose_by_rename, 1}, {"truncated and deleted", lose_by_truncation, 1},
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
