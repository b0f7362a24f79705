/* SPDX-License-Identifier: MIT */
/* The ledger: sums, changes of prices, and pruning. A new price does not change earlier sums. */
#include "db/db.h"
#include "db/schema.h"
#include "tests/unit/db/test-db.h"

/*
 * Returns a row for a contract of 50 % that is sold for @s seconds at @price. @broken_s of these
 * seconds are broken, each with a penalty of 0.01.
 */
static struct db_ledger make_row(int64_t ts_ms, const char *vgpu, const char *flavor, double s,
				 double price, double broken_s)
{
	struct db_ledger row = {
		.ts_ms = ts_ms,
		.gpu = "gpu0",
		.sold = {s / 2, broken_s, s / 2 * price / 3600, broken_s * 0.01},
	};

	strcpy(row.vgpu, vgpu);
	strcpy(row.flavor, flavor);
	return row;
}

static void put(struct db_ledger row)
{
	assert_int_equal(db_append_ledger(db, &row), 0);
}

static void put_watched(int64_t ts_ms, double s)
{
	struct db_ledger_gpu row = {.ts_ms = ts_ms, .gpu = "gpu0", .watched_s = s};

	assert_int_equal(db_append_ledger_gpu(db, &row), 0);
}

static void put_price(int64_t ts_ms, const char *flavor, double price, double penalty)
{
	struct db_price row = {
		.ts_ms = ts_ms,
		.price_per_cap_hour = price,
		.penalty_per_broken_s = penalty,
	};

	strcpy(row.flavor, flavor);
	assert_int_equal(db_append_price(db, &row), 0);
}

static struct {
	struct db_ledger rows[8];
	struct db_price prices[8];
	int n_rows, n_prices;
	struct db_ledger_range range;
} got;

static int take_row(void *userdata, const void *data)
{
	(void)userdata;
	assert_in_range(got.n_rows, 0, 7);
	got.rows[got.n_rows++] = *(const struct db_ledger *)data;
	return 0;
}

static int take_price(void *userdata, const void *row)
{
	(void)userdata;
	assert_in_range(got.n_prices, 0, 7);
	got.prices[got.n_prices++] = *(const struct db_price *)row;
	return 0;
}

static int query(int64_t from_ms, int64_t to_ms)
{
	int r;

	open_reader();
	memset(&got, 0, sizeof(got));
	r = db_query_ledger(reader, from_ms, to_ms, take_row, take_price, NULL, &got.range);
	close_reader();
	return r;
}

static void assert_near(double value, double wanted)
{
	if (fabs(value - wanted) > 1e-9)
		fail_msg("%.12g instead of %.12g", value, wanted);
}

FIXTURE(begin, end)

TEST(rows_of_a_minute_are_summed_up)
{
	struct db_ledger row = make_row(START_MS + 40000, "vm1", "default", 20, 1.8, 3);

	row.kept = (struct db_money){10, 1, 0.005, 0.01};
	put(make_row(START_MS + 20000, "vm1", "default", 20, 1.8, 0));
	put(row);
	put(make_row(START_MS + MINUTE_MS, "vm1", "default", 60, 1.8, 0));
	put(make_row(START_MS + 40000, "vm2", "small", 40, 3.6, 0));
	put_watched(START_MS + 20000, 20);
	put_watched(START_MS + 59999, 40);
	put_watched(START_MS + MINUTE_MS, 60);
	assert_null(close_db());
	assert_int_equal(get_sql("SELECT count(*) FROM ledger WHERE step_s = 60"), 3);
	assert_int_equal(get_sql("SELECT count(*) FROM ledger WHERE step_s = 3600"), 2);

	assert_int_equal(query(START_MS, START_MS + MINUTE_MS), 0);
	assert_int_equal(got.n_rows, 2);
	assert_string_equal(got.rows[0].vgpu, "vm1");
	assert_string_equal(got.rows[0].gpu, "gpu0");
	assert_string_equal(got.rows[0].flavor, "default");
	assert_near(got.rows[0].sold.cap_s, 20);
	assert_near(got.rows[0].sold.broken_s, 3);
	assert_near(got.rows[0].sold.revenue, 0.01);
	assert_near(got.rows[0].sold.penalty, 0.03);
	assert_near(got.rows[0].kept.cap_s, 10);
	assert_near(got.rows[0].kept.broken_s, 1);
	assert_near(got.rows[0].kept.revenue, 0.005);
	assert_near(got.rows[0].kept.penalty, 0.01);
	assert_string_equal(got.rows[1].flavor, "small");
	assert_near(got.rows[1].sold.revenue, 0.02);
	assert_near(got.rows[1].kept.cap_s, 0);
	assert_near(got.range.watched_s, 60);

	assert_int_equal(query(START_MS, START_MS + HOUR_MS), 0);
	assert_int_equal(got.n_rows, 2);
	assert_near(got.rows[0].sold.cap_s, 50);
	assert_near(got.rows[0].sold.revenue, 0.025);
	assert_near(got.range.watched_s, 120);
}

