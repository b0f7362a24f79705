/* SPDX-License-Identifier: MIT */
/* Compares histories and roll-ups with values computed directly from the samples. */
#include <sys/wait.h>

#include "tests/unit/db/test-db.h"

#define VGPUS	   3
#define TICKS	   9000 /* number of ticks: two and a half hours */
#define POINTS_MAX 20000

static struct db_sample rows[VGPUS * TICKS];
static int n_rows;

static const char *const vgpu_names[VGPUS] = {"vm1", "vm2", "vm10"};

/* --- random data --- */

static double random_value(double max)
{
	return rand() % 5 == 0 ? NAN : max * rand() / RAND_MAX;
}

static void add_random_row(int64_t ts_ms, const char *vgpu)
{
	struct db_sample *row = &rows[n_rows++];

	*row = make_sample(ts_ms, vgpu);
	row->sample.dt_s = 0.9 + 0.2 * rand() / RAND_MAX;
	row->cap_pct = 1 + rand() % 100;
	row->initial_cap_pct = 1 + rand() % 100;
	row->sample.load = random_value(1);
	row->sample.busy_valid = !isnan(row->sample.load);
	row->sample.util = random_value(1.05);
	row->sample.fps = random_value(200);
	row->sample.fps_valid = !isnan(row->sample.fps);
	row->target_fps = random_value(60);
	row->sample.frame_p99_ms = random_value(90);
	row->sample.p99_valid = !isnan(row->sample.frame_p99_ms);
	row->short_of_target = rand() % 3 == 0;
	row->broken = rand() % 4 == 0;
	row->gap = rand() % 50 == 0;
}

/* Ticks at intervals of about a second, sometimes minutes, with vGPUs that appear and disappear. */
static void make_random_rows(unsigned int seed)
{
	int64_t ts_ms = START_MS + 17 * MINUTE_MS + 345;

	srand(seed);
	n_rows = 0;
	for (int tick = 0; tick < TICKS; tick++) {
		ts_ms += 900 + rand() % 200;
		if (rand() % 1500 == 0)
			ts_ms += rand() % (20 * MINUTE_MS);
		for (int i = 0; i < VGPUS; i++) {
			if (i == 0 || (tick / 700 + i) % 3 != 0)
				add_random_row(ts_ms, vgpu_names[i]);
		}
	}
}

/* Appends rows [from, to). Rows of the same time are one tick. Returns false after an error. */
static bool write_rows(int from, int to)
{
	for (int i = from; i < to; i++) {
		if (db_append_samples(db, NULL, &rows[i], 1) < 0)
			return false;
		if (i + 1 == to || rows[i + 1].ts_ms != rows[i].ts_ms)
			db_commit(db);
		if (i % 1000 == 0)
			db_flush(db);
	}
	db_flush(db);
	return true;
}

/* Writes rows [from, to) in a process that is then killed. */
static void write_and_die(int from, int to)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		_exit(db_open(path, &keep_all, &db, NULL) < 0 || !write_rows(from, to));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Writes all rows in processes that end normally or are killed at any instant. */
static void write_in_runs(void)
{
	for (int from = 0; from < n_rows;) {
		int to = from + 1 + rand() % (n_rows / 8);

		if (to > n_rows)
			to = n_rows;
		if (rand() % 2) {
			write_and_die(from, to);
		} else {
			open_db(&keep_all);
			assert_true(write_rows(from, to));
			close_db();
		}
		from = to;
	}
}

/* --- expected values --- */

enum column {
	SAMPLES,
	GAPS,
	COVERED,
	SHORT,
	BROKEN,
	CAP,
	INITIAL_CAP,
	LOAD_N,
	LOAD,
	UTIL_N,
	UTIL,
	UTIL_MAX,
	FPS_N,
	FPS,
	FPS_MIN,
	TARGET_N,
	TARGET,
	P99_N,
	P99,
	P99_MAX,
	COLUMNS,
};

static void add_value(double *n, double *sum, double value)
{
	if (!isnan(value)) {
		*n += 1;
		*sum += value;
	}
}

