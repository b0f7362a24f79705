/* SPDX-License-Identifier: MIT */
/* Pruning: the rows that are removed, the rows that remain, and the resolution from which a history
 * is read afterwards. */
#include "tests/unit/db/test-db.h"

static const struct db_retention short_kept = {.raw_hours = 1, .minute_days = 1, .hour_days = 3};

static int64_t oldest(const char *table)
{
	char sql[96];

	snprintf(sql, sizeof(sql), "SELECT ifnull(min(ts_ms), 0) FROM %s", table);
	return get_sql(sql);
}

/* For each minute in [from, to), appends one sample of @vgpu and one of its GPU. */
static void put_minutes(const char *vgpu, int64_t from_ms, int64_t to_ms)
{
	for (int64_t ts_ms = from_ms; ts_ms < to_ms; ts_ms += MINUTE_MS) {
		struct db_gpu_sample gpu = {.ts_ms = ts_ms, .gpu = "gpu0", .util_pct = 50};

		put_clock(ts_ms);
		assert_int_equal(db_append_samples(db, &gpu, NULL, 0), 0);
		put_sample(ts_ms, vgpu);
		if (ts_ms % HOUR_MS == 0)
			db_flush(db);
	}
	db_flush(db);
}

FIXTURE(make_folder, end)

TEST(test_each_resolution_is_pruned_at_its_own_age)
{
	int64_t end_ms = START_MS + 5 * DAY_MS;

	open_db(&short_kept);
	put_minutes("vm1", START_MS, end_ms);
	close_db();
	/* Samples are pruned every minute, other rows when an hour begins. */
	assert_int_equal(oldest("sample"), end_ms - MINUTE_MS - HOUR_MS);
	assert_int_equal(oldest("gpu_sample"), end_ms - MINUTE_MS - HOUR_MS);
	assert_int_equal(oldest("sample_minute"), end_ms - HOUR_MS - DAY_MS);
	assert_int_equal(oldest("sample_hour"), end_ms - HOUR_MS - 3 * DAY_MS);
	assert_int_equal(get_sql("SELECT count(*) FROM sample_hour WHERE samples <> 60"), 0);
}

TEST(test_without_a_limit_nothing_is_pruned)
{
	open_db(&keep_all);
	put_minutes("vm1", START_MS, START_MS + 90 * MINUTE_MS);
	put_minutes("vm1", START_MS + 4000 * DAY_MS, START_MS + 4000 * DAY_MS + 90 * MINUTE_MS);
	close_db();
	assert_int_equal(oldest("sample"), START_MS);
	assert_int_equal(oldest("sample_minute"), START_MS);
	assert_int_equal(oldest("sample_hour"), START_MS);
}

TEST(test_after_a_long_downtime_old_rows_are_pruned_gradually)
{
	int64_t later_ms = START_MS + 2 * DAY_MS;

	open_db(&short_kept);
	put_minutes("vm1", START_MS, START_MS + HOUR_MS);
	put_minutes("vm1", later_ms, later_ms + MINUTE_MS);
	assert_int_equal(oldest("sample"), START_MS + 10 * MINUTE_MS);
	put_minutes("vm1", later_ms + MINUTE_MS, later_ms + 4 * MINUTE_MS);
	assert_int_equal(oldest("sample"), START_MS + 40 * MINUTE_MS);
	put_minutes("vm1", later_ms + 4 * MINUTE_MS, later_ms + 20 * MINUTE_MS);
	assert_int_equal(oldest("sample"), later_ms);
	close_db();
	/* No row was pruned before it was rolled up. */
	assert_int_equal(get_sql("SELECT sum(samples) FROM sample_hour"), 60);
}

static int add_samples(void *userdata, const struct db_point *point)
{
	*(int64_t *)userdata += point->samples;
	return 0;
}

static int64_t count_history(const char *vgpu, int64_t from_ms, int64_t to_ms, int step_s)
{
	int64_t n = 0;
	int r;

	open_reader();
	r = db_query_history(reader, vgpu, from_ms, to_ms, step_s, 100000, add_samples, &n);
	close_reader();
	return r < 0 ? r : n;
}