TEST_WITH(a_restart_continues_in_its_minute, make_folder, end)
{
	for (int i = 0; i < 3; i++) {
		open_db(&keep_all);
		put(make_row(START_MS + 10000 * i, "vm1", "default", 10, 7.2, 1));
		close_db();
	}
	assert_int_equal(query(START_MS, START_MS + 1), 0);
	assert_int_equal(got.n_rows, 1);
	assert_near(got.rows[0].sold.cap_s, 15);
	assert_near(got.rows[0].sold.revenue, 0.03);
	assert_near(got.rows[0].sold.penalty, 0.03);
}

TEST(a_later_price_does_not_change_earlier_rows)
{
	put_price(START_MS, "default", 1.8, 0.01);
	put_price(START_MS, "small", 3, 0);
	put(make_row(START_MS, "vm1", "default", 30, 1.8, 0));
	put_price(START_MS + 30000, "default", 3.6, 0.01);
	put(make_row(START_MS + 30000, "vm1", "default", 30, 3.6, 0));
	put_price(START_MS + MINUTE_MS, "default", 3.6, 0.01); /* unchanged */
	put_price(START_MS + 2 * MINUTE_MS, "default", 0, 0.01);
	put(make_row(START_MS + 2 * MINUTE_MS, "vm1", "default", 60, 0, 0));
	close_db();

	assert_int_equal(query(START_MS, START_MS + MINUTE_MS), 0);
	assert_int_equal(got.n_rows, 1);
	assert_near(got.rows[0].sold.revenue, 0.0075 + 0.015);
	assert_int_equal(got.n_prices, 3);
	assert_string_equal(got.prices[0].flavor, "default");
	assert_near(got.prices[0].price_per_cap_hour, 1.8);
	assert_string_equal(got.prices[1].flavor, "small");
	assert_int_equal(got.prices[2].ts_ms, START_MS + 30000);
	assert_near(got.prices[2].price_per_cap_hour, 3.6);

	assert_int_equal(query(START_MS + MINUTE_MS, START_MS + HOUR_MS), 0);
	assert_near(got.rows[0].sold.revenue, 0);
	/* one price of flavour small, two prices of flavour default */
	assert_int_equal(got.n_prices, 3);
	assert_int_equal(got.prices[1].ts_ms, START_MS + 30000);
	assert_int_equal(got.prices[2].ts_ms, START_MS + 2 * MINUTE_MS);
	assert_int_equal(get_sql("SELECT count(*) FROM price"), 4);
}

/*
 * Appends a row with a revenue of 1 in each minute, from 10 minutes before START_MS to 3 hours
 * after START_MS.
 */
static void fill_minutes(void)
{
	for (int i = -10; i < 180; i++) {
		struct db_ledger row = {
			.ts_ms = START_MS + i * MINUTE_MS,
			.vgpu = "vm1",
			.gpu = "gpu0",
			.flavor = "default",
			.sold = {.revenue = 1},
		};

		put(row);
		put_watched(row.ts_ms, 60);
	}
}