/* Computes the expected roll-up of [begin, begin + size). fmin() and fmax() ignore NAN. */
static void compute(const char *vgpu, int64_t begin_ms, int64_t size_ms, double c[COLUMNS])
{
	for (int i = 0; i < COLUMNS; i++)
		c[i] = i == UTIL_MAX || i == FPS_MIN || i == P99_MAX ? NAN : 0;
	for (int i = 0; i < n_rows; i++) {
		const struct db_sample *row = &rows[i];
		const struct sample *s = &row->sample;
		double util_pct = s->busy_valid ? 100 * s->util : NAN;

		if (row->ts_ms < begin_ms || row->ts_ms >= begin_ms + size_ms ||
		    strcmp(row->vgpu, vgpu) != 0)
			continue;
		c[SAMPLES]++;
		c[GAPS] += row->gap;
		c[COVERED] += s->dt_s;
		c[SHORT] += row->short_of_target;
		c[BROKEN] += row->broken;
		c[CAP] += row->cap_pct;
		c[INITIAL_CAP] += row->initial_cap_pct;
		add_value(&c[LOAD_N], &c[LOAD], 100 * s->load);
		add_value(&c[UTIL_N], &c[UTIL], util_pct);
		add_value(&c[FPS_N], &c[FPS], s->fps);
		add_value(&c[TARGET_N], &c[TARGET], row->target_fps);
		add_value(&c[P99_N], &c[P99], s->frame_p99_ms);
		c[UTIL_MAX] = fmax(c[UTIL_MAX], util_pct);
		c[FPS_MIN] = fmin(c[FPS_MIN], s->fps);
		c[P99_MAX] = fmax(c[P99_MAX], s->frame_p99_ms);
	}
}

static bool same(double a, double b)
{
	return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * (1 + fabs(a));
}

static double mean(double sum, double n)
{
	return n > 0 ? sum / n : NAN;
}

/* --- roll-up tables --- */

/* Checks that every row of a roll-up table is correct, and that a row exists for each period that
 * ended before @open_ms. */
static void check_table(const char *table, int64_t size_ms, int64_t open_ms)
{
	int64_t expected = 0, found = 0;
	double c[COLUMNS];
	sqlite3_stmt *statement;
	sqlite3 *plain;
	char sql[128];

	for (int i = 0; i < VGPUS; i++) {
		for (int64_t begin = START_MS; begin < open_ms - open_ms % size_ms;
		     begin += size_ms) {
			compute(vgpu_names[i], begin, size_ms, c);
			expected += c[SAMPLES] > 0;
		}
	}
	snprintf(sql, sizeof(sql), "SELECT t.*, id FROM %s t, vgpu ON vgpu = num", table);
	assert_int_equal(sqlite3_open(path, &plain), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(plain, sql, -1, &statement, NULL), SQLITE_OK);
	while (sqlite3_step(statement) == SQLITE_ROW) {
		const char *id = (const char *)sqlite3_column_text(statement, 2 + COLUMNS);

		assert_non_null(id);
		compute(id, sqlite3_column_int64(statement, 1), size_ms, c);
		assert_true(c[SAMPLES] > 0);
		for (int i = 0; i < COLUMNS; i++) {
			double value = sqlite3_column_type(statement, 2 + i) == SQLITE_NULL
					       ? NAN
					       : sqlite3_column_double(statement, 2 + i);

			if (!same(c[i], value))
				fail_msg("%s of %s, column %d: %g, not %g", table, id, i, value,
					 c[i]);
		}
		found++;
	}
	sqlite3_finalize(statement);
	sqlite3_close(plain);
	assert_int_equal(found, expected);
}

static int64_t open_minute(void)
{
	int64_t ts_ms = rows[n_rows - 1].ts_ms;

	return ts_ms - ts_ms % MINUTE_MS;
}

FIXTURE(begin, end)

TEST_WITH(test_roll_ups_are_the_sums_of_the_samples, make_folder, end)
{
	for (unsigned int seed = 1; seed <= 3; seed++) {
		make_random_rows(seed);
		write_in_runs();
		assert_int_equal(get_sql("SELECT open_minute_ms FROM progress"), open_minute());
		check_table("sample_minute", MINUTE_MS, open_minute());
		check_table("sample_hour", HOUR_MS, open_minute());
		assert_int_equal(temp_folder_remove(), 0);
		assert_int_equal(mkdir(temp_folder, 0700), 0);
	}
}

TEST(test_roll_ups_follow_replaced_and_changed_samples)
{
	for (int minute = 0; minute < 4; minute++) {
		for (int i = 0; i < 10; i++)
			put_sample(START_MS + minute * MINUTE_MS + 1000 * i, "vm1");
		if (minute == 2)
			put_sample(START_MS + minute * MINUTE_MS + 5000, "vm1"); /* replaced */
		db_flush(db);
		if (minute == 1)
			run_sql("DELETE FROM sample WHERE ts_ms % 2000 = 0 AND ts_ms IN"
				" (SELECT ts_ms FROM sample ORDER BY ts_ms DESC LIMIT 10)");
	}
	put_sample(START_MS + 4 * MINUTE_MS, "vm1");
	close_db();
	for (int minute = 0; minute < 4; minute++) {
		char sql[128];

		snprintf(sql, sizeof(sql), "SELECT samples FROM sample_minute WHERE ts_ms = %lld",
			 (long long)(START_MS + minute * MINUTE_MS));
		assert_int_equal(get_sql(sql), minute == 1 ? 5 : 10);
	}
}