TEST(test_a_history_reads_a_resolution_that_covers_the_range)
{
	const struct db_retention raw_longest = {.raw_hours = 96, .minute_days = 2, .hour_days = 1};
	int64_t end_ms = START_MS + 4 * DAY_MS;

	open_db(&raw_longest);
	put_minutes("vm1", START_MS, end_ms);
	close_db();
	/* Hours are kept for one day, minutes for two days, samples for four days. */
	for (int days = 1; days <= 4; days++)
		assert_int_equal(count_history("vm1", end_ms - days * DAY_MS, end_ms, 3600),
				 days * 1440);
	/* The last 12 hours are read from the roll-up of hours, so the samples are not needed. */
	run_sql("DELETE FROM sample WHERE ts_ms < (SELECT max(ts_ms) FROM sample)");
	assert_int_equal(count_history("vm1", end_ms - 12 * HOUR_MS, end_ms, 3600), 720);
	/* A range that begins before all rows is read from the table with the oldest row. */
	assert_int_equal(count_history("vm1", START_MS - DAY_MS, end_ms, 3600), 1);
}

TEST(test_a_vgpu_is_removed_with_its_last_row)
{
	int64_t later_ms = START_MS + 3 * DAY_MS + 2 * HOUR_MS;

	open_db(&short_kept);
	put_minutes("gone", START_MS, START_MS + HOUR_MS);
	put_minutes("vm1", START_MS + HOUR_MS, later_ms - 2 * HOUR_MS);
	assert_int_equal(count_history("gone", START_MS, later_ms, 3600), 60);
	put_minutes("vm1", later_ms - 2 * HOUR_MS, later_ms);
	assert_int_equal(count_history("gone", START_MS, later_ms, 3600), -ENOENT);
	assert_int_equal(get_sql("SELECT count(*) FROM vgpu"), 1);
	/* a pruned vGPU can be added again */
	put_minutes("gone", later_ms, later_ms + 5 * MINUTE_MS);
	assert_int_equal(count_history("gone", START_MS, later_ms + HOUR_MS, 3600), 5);
	close_db();
	assert_int_equal(get_sql("SELECT count(*) FROM vgpu"), 2);
}

TEST(test_a_vgpu_is_kept_as_long_as_a_resolution_has_it)
{
	const struct db_retention minutes_longest = {
		.raw_hours = 1, .minute_days = 3, .hour_days = 1};

	open_db(&minutes_longest);
	put_minutes("gone", START_MS, START_MS + HOUR_MS);
	put_minutes("vm1", START_MS + HOUR_MS, START_MS + 2 * DAY_MS);
	close_db();
	assert_int_equal(count_history("gone", START_MS, START_MS + DAY_MS, 60), 60);
}

static void put_events(void)
{
	for (int i = 1; i <= 5; i++) {
		struct db_decision decision = {.id = i, .ts_ms = START_MS};
		struct db_cap_write cap_write = {.ts_ms = START_MS, .vgpu = "vm1"};
		struct db_alert alert = {.id = i, .raised_ms = START_MS};
		struct db_offer offer = {.id = i, .changed_ms = START_MS};
		struct db_silence silence = {.id = i, .until_ms = START_MS};

		silence.until_ms += i == 2 ? 300 * DAY_MS : 0;
		assert_int_equal(db_append_silence(db, &silence), 0);
		alert.cleared_ms = i == 2 ? 0 : START_MS;
		strcpy(offer.state, i == 2 ? "failed" : i == 3 ? "probation" : "kept");
		assert_int_equal(db_append_decision(db, &decision), 0);
		assert_int_equal(db_append_cap_write(db, &cap_write), 0);
		assert_int_equal(db_append_alert(db, &alert), 0);
		assert_int_equal(db_append_offer(db, &offer), 0);
	}
}

TEST(test_open_events_and_the_largest_id_stay)
{
	int64_t later_ms = START_MS + 2 * DAY_MS;
	struct db_last_ids ids;

	open_db(&short_kept);
	put_events();
	/* the earlier rows are now older than a day */
	put_minutes("vm1", later_ms, later_ms + 2 * MINUTE_MS);
	assert_int_equal(get_sql("SELECT count(*) FROM decision"), 1);
	assert_int_equal(get_sql("SELECT count(*) FROM cap_write"), 0);
	assert_int_equal(get_sql("SELECT count(*) FROM alert"), 5);
	assert_int_equal(get_sql("SELECT count(*) FROM offer"), 5);
	later_ms += 2 * DAY_MS;
	/* the earlier rows are now older than three days */
	put_minutes("vm1", later_ms, later_ms + 2 * MINUTE_MS);
	close_db();
	assert_int_equal(get_sql("SELECT sum(id * id) FROM alert"), 2 * 2 + 5 * 5);
	assert_int_equal(get_sql("SELECT sum(id * id) FROM offer"), 2 * 2 + 3 * 3 + 5 * 5);
	assert_int_equal(get_sql("SELECT sum(id * id) FROM silence"), 2 * 2 + 5 * 5);
	open_reader();
	assert_int_equal(db_query_last_ids(reader, &ids), 0);
	assert_int_equal(ids.decision, 5);
	assert_int_equal(ids.alert, 5);
	assert_int_equal(ids.offer, 5);
}

