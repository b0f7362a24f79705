/* SPDX-License-Identifier: MIT */
/*
 * A roll-up is computed from all rows of its minute or hour. If the clock was set back, a minute or
 * hour is opened again. Its roll-up is then computed again at its end, from the earlier and the new
 * rows. If the earlier rows may have been pruned, the new rows are added to the existing roll-up
 * instead, and the remaining earlier rows, which it contains, are removed.
 *
 * Old rows are pruned by the trusted time. Pruning removes a limited number of rows at a time, so
 * that no transaction is long; after a long downtime the pruning takes some hours.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "db/conn.h"
#include "db/rollup.h"
#include "db/trusted-time.h"

enum statement {
	GET_PROGRESS,
	SET_PROGRESS,
	HAS_ROWS,
	ROLL_MINUTE,
	ROLL_HOUR,
	CLEAR_MINUTE,
	CLEAR_HOUR,
	CLEAR_MINUTE_ROWS,
	CLEAR_HOUR_ROWS,
	STATEMENTS
};

/* ?1 is the begin of a minute or hour. */
#define OF_MINUTE "ts_ms >= ?1 AND ts_ms < ?1 + 60000"
#define OF_HOUR	  "ts_ms >= ?1 AND ts_ms < ?1 + 3600000"
#define OF_VGPUS  "vgpu IN (SELECT num FROM vgpu) AND "

/*
 * Adds a row to the existing roll-up of its minute or hour, if there is one. Such a roll-up
 * contains samples that were pruned.
 */
#define MERGE                                                                                   \
	" ON CONFLICT DO UPDATE SET samples = samples + excluded.samples,"                      \
	" gaps = gaps + excluded.gaps, covered_s = covered_s + excluded.covered_s,"             \
	" short = short + excluded.short, broken = broken + excluded.broken,"                   \
	" cap_sum = cap_sum + excluded.cap_sum,"                                                \
	" initial_cap_sum = initial_cap_sum + excluded.initial_cap_sum,"                        \
	" load_n = load_n + excluded.load_n, load_sum = load_sum + excluded.load_sum,"          \
	" util_n = util_n + excluded.util_n, util_sum = util_sum + excluded.util_sum,"          \
	" util_max = max(ifnull(util_max, excluded.util_max),"                                  \
	" ifnull(excluded.util_max, util_max)),"                                                \
	" fps_n = fps_n + excluded.fps_n, fps_sum = fps_sum + excluded.fps_sum,"                \
	" fps_min = min(ifnull(fps_min, excluded.fps_min), ifnull(excluded.fps_min, fps_min))," \
	" target_fps_n = target_fps_n + excluded.target_fps_n,"                                 \
	" target_fps_sum = target_fps_sum + excluded.target_fps_sum,"                           \
	" frame_p99_n = frame_p99_n + excluded.frame_p99_n,"                                    \
	" frame_p99_sum = frame_p99_sum + excluded.frame_p99_sum,"                              \
	" frame_p99_max = max(ifnull(frame_p99_max, excluded.frame_p99_max),"                   \
	" ifnull(excluded.frame_p99_max, frame_p99_max))"

static const char *const statement_sql[STATEMENTS] = {
	[GET_PROGRESS] = "SELECT open_minute_ms, raw_from_ms, minute_from_ms, hour_from_ms,"
			 " trusted_ms, proposed_ms, confirmed_ms, wall_ms FROM progress",
	[SET_PROGRESS] = "UPDATE progress SET open_minute_ms = ?1, raw_from_ms = ?2,"
			 " minute_from_ms = ?3, hour_from_ms = ?4, trusted_ms = ?5,"
			 " proposed_ms = ?6, confirmed_ms = ?7, wall_ms = ?8",
	[HAS_ROWS] = "SELECT EXISTS (SELECT 1 FROM sample WHERE " OF_MINUTE ")",
	[ROLL_MINUTE] = "INSERT INTO sample_minute"
			" SELECT vgpu, ?1, count(*), sum(gap), total(dt_s), sum(short_of_target), "
			"sum(broken),"
			" sum(cap_pct), sum(initial_cap_pct), count(load_pct), total(load_pct),"
			" count(util_pct), total(util_pct), max(util_pct),"
			" count(fps), total(fps), min(fps), count(target_fps), total(target_fps),"
			" count(frame_p99_ms), total(frame_p99_ms), max(frame_p99_ms)"
			" FROM sample WHERE " OF_MINUTE " GROUP BY vgpu" MERGE,
	/*
	 * CROSS JOIN fixes the order of the tables: sqlite reads one short range for each vGPU
	 * instead of scanning the whole table.
	 */
	[ROLL_HOUR] =
		"INSERT INTO sample_hour"
		" SELECT m.vgpu, ?1, sum(samples), sum(gaps), total(covered_s), sum(short),"
		" sum(broken), sum(cap_sum), sum(initial_cap_sum), sum(load_n), total(load_sum),"
		" sum(util_n), total(util_sum), max(util_max), sum(fps_n), total(fps_sum),"
		" min(fps_min), sum(target_fps_n), total(target_fps_sum),"
		" sum(frame_p99_n), total(frame_p99_sum), max(frame_p99_max)"
		" FROM vgpu CROSS JOIN sample_minute m"
		" ON m.vgpu = num AND m.ts_ms >= ?1 AND m.ts_ms < ?1 + 3600000"
		" WHERE true GROUP BY num" MERGE,
	[CLEAR_MINUTE] = "DELETE FROM sample_minute WHERE " OF_VGPUS "ts_ms = ?1",
	[CLEAR_HOUR] = "DELETE FROM sample_hour WHERE " OF_VGPUS "ts_ms = ?1",
	[CLEAR_MINUTE_ROWS] = "DELETE FROM sample WHERE " OF_MINUTE,
	[CLEAR_HOUR_ROWS] = "DELETE FROM sample_minute WHERE " OF_VGPUS OF_HOUR,
};