/* --- histories --- */

static struct db_point points[POINTS_MAX];
static int n_points;

static int keep_point(void *userdata, const struct db_point *point)
{
	(void)userdata;
	assert_true(n_points < POINTS_MAX);
	points[n_points++] = *point;
	return 0;
}

static int query(const char *vgpu, int64_t from_ms, int64_t to_ms, int step_s)
{
	n_points = 0;
	return db_query_history(reader, vgpu, from_ms, to_ms, step_s, POINTS_MAX, keep_point, NULL);
}

static void check_point(const struct db_point *point, const double c[COLUMNS])
{
	assert_int_equal(point->samples, (int64_t)c[SAMPLES]);
	assert_true(same(point->cap_pct, c[CAP] / c[SAMPLES]));
	assert_true(same(point->load_pct, mean(c[LOAD], c[LOAD_N])));
	assert_true(same(point->util_pct, mean(c[UTIL], c[UTIL_N])));
	assert_true(same(point->fps, mean(c[FPS], c[FPS_N])));
	assert_true(same(point->target_fps, mean(c[TARGET], c[TARGET_N])));
	assert_true(same(point->frame_p99_ms, mean(c[P99], c[P99_N])));
	assert_true(same(point->short_pct, 100 * c[SHORT] / c[SAMPLES]));
	assert_true(same(point->broken_pct, 100 * c[BROKEN] / c[SAMPLES]));
	assert_int_equal(point->gaps, (int64_t)c[GAPS]);
	assert_int_equal(point->load_n, (int64_t)c[LOAD_N]);
	assert_int_equal(point->util_n, (int64_t)c[UTIL_N]);
	assert_int_equal(point->fps_n, (int64_t)c[FPS_N]);
	assert_int_equal(point->target_fps_n, (int64_t)c[TARGET_N]);
	assert_int_equal(point->frame_p99_n, (int64_t)c[P99_N]);
}

/*
 * Checks that a query returns one correct point for each step that overlaps the range and has
 * samples.
 */
static void check_history(const char *vgpu, int64_t from_ms, int64_t to_ms, int step_s)
{
	int64_t step_ms = step_s * INT64_C(1000);
	int i = 0;

	assert_int_equal(query(vgpu, from_ms, to_ms, step_s), 0);
	for (int64_t begin = from_ms - from_ms % step_ms; begin < to_ms; begin += step_ms) {
		double c[COLUMNS];

		compute(vgpu, begin, step_ms, c);
		if (c[SAMPLES] == 0)
			continue;
		assert_true(i < n_points);
		assert_int_equal(points[i].ts_ms, begin);
		check_point(&points[i++], c);
	}
	assert_int_equal(i, n_points);
}

static void check_histories(int least_step_s)
{
	static const int steps_s[] = {60, 90, 120, 300, 600, 3600, 7200, 86400};
	int64_t span = rows[n_rows - 1].ts_ms - rows[0].ts_ms + HOUR_MS;

	open_reader();
	for (size_t i = 0; i < ARRAY_SIZE(steps_s); i++) {
		if (steps_s[i] % least_step_s != 0)
			continue;
		check_history("vm1", START_MS, START_MS + DAY_MS, steps_s[i]);
		for (int j = 0; j < 6; j++) {
			int64_t from = START_MS + rand() % span;

			check_history(vgpu_names[rand() % VGPUS], from, from + 1 + rand() % span,
				      steps_s[i]);
		}
	}
	close_reader();
}

TEST_WITH(test_a_history_is_the_average_of_the_samples, make_folder, end)
{
	char sql[128];

	make_random_rows(4);
	write_in_runs();
	check_histories(1);
	open_reader();
	check_history("vm1", START_MS + HOUR_MS, START_MS + HOUR_MS + 7 * MINUTE_MS, 1);
	check_history("vm2", START_MS + HOUR_MS + 1, START_MS + HOUR_MS + 7 * MINUTE_MS, 7);
	close_reader();

	/* Whole minutes are read from the roll-up of minutes, so the samples are not needed. */
	snprintf(sql, sizeof(sql), "DELETE FROM sample WHERE ts_ms < %lld",
		 (long long)open_minute());
	run_sql(sql);
	check_histories(60);
	/* Whole hours are read from the roll-up of hours. */
	snprintf(sql, sizeof(sql), "DELETE FROM sample_minute WHERE ts_ms < %lld",
		 (long long)(open_minute() - open_minute() % HOUR_MS));
	run_sql(sql);
	check_histories(3600);
}

