/* SPDX-License-Identifier: MIT */
/* The writer: transactions, delays, and the rows of each record. */
#include <pthread.h>
#include <stdatomic.h>

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

		assert_int_equal(db_append_sample(db, &sample), 0);
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

	assert_int_equal(db_append_sample(db, &sample), 0);
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
		assert_int_equal(db_append_sample(db, &sample), 0);
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

		assert_int_equal(db_append_sample(db, &sample), 0);
		db_flush(db);
		assert_int_equal(stats_of().queued, 0);
		assert_int_equal(get_sql("SELECT count(*) FROM sample"), i + 1);
	}
}

TEST(test_close_writes_what_is_queued)
{
	for (int i = 0; i < 5000; i++) {
		struct db_sample sample = make_sample(START_MS + i, "vm1");

		assert_int_equal(db_append_sample(db, &sample), 0);
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

	sample.load_pct = sample.util_pct = sample.fps = sample.target_fps = sample.frame_p99_ms =
		NAN;
	sample.broken = true;
	assert_int_equal(db_append_sample(db, &sample), 0);
	assert_int_equal(db_append_gpu_sample(db, &gpu), 0);
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
	assert_int_equal(db_append_sample(db, &sample), -EINVAL);
	sample = make_sample(START_MS, "");
	assert_int_equal(db_append_sample(db, &sample), -EINVAL);
	sample = make_sample(-1, "vm1");
	assert_int_equal(db_append_sample(db, &sample), -EINVAL);
	assert_int_equal(db_append_gpu_sample(db, &gpu), -EINVAL);
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

	assert_int_equal(db_append_sample(db, &sample), 0);
	sample = make_sample(START_MS, "vm2");
	assert_int_equal(db_append_sample(db, &sample), 0);
	sample = make_sample(START_MS + 1000, "vm1");
	strcpy(sample.gpu, "gpu1");
	assert_int_equal(db_append_sample(db, &sample), 0);
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
		assert_int_equal(db_append_sample(db, &sample), 0);
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