#define OLDEST(table) "(SELECT min((SELECT min(ts_ms) FROM " table " WHERE vgpu = num)) FROM vgpu)"

#define FIRST(table, step_s) "(SELECT min(ts_ms) FROM " table " WHERE step_s = " step_s ")"

/*
 * A horizon is a time before which rows are pruned. Each resolution has one. LONGEST results from
 * the retention of minutes or of hours, whichever is longer, and applies to the sums of hours and
 * days in the ledger.
 */
enum horizon { RAW, MINUTE, HOUR, RESOLUTIONS, LONGEST = RESOLUTIONS, HORIZONS };

/*
 * Each statement removes rows before the horizon ?1, but only a limited number of them, so that the
 * transaction is short. In tables whose ids the daemon assigns, the newest row is not removed, so
 * that the ids continue after a restart.
 */
static const struct prune {
	const char *sql;
	enum horizon horizon;
	bool hourly; /* true: runs once an hour; false: every minute */
} prunes[] = {
	{"DELETE FROM sample WHERE ts_ms < min(?1, (SELECT min(ts_ms) FROM sample) + 600000)", RAW,
	 false},
	{"DELETE FROM gpu_sample"
	 " WHERE ts_ms < min(?1, (SELECT min(ts_ms) FROM gpu_sample) + 600000)",
	 RAW, false},
	{"DELETE FROM decision WHERE ts_ms < ?1 AND id < (SELECT min(id) FROM decision) + 5000"
	 " AND id < (SELECT max(id) FROM decision)",
	 MINUTE, false},
	{"DELETE FROM cap_write WHERE ts_ms < ?1 AND id < (SELECT min(id) FROM cap_write) + 5000",
	 MINUTE, false},
	{"DELETE FROM sample_minute WHERE vgpu IN (SELECT num FROM vgpu)"
	 " AND ts_ms < min(?1, " OLDEST("sample_minute") " + 36000000)",
	 MINUTE, true},
	{"DELETE FROM sample_hour WHERE vgpu IN (SELECT num FROM vgpu)"
	 " AND ts_ms < min(?1, " OLDEST("sample_hour") " + 36000000)",
	 HOUR, true},
	{"DELETE FROM alert WHERE cleared_ms < ?1 AND id < (SELECT max(id) FROM alert)", HOUR,
	 true},
	{"DELETE FROM tally WHERE ts_ms < ?1", HOUR, true},
	{"DELETE FROM silence WHERE until_ms < ?1 AND id < (SELECT max(id) FROM silence)", HOUR,
	 true},
	/* a change while the clock was behind does not make an offer old */
	{"DELETE FROM offer WHERE max(ifnull(created_ms, 0), changed_ms) < ?1"
	 " AND id < (SELECT max(id) FROM offer)"
	 " AND state NOT IN ('open', 'claimed', 'probation', 'failed')",
	 HOUR, true},
	{"DELETE FROM ledger WHERE step_s = 60 AND ts_ms < min(?1, " FIRST("ledger",
									   "60") " + 36000000)",
	 MINUTE, true},
	{"DELETE FROM ledger_gpu WHERE step_s = 60 AND ts_ms < min(?1, " FIRST("ledger_gpu",
									       "60") " + 36000000)",
	 MINUTE, true},
	{"DELETE FROM ledger WHERE step_s = 3600 AND ts_ms < min(?1, " FIRST("ledger",
									     "3600") " + 36000000)",
	 LONGEST, true},
	{"DELETE FROM ledger_gpu WHERE step_s = 3600 AND ts_ms < min(?1, " FIRST(
		 "ledger_gpu", "3600") " + 36000000)",
	 LONGEST, true},
	/*
	 * A day that began before the horizon may contain hours that are not pruned, so days are
	 * pruned one day later.
	 */
	{"DELETE FROM ledger WHERE step_s = 86400 AND ts_ms < ?1 - 86400000", LONGEST, true},
	{"DELETE FROM ledger_gpu WHERE step_s = 86400 AND ts_ms < ?1 - 86400000", LONGEST, true},
	{"DELETE FROM audit WHERE ts_ms < ?1 AND id < (SELECT min(id) FROM audit) + 5000", LONGEST,
	 true},
	/* A price is pruned only if a later price was in force at the horizon. */
	{"DELETE FROM price WHERE ts_ms < ?1 AND EXISTS (SELECT 1 FROM price later"
	 " WHERE later.flavor = price.flavor AND later.ts_ms > price.ts_ms AND later.ts_ms < ?1)",
	 LONGEST, true},
	/* Removes names without rows. Samples need not be checked, because every vGPU with samples
	 * also has rows in a roll-up. */
	{"DELETE FROM vgpu WHERE ?1 AND NOT EXISTS (SELECT 1 FROM sample_hour WHERE vgpu = num)"
	 " AND NOT EXISTS (SELECT 1 FROM sample_minute WHERE vgpu = num)",
	 HOUR, true},
};