TEST(test_a_clock_set_back_loses_and_duplicates_nothing)
{
	static const int minutes[] = {0, 1, 2, 3, 1, 2, 3, 4, 58, 59, 60, 61, 59, 60, 61, 62};
	int ms = 0;

	n_rows = 0;
	for (size_t i = 0; i < ARRAY_SIZE(minutes); i++) {
		for (int j = 0; j < 40; j++)
			add_random_row(START_MS + minutes[i] * MINUTE_MS + j * 1000 + ms++, "vm1");
		assert_true(write_rows(n_rows - 40, n_rows));
	}
	open_reader();
	check_history("vm1", START_MS, START_MS + 3 * HOUR_MS, 1);
	check_history("vm1", START_MS, START_MS + 3 * HOUR_MS, 60);
	check_history("vm1", START_MS, START_MS + 3 * HOUR_MS, 3600);
}

/* --- samples --- */

#define READ_BACK 5000

/* The percentage that REST prints is exactly the stored one. */
static int compare_row(void *userdata, const void *data)
{
	const struct sample *is = &((const struct db_sample *)data)->sample;
	const struct sample *was = &rows[(*(int *)userdata)++].sample;

	assert_int_equal(is->busy_valid, was->busy_valid);
	assert_int_equal(is->fps_valid, was->fps_valid);
	assert_int_equal(is->p99_valid, was->p99_valid);
	assert_true(is->dt_s == was->dt_s);
	assert_true(!is->busy_valid || 100 * is->load == 100 * was->load);
	assert_true(!is->busy_valid || 100 * is->util == 100 * was->util);
	assert_true(!is->fps_valid || is->fps == was->fps);
	assert_true(!is->p99_valid || is->frame_p99_ms == was->frame_p99_ms);
	return 0;
}

TEST(test_a_sample_is_read_as_it_was_written)
{
	int64_t kept_from_ms;
	int n_read = 0;

	n_rows = 0;
	for (int i = 0; i < READ_BACK; i++) {
		add_random_row(START_MS + i, "vm1");
		rows[i].sample.util = 1 - rows[i].sample.load;
	}
	assert_true(write_rows(0, READ_BACK));
	open_reader();
	assert_int_equal(db_query_samples(reader, "gpu0", START_MS, START_MS + READ_BACK,
					  compare_row, &n_read, &kept_from_ms),
			 0);
	assert_int_equal(n_read, READ_BACK);
}

/* --- bounds --- */

static const struct bound {
	const char *vgpu;
	int64_t from_ms, to_ms;
	int step_s;
	size_t max;
	int r, points;
	int64_t first_ms;
} bounds[] = {
	/* there is one sample a second, for 600 s from START_MS */
	{"vm1", START_MS, START_MS + 600000, 1, 600, 0, 600, START_MS},
	{"vm1", START_MS, START_MS + 600000, 60, 10, 0, 10, START_MS},
	{"vm1", START_MS, START_MS + 600000, 86400, 1, 0, 1, START_MS},
	{"vm1", START_MS + 60000, START_MS + 120000, 10, 6, 0, 6, START_MS + 60000},
	{"vm1", START_MS + 70000, START_MS + 70001, 60, 1, 0, 1, START_MS + 60000},
	{"vm1", START_MS + DAY_MS, START_MS + 2 * DAY_MS, 60, 1440, 0, 0, 0},
	/* A range that begins within a step includes that step if @max allows it. */
	{"vm1", START_MS + 30000, START_MS + 330000, 60, 6, 0, 6, START_MS},
	{"vm1", START_MS + 30000, START_MS + 330000, 60, 5, 0, 5, START_MS + 60000},
	{"vm1", START_MS + 30000, START_MS + 330000, 60, 4, -E2BIG, 0, 0},
	{"vm1", START_MS, START_MS + 600000, 1, 599, -E2BIG, 0, 0},
	{"vm1", START_MS, START_MS + 1000, 1, 0, -E2BIG, 0, 0},
	{"vm1", 0, INT64_MAX / 2, 1, 100000, -E2BIG, 0, 0},
	{"vm1", 0, INT64_MAX, 1, 100000, -EINVAL, 0, 0},
	{"vm1", START_MS, START_MS + 1000, 0, 10, -EINVAL, 0, 0},
	{"vm1", START_MS, START_MS + 1000, -1, 10, -EINVAL, 0, 0},
	{"vm1", START_MS, START_MS + 1000, 86401, 10, -EINVAL, 0, 0},
	{"vm1", START_MS, START_MS, 1, 10, -EINVAL, 0, 0},
	{"vm1", START_MS + 1, START_MS, 1, 10, -EINVAL, 0, 0},
	{"vm1", -1000, START_MS, 86400, 100000, -EINVAL, 0, 0},
	{"vm2", START_MS, START_MS + 1000, 1, 10, -ENOENT, 0, 0},
	{"vm1' OR '1'='1", START_MS, START_MS + 1000, 1, 10, -ENOENT, 0, 0},
	{"", START_MS, START_MS + 1000, 1, 10, -ENOENT, 0, 0},
};

