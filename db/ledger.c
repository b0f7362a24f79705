/* SPDX-License-Identifier: MIT */
/*
 * Reads the ledger. A query reads the sums of days for the whole days of its range, the sums of
 * hours for the other whole hours, and the sums of minutes for the rest.
 */
#include <errno.h>
#include <string.h>

#include "db/ledger.h"
#include "db/reader.h"
#include "db/rollup.h"

/*
 * The parameters of a query: ?1 begin of the range, ?2 begin of the first whole hour, ?3 begin of
 * the first whole day, ?4 end of the last whole day, ?5 end of the last whole hour, ?6 end of the
 * range.
 */
#define STEP(step_s, from, to) "(step_s = " step_s " AND ts_ms >= " from " AND ts_ms < " to ")"
#define IN_RANGE                                                                             \
	" (" STEP("60", "?1", "?2") " OR " STEP("3600", "?2", "?3") " OR " STEP(             \
		"86400", "?3", "?4") " OR " STEP("3600", "?4", "?5") " OR " STEP("60", "?5", \
										 "?6") ")"

/* LEFT JOIN, because pruning may have removed the name of the vGPU of a ledger row. */
static const char rows_sql[] =
	"SELECT 0, coalesce(id, ''), coalesce(gpu, ''), flavor, sum(sold_cap_s),"
	" sum(sold_broken_s), sum(sold_revenue), sum(sold_penalty), sum(kept_cap_s),"
	" sum(kept_broken_s), sum(kept_revenue), sum(kept_penalty)"
	" FROM ledger LEFT JOIN vgpu ON num = vgpu WHERE" IN_RANGE
	" GROUP BY vgpu, flavor ORDER BY id, flavor";

static const char watched_sql[] = "SELECT total(watched_s) FROM ledger_gpu WHERE" IN_RANGE;

static const char prices_sql[] =
	"SELECT ts_ms, flavor, price_per_cap_hour, penalty_per_broken_s FROM price p"
	" WHERE ts_ms < ?6 AND NOT EXISTS (SELECT 1 FROM price q"
	" WHERE q.flavor = p.flavor AND q.ts_ms > p.ts_ms AND q.ts_ms <= ?1)"
	" ORDER BY ts_ms, flavor";

#define BOUNDS 6

struct query {
	int64_t bounds_ms[BOUNDS]; /* ?1 .. ?6 */
	db_row_fn row, price;
	void *userdata;
	double watched_s;
};

static int64_t floor_to(int64_t at_ms, int64_t step_ms)
{
	return at_ms - at_ms % step_ms;
}

static int64_t ceil_to(int64_t at_ms, int64_t step_ms)
{
	return floor_to(at_ms + step_ms - 1, step_ms);
}

/*
 * Extends the range to whole minutes. If from_ms or to_ms is before @minute_from_ms, it is moved to
 * a whole hour, because the sums of these minutes were pruned.
 */
static void set_bounds(struct query *q, int64_t from_ms, int64_t to_ms, int64_t minute_from_ms)
{
	int64_t from_step = from_ms < minute_from_ms ? ROLLUP_HOUR_MS : ROLLUP_MINUTE_MS;
	int64_t to_step = to_ms < minute_from_ms ? ROLLUP_HOUR_MS : ROLLUP_MINUTE_MS;
	int64_t hour, day, last_day, last_hour;

	from_ms = floor_to(from_ms, from_step);
	to_ms = ceil_to(to_ms, to_step);
	hour = ceil_to(from_ms, ROLLUP_HOUR_MS);
	last_hour = floor_to(to_ms, ROLLUP_HOUR_MS);
	if (hour >= last_hour) /* the range contains no whole hour */
		hour = last_hour = to_ms;
	day = ceil_to(hour, ROLLUP_DAY_MS);
	last_day = floor_to(last_hour, ROLLUP_DAY_MS);
	if (day >= last_day || hour == last_hour) /* the range contains no whole day */
		day = last_day = last_hour;
	memcpy(q->bounds_ms, (int64_t[BOUNDS]){from_ms, hour, day, last_day, last_hour, to_ms},
	       sizeof(q->bounds_ms));
}

#define BOUNDED(text) \
	(&(struct reader_statement){.sql = (text), .numbers = q->bounds_ms, .n = BOUNDS})

static int read_ledger(struct db_reader *reader, int64_t from_ms, int64_t to_ms, struct query *q)
{
	int64_t minute_from_ms = 0;
	int r = reader_run(reader,
			   &(struct reader_statement){.sql = "SELECT minute_from_ms FROM progress"},
			   reader_take_int, &minute_from_ms);

	set_bounds(q, from_ms, to_ms, minute_from_ms);
	if (r == 0)
		r = reader_run_records(reader, BOUNDED(rows_sql), RECORD_LEDGER, q->row,
				       q->userdata);
	if (r == 0)
		r = reader_run(reader, BOUNDED(watched_sql), reader_take_double, &q->watched_s);
	if (r == 0)
		r = reader_run_records(reader, BOUNDED(prices_sql), RECORD_PRICE, q->price,
				       q->userdata);
	return r;
}

int db_query_ledger(struct db_reader *reader, int64_t from_ms, int64_t to_ms, db_row_fn row,
		    db_row_fn price, void *userdata, struct db_ledger_range *ret_range)
{
	struct query q = {.row = row, .price = price, .userdata = userdata};
	int r;

	if (from_ms < 0 || to_ms <= from_ms || to_ms > INT64_MAX - ROLLUP_HOUR_MS)
		return -EINVAL;
	r = reader_begin(reader);
	if (r < 0)
		return r;
	r = reader_end(reader, read_ledger(reader, from_ms, to_ms, &q));
	if (r == 0)
		*ret_range = (struct db_ledger_range){
			.from_ms = q.bounds_ms[0],
			.to_ms = q.bounds_ms[BOUNDS - 1],
			.watched_s = q.watched_s,
		};
	return r;
}