TEST(any_range_is_the_sum_of_its_minutes)
{
	static const struct {
		int64_t from_ms, to_ms; /* range, relative to START_MS */
		int minutes;
	} rows[] = {
		{0, HOUR_MS, 60},
		{0, MINUTE_MS, 1},
		{1, 2, 1}, /* the range is extended to the whole minute */
		{-MINUTE_MS, MINUTE_MS, 2},
		{-5 * MINUTE_MS, HOUR_MS + 7 * MINUTE_MS, 72},
		{10 * MINUTE_MS, 3 * HOUR_MS, 170},
		{10 * MINUTE_MS, 50 * MINUTE_MS, 40},
		{50 * MINUTE_MS, 70 * MINUTE_MS, 20},
		{59 * MINUTE_MS + 59999, 2 * HOUR_MS + 1, 62},
		{-DAY_MS, DAY_MS, 190},
		{0, DAY_MS, 180},
		{-DAY_MS, 0, 10},
		{-DAY_MS - 1, 2 * DAY_MS + 1, 190},
		{-2 * DAY_MS + HOUR_MS, 90 * MINUTE_MS, 100},
		{90 * MINUTE_MS, 3 * DAY_MS + HOUR_MS, 90},
		{DAY_MS, 2 * DAY_MS, 0},
	};

	fill_minutes();
	close_db();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(query(START_MS + rows[i].from_ms, START_MS + rows[i].to_ms), 0);
		assert_near(got.n_rows ? got.rows[0].sold.revenue : 0, rows[i].minutes);
		assert_near(got.range.watched_s, 60 * rows[i].minutes);
		assert_int_equal(got.range.from_ms % MINUTE_MS, 0);
		assert_int_equal(got.range.to_ms % MINUTE_MS, 0);
		assert_true(got.range.from_ms <= START_MS + rows[i].from_ms);
		assert_true(got.range.to_ms >= START_MS + rows[i].to_ms);
	}
	assert_int_equal(query(START_MS, START_MS), -EINVAL);
	assert_int_equal(query(-1, START_MS), -EINVAL);
}

TEST_WITH(rows_are_kept_as_long_as_minutes_and_hours, make_folder, end)
{
	const struct db_retention retention = {.raw_hours = 1, .minute_days = 1, .hour_days = 3};
	int64_t end_ms = START_MS + 6 * DAY_MS;

	open_db(&retention);
	put_price(START_MS, "default", 1, 0);
	put_price(START_MS + DAY_MS, "default", 2, 0);
	put_price(START_MS + 5 * DAY_MS, "default", 3, 0);
	for (int64_t ms = START_MS; ms <= end_ms; ms += HOUR_MS / 2) {
		put_clock(ms);
		put_sample(ms, "vm1");
		put(make_row(ms, "vm1", "default", 60, 1, 0));
		put_watched(ms, 60);
		db_flush(db);
	}
	close_db();
	assert_int_equal(get_sql("SELECT min(ts_ms) FROM ledger WHERE step_s = 60"),
			 end_ms - DAY_MS);
	assert_int_equal(get_sql("SELECT min(ts_ms) FROM ledger WHERE step_s = 3600"),
			 end_ms - 3 * DAY_MS);
	assert_int_equal(get_sql("SELECT min(ts_ms) FROM ledger_gpu WHERE step_s = 60"),
			 end_ms - DAY_MS);
	assert_int_equal(get_sql("SELECT min(ts_ms) FROM ledger_gpu WHERE step_s = 3600"),
			 end_ms - 3 * DAY_MS);
	assert_int_equal(get_sql("SELECT min(ts_ms) FROM ledger WHERE step_s = 86400"),
			 end_ms - 4 * DAY_MS);
	assert_int_equal(get_sql("SELECT min(ts_ms) FROM ledger_gpu WHERE step_s = 86400"),
			 end_ms - 4 * DAY_MS);
	/* The first price was only in force for pruned rows. */
	assert_int_equal(get_sql("SELECT count(*) FROM price"), 2);
	assert_int_equal(get_sql("SELECT min(price_per_cap_hour) FROM price"), 2);

	/* For times more than one day ago, only sums of whole hours exist. */
	assert_int_equal(query(end_ms - 2 * DAY_MS + 1, end_ms - 2 * DAY_MS + MINUTE_MS), 0);
	assert_int_equal(got.range.from_ms, end_ms - 2 * DAY_MS);
	assert_int_equal(got.range.to_ms, end_ms - 2 * DAY_MS + HOUR_MS);
	assert_near(got.range.watched_s, 120);
	assert_int_equal(query(START_MS, end_ms + MINUTE_MS), 0);
	assert_near(got.range.watched_s, 60 * (4 * 48 + 1));
}