#define PRUNES ((int)ARRAY_SIZE(prunes))

struct rollup {
	struct db_retention retention;
	/* begin of the open minute, which is not rolled up yet; 0: no minute is open */
	int64_t open_ms;
	int64_t kept_from_ms[RESOLUTIONS]; /* rows before these times may have been pruned */
	struct trusted_time time;
	int64_t boot_ms; /* boot time of the last reading; 0: no reading yet */
	sqlite3_stmt *statements[STATEMENTS];
	sqlite3_stmt *prunes[PRUNES];
};

int rollup_new(sqlite3 *db, const struct db_retention *retention, struct rollup **ret_rollup)
{
	const char *sql[PRUNES];
	struct rollup *rollup;
	int rc;

	rollup = xcalloc(1, sizeof(*rollup));
	rollup->retention = *retention;
	for (int i = 0; i < PRUNES; i++)
		sql[i] = prunes[i].sql;
	rc = conn_prepare(db, statement_sql, STATEMENTS, rollup->statements);
	if (rc == SQLITE_OK)
		rc = conn_prepare(db, sql, PRUNES, rollup->prunes);
	if (rc == SQLITE_OK)
		rc = rollup_reload(rollup);
	if (rc != SQLITE_OK) {
		rollup_free(rollup);
		return rc;
	}
	*ret_rollup = rollup;
	return SQLITE_OK;
}

struct rollup *rollup_free(struct rollup *rollup)
{
	if (!rollup)
		return NULL;
	conn_finalize(rollup->statements, STATEMENTS);
	conn_finalize(rollup->prunes, PRUNES);
	free(rollup);
	return NULL;
}

int rollup_reload(struct rollup *rollup)
{
	sqlite3_stmt *get = rollup->statements[GET_PROGRESS];
	int rc = sqlite3_step(get);

	if (rc == SQLITE_ROW) {
		rollup->open_ms = sqlite3_column_int64(get, 0);
		for (int i = 0; i < RESOLUTIONS; i++)
			rollup->kept_from_ms[i] = sqlite3_column_int64(get, 1 + i);
	}
	if (rc == SQLITE_ROW && rollup->boot_ms == 0) /* else the time in memory is newer */
		rollup->time = (struct trusted_time){
			.trusted_ms = sqlite3_column_int64(get, 4),
			.proposed_ms = sqlite3_column_int64(get, 5),
			.confirmed_ms = sqlite3_column_int64(get, 6),
			.wall_ms = sqlite3_column_int64(get, 7),
		};
	sqlite3_reset(get);
	if (rc == SQLITE_ROW)
		return SQLITE_OK;
	return rc == SQLITE_DONE ? SQLITE_CORRUPT : rc; /* the only row of the table is missing */
}

void rollup_clock(struct rollup *rollup, int64_t wall_ms, int64_t boot_ms)
{
	trusted_time_add(&rollup->time, wall_ms, rollup->boot_ms ? boot_ms - rollup->boot_ms : 0);
	rollup->boot_ms = boot_ms;
}

static int run_at(sqlite3_stmt *statement, int64_t at_ms)
{
	sqlite3_bind_int64(statement, 1, at_ms);
	return conn_run(statement);
}

int64_t rollup_clock_ahead_ms(const struct rollup *rollup)
{
	return rollup->time.wall_ms - trusted_time_get(&rollup->time);
}

/* Returns the time before which rows are pruned; 0: no rows are pruned. */
static int64_t horizon(int64_t now_ms, int64_t kept_ms)
{
	return kept_ms > 0 && now_ms > kept_ms ? now_ms - kept_ms : 0;
}