TEST(test_old_rows_of_an_idle_gpu_are_pruned_too)
{
	open_db(&short_kept);
	put_minutes("vm1", START_MS, START_MS + 5 * MINUTE_MS);
	for (int i = 5; i < 200; i++) {
		struct db_gpu_sample gpu = {.ts_ms = START_MS + i * MINUTE_MS, .gpu = "gpu0"};

		put_clock(gpu.ts_ms);
		assert_int_equal(db_append_samples(db, &gpu, NULL, 0), 0);
		db_commit(db);
	}
	close_db();
	assert_int_equal(get_sql("SELECT count(*) FROM sample"), 0);
	assert_int_equal(count_history("vm1", START_MS, START_MS + DAY_MS, 60), 5);
}

/* --- a clock that jumps --- */

/* Appends a sample in each minute of [from, to), as a program does whose wall clock was set to
 * @from. */
static void run_from(int64_t *boot_ms, int64_t from_ms, int64_t to_ms)
{
	for (int64_t ms = from_ms; ms < to_ms; ms += MINUTE_MS, *boot_ms += MINUTE_MS) {
		struct db_sample sample = make_sample(ms, "vm1");

		sample.sample.util = ms % HOUR_MS == 0 ? NAN : 0.75;
		assert_int_equal(db_append_clock(db, ms, (uint64_t)*boot_ms * NS_PER_MS), 0);
		assert_int_equal(db_append_samples(db, NULL, &sample, 1), 0);
		db_commit(db);
		if (ms % HOUR_MS < MINUTE_MS)
			db_flush(db);
	}
	db_flush(db);
}

TEST(test_a_clock_that_jumps_ahead_prunes_nothing)
{
	int64_t end_ms = START_MS + HOUR_MS / 2, boot_ms = START_MS;

	open_db(&short_kept);
	run_from(&boot_ms, START_MS, end_ms);
	run_from(&boot_ms, end_ms + 800 * DAY_MS, end_ms + 800 * DAY_MS + 5 * MINUTE_MS);
	run_from(&boot_ms, end_ms + 5 * MINUTE_MS, end_ms + 10 * MINUTE_MS);
	assert_int_equal(oldest("sample"), START_MS);
	assert_true(get_sql("SELECT raw_from_ms FROM progress") < START_MS);
	for (int step_s = 1; step_s <= 3600; step_s *= 60)
		assert_int_equal(count_history("vm1", START_MS, START_MS + HOUR_MS, step_s), 35);
	/* the rows of the wrong time can be read too */
	assert_int_equal(count_history("vm1", end_ms + 800 * DAY_MS, end_ms + 801 * DAY_MS, 3600),
			 5);
}

TEST(test_a_new_file_does_not_trust_a_jump)
{
	int64_t begin_ms = START_MS + MINUTE_MS, boot_ms = START_MS;

	open_db(&short_kept);
	run_from(&boot_ms, START_MS, begin_ms);
	assert_int_equal(unlink(path), 0);
	put_sample(begin_ms, "vm1"); /* the first row of the new file */
	db_flush(db);
	run_from(&boot_ms, begin_ms + 800 * DAY_MS, begin_ms + 800 * DAY_MS + 5 * MINUTE_MS);
	assert_int_equal(oldest("sample"), begin_ms);
}

static const struct {
	const char *name;
	int64_t back_ms; /* how far the clock is set back */
} steps_back[] = {
	{"within the samples", 30 * MINUTE_MS}, {"at the first samples", 60 * MINUTE_MS},
	{"before the samples", 5 * HOUR_MS},	{"at the first minutes", DAY_MS},
	{"before the minutes", 2 * DAY_MS},
};

#define WRONG_SUMS                                                                            \
	"cap_sum <> 40 * samples OR util_sum <> 75 * util_n OR covered_s <> samples"          \
	" OR ifnull(util_max, -1) <> iif(util_n > 0, 75, -1) OR fps_min <> 58.5 OR util_n > " \
	"samples"