TEST(sums_remain_after_their_name_was_pruned)
{
	put(make_row(START_MS, "vm1", "default", 60, 1.2, 0));
	close_db();
	run_sql("DELETE FROM vgpu");
	assert_int_equal(query(START_MS, START_MS + MINUTE_MS), 0);
	assert_int_equal(got.n_rows, 1);
	assert_string_equal(got.rows[0].vgpu, "");
	assert_near(got.rows[0].sold.revenue, 0.01);
}

TEST(invalid_records_are_rejected)
{
	struct db_ledger row = make_row(START_MS, "vm1", "default", 60, 1, 0);
	struct db_ledger_gpu watched = {.ts_ms = START_MS, .gpu = "gpu0", .watched_s = NAN};
	struct db_price price = {.ts_ms = START_MS, .flavor = ""};

	row.sold.revenue = NAN;
	assert_int_equal(db_append_ledger(db, &row), -EINVAL);
	row.sold.revenue = 0;
	row.kept.cap_s = INFINITY;
	assert_int_equal(db_append_ledger(db, &row), -EINVAL);
	row.kept.cap_s = 0;
	row.flavor[0] = '\0';
	assert_int_equal(db_append_ledger(db, &row), -EINVAL);
	assert_int_equal(db_append_ledger_gpu(db, &watched), -EINVAL);
	assert_int_equal(db_append_price(db, &price), -EINVAL);
	assert_int_equal(stats_of().appended, 0);
}

TEST_WITH(an_older_history_gets_a_ledger, make_folder, end)
{
	const int before = 3;
	sqlite3 *old = NULL;

	assert_int_equal(sqlite3_open(path, &old), SQLITE_OK);
	assert_int_equal(schema_migrate(old, path, schema_steps, before, NULL), 0);
	sqlite3_close(old);
	run_sql("INSERT INTO vgpu VALUES (41, 'vm1', 'gpu0');"
		"INSERT INTO setting VALUES ('overload_pct', '90');"
		"INSERT INTO decision (id, ts_ms) VALUES (7, 1);"
		"INSERT INTO contracts VALUES (1, 5, '{}');");
	open_db(&keep_all);
	put(make_row(START_MS, "vm1", "default", 60, 1.2, 0));
	put_price(START_MS, "default", 1.2, 0.01);
	close_db();
	assert_int_equal(get_sql("PRAGMA user_version"), schema_version);
	assert_int_equal(get_sql("SELECT vgpu FROM ledger"), 41);
	assert_int_equal(get_sql("SELECT id FROM decision"), 7);
	assert_int_equal(get_sql("SELECT revision FROM contracts"), 5);
	assert_int_equal(get_sql("SELECT value FROM setting"), 90);
	assert_int_equal(query(START_MS - DAY_MS, START_MS + MINUTE_MS), 0);
	assert_near(got.rows[0].sold.revenue, 0.01);
}

TEST(a_failed_transaction_loses_only_its_rows)
{
	put(make_row(START_MS, "vm1", "default", 60, 1.2, 0));
	db_flush(db);
	run_sql("CREATE TRIGGER refuse BEFORE UPDATE ON ledger"
		" BEGIN SELECT RAISE(ABORT, 'no room'); END");
	put(make_row(START_MS + 1, "vm1", "default", 60, 1.2, 0));
	db_flush(db);
	assert_int_equal(stats_of().dropped, 1);
	assert_string_equal(stats_of().last_message, "no room");
	run_sql("DROP TRIGGER refuse");
	put(make_row(START_MS + 2, "vm1", "default", 60, 1.2, 0));
	db_flush(db);
	assert_int_equal(stats_of().last_error, 0);
	close_db();
	assert_int_equal(query(START_MS, START_MS + MINUTE_MS), 0);
	assert_near(got.rows[0].sold.revenue, 0.02);
}