static int prune(struct rollup *rollup, const int64_t horizons[HORIZONS], bool new_hour)
{
	int rc = SQLITE_OK;

	for (int i = 0; i < PRUNES && rc == SQLITE_OK; i++) {
		if (horizons[prunes[i].horizon] > 0 && (new_hour || !prunes[i].hourly))
			rc = run_at(rollup->prunes[i], horizons[prunes[i].horizon]);
	}
	return rc;
}

/* Opens an hour. After a step of the clock, the hour can already have rows. */
static int open_hour(struct rollup *rollup, int64_t hour_ms)
{
	bool pruned = hour_ms < rollup->kept_from_ms[MINUTE];

	return run_at(rollup->statements[pruned ? CLEAR_HOUR_ROWS : CLEAR_HOUR], hour_ms);
}

/* Opens a minute. After a step of the clock, the minute can already have rows. */
static int open_minute(struct rollup *rollup, int64_t begin_ms)
{
	int64_t hour_ms = begin_ms - begin_ms % ROLLUP_HOUR_MS;
	bool pruned =
		begin_ms < rollup->kept_from_ms[RAW] || hour_ms < rollup->kept_from_ms[MINUTE];
	sqlite3_stmt *has_rows = rollup->statements[HAS_ROWS];
	int64_t has = 1;
	int rc = sqlite3_bind_int64(has_rows, 1, begin_ms);

	if (rc == SQLITE_OK)
		rc = conn_run_int(has_rows, &has);
	if (rc == SQLITE_OK && has)
		rc = run_at(rollup->statements[pruned ? CLEAR_MINUTE_ROWS : CLEAR_MINUTE],
			    begin_ms);
	rollup->open_ms = begin_ms;
	return rc;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Stores the begin of the open minute, the times since when rows are kept, and the trusted time. */
static int set_progress(struct rollup *rollup, int64_t begin_ms, const int64_t horizons[HORIZONS])
{
	const struct trusted_time *time = &rollup->time;
	sqlite3_stmt *set = rollup->statements[SET_PROGRESS];
	int64_t *kept = rollup->kept_from_ms;

	sqlite3_bind_int64(set, 1, begin_ms);
	for (int i = 0; i < RESOLUTIONS; i++) {
		/* a time after the trusted time comes from a clock that was wrong */
		kept[i] = earlier(later(kept[i], horizons[i]), time->trusted_ms);
		sqlite3_bind_int64(set, 2 + i, kept[i]);
	}
	sqlite3_bind_int64(set, 5, time->trusted_ms);
	sqlite3_bind_int64(set, 6, time->proposed_ms);
	sqlite3_bind_int64(set, 7, time->confirmed_ms);
	sqlite3_bind_int64(set, 8, time->wall_ms);
	return conn_run(set);
}

int rollup_advance(struct rollup *rollup, int64_t ts_ms)
{
	const struct db_retention *kept = &rollup->retention;
	int64_t begin_ms = ts_ms - ts_ms % ROLLUP_MINUTE_MS, ended_ms = rollup->open_ms;
	int64_t hour_ms = begin_ms - begin_ms % ROLLUP_HOUR_MS;
	int64_t ended_hour_ms = ended_ms - ended_ms % ROLLUP_HOUR_MS;
	int64_t now_ms = trusted_time_get(&rollup->time);
	int64_t horizons[HORIZONS];
	int rc;

	if (begin_ms == ended_ms)
		return SQLITE_OK;
	rc = run_at(rollup->statements[ROLL_MINUTE], rollup->open_ms);
	if (rc == SQLITE_OK && hour_ms != ended_hour_ms)
		rc = run_at(rollup->statements[ROLL_HOUR], ended_hour_ms);
	if (rc != SQLITE_OK)
		return rc;
	now_ms -= now_ms % ROLLUP_MINUTE_MS;
	horizons[RAW] = horizon(now_ms, kept->raw_hours * ROLLUP_HOUR_MS);
	horizons[MINUTE] = horizon(now_ms, kept->minute_days * (24 * ROLLUP_HOUR_MS));
	horizons[HOUR] = horizon(now_ms, kept->hour_days * (24 * ROLLUP_HOUR_MS));
	horizons[LONGEST] = earlier(horizons[HOUR], horizons[MINUTE]);
	rc = set_progress(rollup, begin_ms, horizons);
	if (rc == SQLITE_OK)
		rc = prune(rollup, horizons, hour_ms != ended_hour_ms);
	if (rc == SQLITE_OK && hour_ms != ended_hour_ms)
		rc = open_hour(rollup, hour_ms);
	return rc == SQLITE_OK ? open_minute(rollup, begin_ms) : rc;
}