TEST(test_a_clock_set_back_to_pruned_rows_loses_and_duplicates_nothing)
{
	for (size_t i = 0; i < ARRAY_SIZE(steps_back); i++) {
		int64_t end_ms = START_MS + 5 * DAY_MS / 2 + 7 * MINUTE_MS, boot_ms = START_MS;
		int64_t back_ms = end_ms - steps_back[i].back_ms + 500;
		int n = 5 * DAY_MS / 2 / MINUTE_MS + 7;

		open_db(&short_kept);
		print_message("# %s\n", steps_back[i].name);
		run_from(&boot_ms, START_MS, end_ms);
		for (int round = 1; round <= 3; round++) {
			run_from(&boot_ms, back_ms + round * (MINUTE_MS + 1),
				 back_ms + 90 * MINUTE_MS);
			n += 90 - round;
			assert_int_equal(count_history("vm1", START_MS, end_ms + DAY_MS, 3600), n);
		}
		run_from(&boot_ms, end_ms + 2 * HOUR_MS, end_ms + 3 * HOUR_MS);
		assert_int_equal(count_history("vm1", START_MS, end_ms + DAY_MS, 3600), n + 60);
		close_db();
		assert_int_equal(get_sql("SELECT count(*) FROM sample_hour WHERE " WRONG_SUMS), 0);
		assert_int_equal(get_sql("SELECT count(*) FROM sample_minute WHERE " WRONG_SUMS),
				 0);
		assert_int_equal(temp_folder_remove(), 0);
		assert_int_equal(mkdir(temp_folder, 0700), 0);
	}
}

TEST(test_horizons_of_a_wrong_clock_do_not_stay)
{
	int64_t boot_ms = START_MS;

	open_db(&short_kept);
	run_from(&boot_ms, START_MS, START_MS + 30 * MINUTE_MS);
	close_db();
	run_sql("UPDATE progress SET raw_from_ms = 4102444800000, minute_from_ms = 4102444800000");
	open_db(&short_kept);
	run_from(&boot_ms, START_MS + 30 * MINUTE_MS, START_MS + 40 * MINUTE_MS);
	close_db();
	assert_in_range(get_sql("SELECT raw_from_ms FROM progress"), START_MS + 29 * MINUTE_MS,
			START_MS + 40 * MINUTE_MS);
}

static struct db_sample first_row, last_row;
static int n_rows;

static int keep_row(void *userdata, const void *data)
{
	const struct db_sample *row = data;

	(void)userdata;
	if (n_rows++ == 0)
		first_row = *row;
	last_row = *row;
	return 0;
}

TEST(test_samples_of_a_gpu_report_since_when_they_are_kept)
{
	int64_t kept_from_ms = -1, end_ms = START_MS + 3 * HOUR_MS;

	open_db(&short_kept);
	for (int i = 0; i < 3 * 60; i++) {
		struct db_sample other = make_sample(START_MS + i * MINUTE_MS, "vm3");

		put_clock(other.ts_ms);
		put_sample(START_MS + i * MINUTE_MS, "vm1");
		put_sample(START_MS + i * MINUTE_MS, "vm2");
		strcpy(other.gpu, "gpu1");
		assert_int_equal(db_append_samples(db, NULL, &other, 1), 0);
	}
	close_db();
	open_reader();
	n_rows = 0;
	assert_int_equal(
		db_query_samples(reader, "gpu0", START_MS, end_ms, keep_row, NULL, &kept_from_ms),
		0);
	assert_true(kept_from_ms > START_MS + HOUR_MS && kept_from_ms < end_ms);
	assert_true(first_row.ts_ms >= kept_from_ms);
	assert_string_equal(first_row.vgpu, "vm1");
	assert_int_equal(first_row.cap_pct, 40);
	assert_true(first_row.sample.util > 0.74 && first_row.sample.util < 0.76);
	assert_int_equal(last_row.ts_ms, end_ms - MINUTE_MS);
	assert_string_equal(last_row.vgpu, "vm2");
	assert_int_equal(n_rows, 2 * ((end_ms - first_row.ts_ms) / MINUTE_MS));
	assert_int_equal(
		db_query_samples(reader, "gpu0", end_ms, end_ms, keep_row, NULL, &kept_from_ms),
		-EINVAL);
}