TEST(test_steps_and_ranges_have_bounds)
{
	for (int i = 0; i < 600; i++)
		put_sample(START_MS + 1000 * i, "vm1");
	close_db();
	open_reader();
	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
		const struct bound *b = &bounds[i];

		n_points = 0;
		assert_int_equal(db_query_history(reader, b->vgpu, b->from_ms, b->to_ms, b->step_s,
						  b->max, keep_point, NULL),
				 b->r);
		assert_int_equal(n_points, b->points);
		if (n_points > 0)
			assert_int_equal(points[0].ts_ms, b->first_ms);
	}
}

static int stop_at_third(void *userdata, const struct db_point *point)
{
	(void)point;
	return ++*(int *)userdata == 3 ? -ECANCELED : 0;
}

TEST(test_a_callback_can_stop_the_query)
{
	int n = 0;

	for (int i = 0; i < 100; i++)
		put_sample(START_MS + 1000 * i, "vm1");
	close_db();
	open_reader();
	assert_int_equal(db_query_history(reader, "vm1", START_MS, START_MS + 100000, 1, 100,
					  stop_at_third, &n),
			 -ECANCELED);
	assert_int_equal(n, 3);
	assert_int_equal(query("vm1", START_MS, START_MS + 100000, 1), 0); /* works again */
	assert_int_equal(n_points, 100);
}

TEST(test_the_newest_sample_is_in_every_resolution)
{
	static const int steps_s[] = {1, 60, 3600, 86400};

	for (int i = 0; i < 62; i++) {
		put_sample(START_MS + i * MINUTE_MS, "vm1");
		db_flush(db);
		open_reader();
		for (size_t j = 0; j < ARRAY_SIZE(steps_s); j++) {
			int64_t sum = 0;

			assert_int_equal(query("vm1", START_MS, START_MS + 2 * HOUR_MS, steps_s[j]),
					 0);
			for (int k = 0; k < n_points; k++)
				sum += points[k].samples;
			assert_int_equal(sum, i + 1);
		}
		close_reader();
	}
}

/* Makes each query of the roll-ups of hours endless. */
static const char endless_sql[] =
	"ALTER TABLE sample_hour RENAME TO hours;"
	"CREATE VIEW sample_hour AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"
	" SELECT abs(n) AS vgpu, n AS ts_ms, n AS samples, n AS gaps, n AS covered_s, n AS short,"
	" n AS broken, n AS cap_sum, n AS initial_cap_sum, n AS load_n, n AS load_sum, n AS util_n,"
	" n AS util_sum, n AS util_max, n AS fps_n, n AS fps_sum, n AS fps_min, n AS target_fps_n,"
	" n AS target_fps_sum, n AS frame_p99_n, n AS frame_p99_sum, n AS frame_p99_max"
	" FROM r WHERE n < 0;";

TEST(test_an_endless_query_ends_at_its_limit)
{
	const atomic_bool cancelled = true, not_cancelled = false;
	int n = 0;

	put_sample(START_MS, "vm1");
	put_sample(START_MS + 2 * HOUR_MS, "vm1");
	close_db();
	run_sql(endless_sql);
	open_reader();
	db_reader_limit(reader, &(struct db_limit){.end_ns = 1, .cancelled = &not_cancelled});
	assert_int_equal(db_query_history(reader, "vm1", START_MS, START_MS + DAY_MS, 3600, 24,
					  count_point, &n),
			 -ETIME);
	db_reader_limit(reader, &(struct db_limit){.cancelled = &cancelled});
	assert_int_equal(db_query_history(reader, "vm1", START_MS, START_MS + DAY_MS, 3600, 24,
					  count_point, &n),
			 -ECANCELED);
	/* the reader can still be used, and without a limit a query ends by itself */
	db_reader_limit(reader, &(struct db_limit){0});
	assert_int_equal(db_query_history(reader, "vm1", START_MS, START_MS + DAY_MS, 60, 1440,
					  count_point, &n),
			 0);
	assert_int_equal(n, 2);
}
