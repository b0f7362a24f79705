/* SPDX-License-Identifier: MIT */
/*
 * The writing connection with its roll-ups, and the files that are set aside because they are
 * damaged. A write waits at most BUSY_MS while another program has locked the file. In WAL
 * mode readers never delay a write.
 *
 * The database stores each vGPU name once, under a numeric id. A sample refers to this id. Querying
 * the id is 40 % of the cost of writing a sample, so the ids are cached. The cache is cleared when
 * the names may have changed: after a write of another program, after a rollback, and at the end of
 * a minute, when old names are pruned.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/number.h"
#include "base/xalloc.h"
#include "db/conn.h"
#include "db/schema.h"
#include "db/store.h"

/* --- the trusted time --- */

#define READING_MAX_MS 60000 /* longest time between two readings of a running daemon */

/* A suspend is not running time. CLOCK_BOOTTIME goes back if a container is restored elsewhere. */
static int64_t running_ms(int64_t elapsed_ms)
{
	if (elapsed_ms < 0)
		return 0;
	return elapsed_ms < READING_MAX_MS ? elapsed_ms : READING_MAX_MS;
}

static void propose(struct trusted_time *time, int64_t wall_ms)
{
	time->proposed_ms = wall_ms;
	time->confirmed_ms = 0;
}

void trusted_time_add(struct trusted_time *time, int64_t wall_ms, int64_t elapsed_ms)
{
	int64_t expected_ms = time->wall_ms + elapsed_ms;

	if (time->trusted_ms == 0) { /* there are no rows that could be lost */
		time->trusted_ms = wall_ms;
		propose(time, wall_ms);
	}
	time->trusted_ms += elapsed_ms;
	time->proposed_ms += elapsed_ms;
	time->confirmed_ms += running_ms(elapsed_ms);
	if (wall_ms < expected_ms - TRUSTED_TIME_STEP_MS)
		propose(time, wall_ms); /* the clock was wrong before, or is wrong now */
	if (time->confirmed_ms >= TRUSTED_TIME_CONFIRM_MS) {
		time->trusted_ms = time->proposed_ms;
		propose(time, wall_ms);
	}
	time->wall_ms = wall_ms;
}

int64_t trusted_time_get(const struct trusted_time *time)
{
	return time->trusted_ms < time->wall_ms ? time->trusted_ms : time->wall_ms;
}

/*
 * --- roll-ups and pruning ---
 *
 * A roll-up is computed from all rows of its minute or hour. If the clock was set back, a minute or
 * hour is opened again. Its roll-up is then computed again at its end, from the earlier and the new
 * rows. If the earlier rows may have been pruned, the new rows are added to the existing roll-up
 * instead, and the remaining earlier rows, which it contains, are removed.
 *
 * Old rows are pruned by the trusted time. Pruning removes a limited number of rows at a time, so
 * that no transaction is long; after a long downtime the pruning takes some hours.
 */

enum rollup_statement {
	GET_PROGRESS,
	SET_PROGRESS,
	HAS_ROWS,
	ROLL_MINUTE,
	ROLL_HOUR,
	CLEAR_MINUTE,
	CLEAR_HOUR,
	CLEAR_MINUTE_ROWS,
	CLEAR_HOUR_ROWS,
	ROLLUP_STATEMENTS
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

static const char *const rollup_sql[ROLLUP_STATEMENTS] = {
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
	/* a row that was made while the clock was far behind is as old as the row before it */
	{"DELETE FROM audit WHERE ts_ms < ?1 AND id < (SELECT min(id) FROM audit) + 5000"
	 " AND id < (SELECT min(id) FROM audit WHERE ts_ms >= ?1)",
	 LONGEST, true},
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
	sqlite3_stmt *statements[ROLLUP_STATEMENTS];
	sqlite3_stmt *prunes[PRUNES];
};

/* Must be called after a rollback. Reads the begin of the open minute from the file. */
static int rollup_reload(struct rollup *rollup)
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

static int run_at(sqlite3_stmt *statement, int64_t at_ms)
{
	sqlite3_bind_int64(statement, 1, at_ms);
	return conn_run(statement);
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

/* Stores the begin of the open minute, the times since when rows are kept, and the trusted time. */
static int set_progress(struct rollup *rollup, int64_t begin_ms, const int64_t horizons[HORIZONS])
{
	const struct trusted_time *time = &rollup->time;
	sqlite3_stmt *set = rollup->statements[SET_PROGRESS];
	int64_t *kept = rollup->kept_from_ms;

	sqlite3_bind_int64(set, 1, begin_ms);
	for (int i = 0; i < RESOLUTIONS; i++) {
		/* a time after the trusted time comes from a clock that was wrong */
		kept[i] = min_i64(max_i64(kept[i], horizons[i]), time->trusted_ms);
		sqlite3_bind_int64(set, 2 + i, kept[i]);
	}
	sqlite3_bind_int64(set, 5, time->trusted_ms);
	sqlite3_bind_int64(set, 6, time->proposed_ms);
	sqlite3_bind_int64(set, 7, time->confirmed_ms);
	sqlite3_bind_int64(set, 8, time->wall_ms);
	return conn_run(set);
}

/*
 * Must be called before a sample of @ts_ms is written, in the same transaction. If @ts_ms is in
 * another minute than the open one, the function rolls up the open minute, rolls up its hour if
 * @ts_ms is in another hour, prunes old rows, and opens the minute of @ts_ms. It stores the begin
 * of the open minute in the file, for the next start.
 *
 * Every committed state of the file therefore has roll-ups of all minutes except the open one.
 */
static int rollup_advance(struct rollup *rollup, int64_t ts_ms)
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
	horizons[LONGEST] = min_i64(horizons[HOUR], horizons[MINUTE]);
	rc = set_progress(rollup, begin_ms, horizons);
	if (rc == SQLITE_OK)
		rc = prune(rollup, horizons, hour_ms != ended_hour_ms);
	if (rc == SQLITE_OK && hour_ms != ended_hour_ms)
		rc = open_hour(rollup, hour_ms);
	return rc == SQLITE_OK ? open_minute(rollup, begin_ms) : rc;
}

/* --- the connection --- */

#define BUSY_MS 250

enum statement {
	/*
	 * A value below RECORD_KINDS is an enum record_kind and names the statement that inserts a
	 * record of this kind. RECORD_CLOCK has no statement.
	 */
	PUT_VGPU = RECORD_KINDS,
	FIND_VGPU,
	DATA_VERSION,
	BEGIN,
	COMMIT,
	ROLLBACK,
	SAVE_CONTRACTS,
	STATEMENTS,
};

#define LEDGER_STEP(s)                       \
	" (" s ", ?1 - ?1 % (" s " * 1000)," \
	" ?2, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"

/* The parameters ?1, ?2, ... of a record are its fields in the order of record.c. */
static const char *const statement_sql[STATEMENTS] = {
	[RECORD_SAMPLE] = "INSERT OR REPLACE INTO sample VALUES (?1, ?2 /* vgpu.num */,"
			  " ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
	[RECORD_GPU_SAMPLE] =
		"INSERT OR REPLACE INTO gpu_sample VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[RECORD_DECISION] =
		"INSERT OR REPLACE INTO decision VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
	[RECORD_ALERT] = "INSERT OR REPLACE INTO alert"
			 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
	[RECORD_TALLY] = "INSERT OR REPLACE INTO tally"
			 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
			 " ?15)",
	[RECORD_OFFER] = "INSERT OR REPLACE INTO offer"
			 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, NULL, ?11)",
	[RECORD_CAP_WRITE] = "INSERT INTO cap_write VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[RECORD_SETTING] = "INSERT OR REPLACE INTO setting VALUES (?1, ?2)",
	[RECORD_SETTING_GONE] = "DELETE FROM setting WHERE key = ?1",
	/* Adds the amounts to the sums of the minute, the hour and the day. */
	[RECORD_LEDGER] = "INSERT INTO ledger VALUES" LEDGER_STEP("60") "," LEDGER_STEP(
		"3600") "," LEDGER_STEP("86400") " ON CONFLICT DO UPDATE SET sold_cap_s = "
						 "sold_cap_s + ?5,"
						 " sold_broken_s = sold_broken_s + ?6, "
						 "sold_revenue = sold_revenue + ?7,"
						 " sold_penalty = sold_penalty + ?8, kept_cap_s = "
						 "kept_cap_s + ?9,"
						 " kept_broken_s = kept_broken_s + ?10, "
						 "kept_revenue = kept_revenue + ?11,"
						 " kept_penalty = kept_penalty + ?12",
	[RECORD_LEDGER_GPU] = "INSERT INTO ledger_gpu VALUES (60, ?1 - ?1 % 60000, ?2, ?3),"
			      " (3600, ?1 - ?1 % 3600000, ?2, ?3),"
			      " (86400, ?1 - ?1 % 86400000, ?2, ?3)"
			      " ON CONFLICT DO UPDATE SET watched_s = watched_s + ?3",
	[RECORD_PRICE] =
		"INSERT OR REPLACE INTO price SELECT ?1, ?2, ?3, ?4 WHERE (?3, ?4) IS NOT"
		" (SELECT price_per_cap_hour, penalty_per_broken_s FROM price WHERE flavor = ?2"
		" ORDER BY ts_ms DESC LIMIT 1)",
	/* A row that a start has restored from the contracts file may be in the database. */
	[RECORD_AUDIT] =
		"INSERT OR IGNORE INTO audit (ts_ms, who, origin, method, path, status,"
		" before_json, after_json, id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
	[RECORD_SILENCE] = "INSERT OR REPLACE INTO silence VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[PUT_VGPU] = ("INSERT INTO vgpu (id, gpu) VALUES (?1, ?2)"
		      " ON CONFLICT (id) DO UPDATE SET gpu = excluded.gpu RETURNING num"),
	[FIND_VGPU] = "SELECT num FROM vgpu WHERE id = ?1 AND gpu = ?2",
	[DATA_VERSION] = "PRAGMA data_version",
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[ROLLBACK] = "ROLLBACK",
	[SAVE_CONTRACTS] = "INSERT OR REPLACE INTO contracts VALUES (1, ?1, ?2)",
};

struct cached_vgpu {
	char id[ID_MAX], gpu[ID_MAX];
	int64_t num;
};

struct store {
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENTS];
	struct rollup rollup;
	struct cached_vgpu *cached;
	size_t n_cached, size_cached;
	size_t next_cached; /* index in cached where the next search begins */
	int64_t cached_minute;
	/* PRAGMA data_version; changes if another connection changes the file */
	int64_t data_version;
	bool no_log; /* see store_has_no_log() */
	struct conn_files opened;
};

/*
 * secure_delete = OFF avoids overwriting deleted rows. journal_size_limit truncates a large WAL
 * file.
 */
static const char setup_sql[] = "PRAGMA synchronous = NORMAL;"
				"PRAGMA secure_delete = OFF;"
				"PRAGMA cache_size = -1024;"
				"PRAGMA journal_size_limit = 8388608;";

static const char log_sql[] = "PRAGMA journal_mode = WAL";
/* Without a log, a power failure could damage the file with synchronous = NORMAL. */
static const char no_log_sql[] = "PRAGMA journal_mode = TRUNCATE;"
				 "PRAGMA synchronous = FULL;";

static void disconnect(struct store *store)
{
	conn_finalize(store->rollup.statements, ROLLUP_STATEMENTS);
	conn_finalize(store->rollup.prunes, PRUNES);
	conn_finalize(store->statements, STATEMENTS);
	sqlite3_close(store->db);
	store->db = NULL;
}

static int set_up(struct store *store, const char *path, struct err *reterr)
{
	const char *prune_sql[PRUNES];
	struct rollup *rollup = &store->rollup;
	int rc, r;

	for (int i = 0; i < PRUNES; i++)
		prune_sql[i] = prunes[i].sql;
	r = schema_migrate(store->db, path, schema_steps, schema_version, reterr);
	if (r < 0)
		return r;
	rc = sqlite3_exec(store->db, setup_sql, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(store->db, store->no_log ? no_log_sql : log_sql, NULL, NULL,
				  NULL);
	if (rc == SQLITE_OK)
		rc = conn_prepare(store->db, statement_sql, STATEMENTS, store->statements);
	if (rc == SQLITE_OK)
		rc = conn_prepare(store->db, rollup_sql, ROLLUP_STATEMENTS, rollup->statements);
	if (rc == SQLITE_OK)
		rc = conn_prepare(store->db, prune_sql, PRUNES, rollup->prunes);
	if (rc == SQLITE_OK)
		rc = rollup_reload(rollup);
	conn_find_files(path, &store->opened);
	return rc == SQLITE_OK ? 0 : conn_fail(store->db, rc, path, reterr);
}

/* Copies the log to the file. An exclusive connection needs no shared index for this. */
static int leave_log(const char *path, struct err *reterr)
{
	sqlite3 *db = NULL;
	int r = conn_open(path, SQLITE_OPEN_READWRITE, CONN_BUSY_MS, &db, reterr);
	int rc;

	if (r < 0)
		return r;
	rc = sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = TRUNCATE",
			  NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		r = conn_fail(db, rc, path, reterr);
	sqlite3_close(db);
	return r;
}

static int try_open(const char *path, int flags, struct store *store, struct err *reterr)
{
	int busy_ms = store->no_log ? CONN_BUSY_MS : BUSY_MS;
	int r = conn_open(path, SQLITE_OPEN_READWRITE | flags, busy_ms, &store->db, reterr);

	return r < 0 ? r : set_up(store, path, reterr);
}

/*
 * Opens an existing file; @flags SQLITE_OPEN_CREATE: or a new one. Like db_open(). Also returns
 * -EBUSY if another program has locked the file, and -EUCLEAN if the file is damaged.
 */
static int open_store(const char *path, int flags, const struct db_retention *retention,
		      struct store **ret_store, struct err *reterr)
{
	struct store *store = xcalloc(1, sizeof(*store));
	int r;

	store->rollup.retention = *retention;
	r = try_open(path, flags, store, reterr);
	if (r < 0 && store->db && sqlite3_extended_errcode(store->db) == SQLITE_IOERR_SHMMAP) {
		disconnect(store);
		store->no_log = true;
		r = leave_log(path, reterr);
		if (r >= 0)
			r = try_open(path, flags, store, reterr);
	}
	if (r == -EBUSY && conn_probe_locks(path) == -ENOLCK)
		r = err_fail(reterr, ENOLCK, "%s: the file system has no locks: %s", path,
			     strerror(ENOLCK));
	if (r < 0) {
		store_close(store);
		return r;
	}
	*ret_store = store;
	return 0;
}

struct store *store_close(struct store *store)
{
	if (!store)
		return NULL;
	disconnect(store);
	free(store->cached);
	free(store);
	return NULL;
}

struct store *store_abandon(struct store *store)
{
	(void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	return store_close(store);
}

static int take_verdict(void *userdata, int n, char *values[], char *names[])
{
	(void)n;
	(void)names;
	snprintf(userdata, DB_MESSAGE_MAX, "%.*s", DB_MESSAGE_MAX - 1, values[0] ? values[0] : "");
	return 0;
}

bool store_check(struct store *store, char message[DB_MESSAGE_MAX])
{
	const char *path = sqlite3_db_filename(store->db, "main");
	sqlite3 *other = NULL; /* reads each page from the file, not from the cache of the store */
	struct err err = {""};
	struct stat st;
	int r, rc;

	if (stat(path, &st) == 0 && st.st_size == 0) { /* sqlite would find no fault */
		strcpy(message, "the file is empty");
		return false;
	}
	/* copies the pages in the log to the file, which may repair it */
	(void)sqlite3_wal_checkpoint_v2(store->db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	r = conn_open(path, SQLITE_OPEN_READONLY, BUSY_MS, &other, &err);
	if (r == 0) {
		rc = sqlite3_exec(other, "PRAGMA quick_check(1)", take_verdict, message, NULL);
		r = rc == SQLITE_OK ? 0 : conn_fail(other, rc, path, &err);
		sqlite3_close(other);
	}
	if (r == 0)
		return strcmp(message, "ok") == 0;
	snprintf(message, DB_MESSAGE_MAX, "%.*s", DB_MESSAGE_MAX - 1, err.msg);
	return r != -EUCLEAN;
}

/* --- the numbers of vGPUs --- */

static void clear_cache(struct store *store)
{
	store->n_cached = store->next_cached = 0;
}

static const struct cached_vgpu *find_cached(struct store *store, const char *id, const char *gpu)
{
	for (size_t i = 0; i < store->n_cached; i++) {
		size_t at = (store->next_cached + i) % store->n_cached;
		const struct cached_vgpu *cached = &store->cached[at];

		if (strcmp(cached->id, id) != 0 || strcmp(cached->gpu, gpu) != 0)
			continue;
		store->next_cached = at + 1;
		return cached;
	}
	return NULL;
}

static void cache_vgpu(struct store *store, const char *id, const char *gpu, int64_t num)
{
	struct cached_vgpu *cached;

	if (store->n_cached == store->size_cached) {
		store->size_cached = store->size_cached ? 2 * store->size_cached : 64;
		store->cached = xreallocarray(store->cached, store->size_cached, sizeof(*cached));
	}
	cached = &store->cached[store->n_cached++];
	store->next_cached = store->n_cached;
	cached->num = num;
	if (id_copy(cached->id, id) < 0 || id_copy(cached->gpu, gpu) < 0)
		store->n_cached--;
}

/* Runs @statement to get the numeric id of a vGPU. Returns SQLITE_NOTFOUND if the vGPU has none. */
static int get_number(struct store *store, int statement, const char *id, const char *gpu,
		      int64_t *ret_num)
{
	sqlite3_stmt *get = store->statements[statement];
	int rc = sqlite3_bind_text(get, 1, id, -1, SQLITE_STATIC);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(get, 2, gpu, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = conn_run_int(get, ret_num);
	/* the bindings point to names of the caller, which may free them */
	(void)sqlite3_clear_bindings(get);
	return rc;
}

static int find_vgpu(struct store *store, const char *id, const char *gpu, int64_t *ret_num)
{
	const struct cached_vgpu *cached = find_cached(store, id, gpu);
	int rc;

	if (cached) {
		*ret_num = cached->num;
		return SQLITE_OK;
	}
	rc = get_number(store, FIND_VGPU, id, gpu, ret_num);
	if (rc == SQLITE_NOTFOUND) { /* the vGPU is new or moved to another GPU */
		clear_cache(store);
		rc = get_number(store, PUT_VGPU, id, gpu, ret_num);
	}
	if (rc == SQLITE_OK)
		cache_vgpu(store, id, gpu, *ret_num);
	return rc;
}

/* --- records --- */

int store_begin(struct store *store)
{
	int rc = conn_run(store->statements[BEGIN]);
	int64_t version = 0;

	if (rc != SQLITE_OK)
		return rc;
	rc = conn_run_int(store->statements[DATA_VERSION], &version);
	if (version != store->data_version)
		clear_cache(store);
	store->data_version = version;
	return rc;
}

static int write_record(struct store *store, enum record_kind kind, const void *record)
{
	int rc = record_bind(kind, record, store->statements[kind]);

	return rc == SQLITE_OK ? conn_run(store->statements[kind]) : rc;
}

/* Writes a record whose second parameter is the number of its vGPU. */
static int write_named(struct store *store, enum record_kind kind, const void *record,
		       const char *vgpu, const char *gpu)
{
	int64_t num;
	int rc = find_vgpu(store, vgpu, gpu, &num);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(store->statements[kind], 2, num);
	return rc == SQLITE_OK ? write_record(store, kind, record) : rc;
}

void store_read_clock(struct store *store, const struct record_clock *clock)
{
	struct rollup *rollup = &store->rollup;

	trusted_time_add(&rollup->time, clock->wall_ms,
			 rollup->boot_ms ? clock->boot_ms - rollup->boot_ms : 0);
	rollup->boot_ms = clock->boot_ms;
}

int store_write(struct store *store, enum record_kind kind, const void *record)
{
	const struct db_ledger *ledger = record;
	const struct db_sample *sample = record;
	int rc = SQLITE_OK;

	if (kind == RECORD_LEDGER)
		return write_named(store, kind, ledger, ledger->vgpu, ledger->gpu);
	if (kind == RECORD_CLOCK) {
		store_read_clock(store, record);
		return SQLITE_OK;
	}
	if (kind == RECORD_SAMPLE)
		rc = rollup_advance(&store->rollup, sample->ts_ms);
	else if (kind == RECORD_GPU_SAMPLE)
		rc = rollup_advance(&store->rollup, ((const struct db_gpu_sample *)record)->ts_ms);
	if (rc != SQLITE_OK)
		return rc;
	if (kind != RECORD_SAMPLE)
		return write_record(store, kind, record);
	if (sample->ts_ms / ROLLUP_MINUTE_MS != store->cached_minute)
		clear_cache(store);
	store->cached_minute = sample->ts_ms / ROLLUP_MINUTE_MS;
	return write_named(store, kind, sample, sample->vgpu, sample->gpu);
}

/* Not a prepared statement, because sqlite sets this when it prepares the statement. */
int store_set_durable(struct store *store, bool durable)
{
	if (store->no_log)
		return SQLITE_OK; /* each commit is on disk, see no_log_sql */
	return sqlite3_exec(store->db,
			    durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
			    NULL, NULL, NULL);
}

int store_commit(struct store *store)
{
	return conn_run(store->statements[COMMIT]);
}

int store_rollback(struct store *store)
{
	int rc;

	clear_cache(store);
	/* No ROLLBACK if sqlite has already rolled back, as it does after some failures. */
	rc = sqlite3_get_autocommit(store->db) ? SQLITE_OK : conn_run(store->statements[ROLLBACK]);
	return rc == SQLITE_OK ? rollup_reload(&store->rollup) : rc;
}

int store_save_contracts(struct store *store, int64_t revision, const char *text)
{
	sqlite3_stmt *statement = store->statements[SAVE_CONTRACTS];
	int rc = sqlite3_bind_int64(statement, 1, revision);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(statement, 2, text, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = conn_run(statement);
	/* the binding points to the text of the caller, which may free it */
	(void)sqlite3_clear_bindings(statement);
	return rc;
}

int64_t store_clock_ahead_ms(const struct store *store)
{
	return store->rollup.time.wall_ms - trusted_time_get(&store->rollup.time);
}

const char *store_message(const struct store *store)
{
	return sqlite3_errmsg(store->db);
}

bool store_moved(const struct store *store)
{
	return conn_moved(store->db);
}

const char *store_lost_file(const struct store *store)
{
	return store->no_log
		       ? NULL
		       : conn_changed_file(sqlite3_db_filename(store->db, "main"), &store->opened);
}

int store_empty_log(struct store *store)
{
	return sqlite3_wal_checkpoint_v2(store->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
}

bool store_has_no_log(const struct store *store)
{
	return store->no_log;
}

/* --- the files that were set aside --- */

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Writes the path of file @name in the folder of @path. */
static int write_path(const char *path, const char *name, const char *end, char ret_path[PATH_MAX])
{
	int n = snprintf(ret_path, PATH_MAX, "%.*s%s%s", (int)(name_of(path) - path), path, name,
			 end);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* True if file @name was set aside, but not for a further file of a database. */
static bool is_damaged_name(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 1; i < CONN_FILES; i++) {
		size_t length = strlen(conn_file_ends[i]);

		if (n > length && strcmp(name + n - length, conn_file_ends[i]) == 0)
			return false;
	}
	return strstr(name, FILE_ASIDE_MARK) && n < DB_DAMAGED_NAME_MAX;
}

/* True if file @name was set aside for the database @path. */
static bool is_own_name(const char *path, const char *name)
{
	size_t length = strlen(name_of(path));

	return strncmp(name, name_of(path), length) == 0 &&
	       strncmp(name + length, FILE_ASIDE_MARK, strlen(FILE_ASIDE_MARK)) == 0;
}

/* Compares the times at which two files were set aside. */
static int compare_times(const struct dirent **a, const struct dirent **b)
{
	return strcmp(strstr((*a)->d_name, FILE_ASIDE_MARK), strstr((*b)->d_name, FILE_ASIDE_MARK));
}

static int is_damaged(const struct dirent *entry)
{
	return is_damaged_name(entry->d_name);
}

static void remove_files(const char *path, const char *name)
{
	char victim[PATH_MAX];

	for (size_t i = 0; i < CONN_FILES; i++)
		if (write_path(path, name, conn_file_ends[i], victim) == 0)
			(void)remove(victim);
}

/* Calls @each for the name of each file that was set aside, oldest first. */
static void for_each_damaged(const char *path, void (*each)(void *userdata, const char *name),
			     void *userdata)
{
	char folder[PATH_MAX];
	struct dirent **entries;
	int n = write_path(path, ".", "", folder);

	if (n == 0)
		n = scandir(folder, &entries, is_damaged, compare_times);
	if (n < 0)
		return;
	for (int i = 0; i < n; i++) {
		each(userdata, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

struct listing {
	const char *path;
	struct db_damaged *damaged;
};

/* If the list is full, replaces the newest name. */
static void add_name(void *userdata, const char *name)
{
	struct listing *listing = userdata;
	struct db_damaged *damaged = listing->damaged;

	damaged->database |= is_own_name(listing->path, name);
	damaged->n -= damaged->n == DB_DAMAGED_MAX;
	strcpy(damaged->names[damaged->n++], name);
}

void damage_list(const char *path, struct db_damaged *ret_damaged)
{
	CLEANUP_FREE char *real = realpath(path, NULL);

	path = real ? real : path;
	*ret_damaged = (struct db_damaged){.n = 0};
	for_each_damaged(path, add_name, &(struct listing){.path = path, .damaged = ret_damaged});
}

struct trimming {
	const char *path, *newest;
	int others;
};

static void trim(void *userdata, const char *name)
{
	struct trimming *t = userdata;

	if (is_own_name(t->path, name) && strcmp(name, t->newest) != 0 &&
	    ++t->others >= DB_DAMAGED_MAX)
		remove_files(t->path, name);
}

/* --- setting aside --- */

static int choose_name(const char *path, char ret_name[DB_DAMAGED_NAME_MAX])
{
	char aside[PATH_MAX];
	int r = file_name_aside(path, aside);

	if (r < 0)
		return r;
	if (strlen(name_of(aside)) >= DB_DAMAGED_NAME_MAX)
		return -ENAMETOOLONG;
	strcpy(ret_name, name_of(aside));
	return 0;
}

/* sqlite cannot open a database if its log or index is no regular file: renames only this file. */
static int move_other(const char *path, const char *end, struct damage_result *result)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct stat st;
	int r = write_path(path, name_of(path), end, from);

	if (r < 0 || lstat(from, &st) < 0 || S_ISREG(st.st_mode))
		return r;
	r = choose_name(path, result->set_aside);
	if (r == 0)
		r = write_path(path, result->set_aside, "", to);
	if (r == 0 && rename(from, to) < 0)
		r = -errno;
	if (r < 0)
		result->set_aside[0] = '\0';
	else
		snprintf(result->why, sizeof(result->why), "%s%s is not a regular file",
			 name_of(path), end);
	return r;
}

void damage_move_log(const char *path, struct damage_result *ret_result)
{
	CLEANUP_FREE char *real = realpath(path, NULL);
	char from[PATH_MAX], to[PATH_MAX];
	struct stat st;

	*ret_result = (struct damage_result){.created = false};
	path = real ? real : path;
	if (write_path(path, name_of(path), conn_file_ends[CONN_LOG], from) < 0 ||
	    stat(from, &st) < 0 || st.st_size == 0 || file_name_aside(from, to) < 0 ||
	    strlen(name_of(to)) >= DB_DAMAGED_NAME_MAX || rename(from, to) < 0)
		return;
	strcpy(ret_result->set_aside, name_of(to));
	strcpy(ret_result->why, "another program has put it in the place of the log");
}

static int rename_files(const char *path, const char *name)
{
	char from[PATH_MAX], to[PATH_MAX];

	for (size_t i = 0; i < CONN_FILES; i++) {
		int r = write_path(path, name_of(path), conn_file_ends[i], from);

		if (r == 0)
			r = write_path(path, name, conn_file_ends[i], to);
		if (r == 0 && rename(from, to) < 0 && (i == 0 || errno != ENOENT))
			r = -errno;
		if (r < 0)
			return r;
	}
	return 0;
}

static int set_aside(const char *path, struct damage_result *result, struct err *reterr)
{
	int r = choose_name(path, result->set_aside);

	if (r == 0)
		r = rename_files(path, result->set_aside);
	if (r < 0) {
		result->set_aside[0] = '\0';
		return err_fail(reterr, -r, "the file cannot be renamed: %s", strerror(-r));
	}
	for_each_damaged(path, trim, &(struct trimming){.path = path, .newest = result->set_aside});
	return 0;
}

/* --- opening --- */

/* Creates a complete database under another name, so that no crash leaves an incomplete one. */
static int create_new(const char *path, const struct db_retention *retention,
		      char ret_new[PATH_MAX], struct err *reterr)
{
	char name[NAME_MAX + 1];
	struct store *store;
	int r = -ENAMETOOLONG;

	if ((size_t)snprintf(name, sizeof(name), "%s.new", name_of(path)) < sizeof(name))
		r = write_path(path, name, "", ret_new);
	if (r < 0)
		return err_fail(reterr, -r, "%s: %s", path, strerror(-r));
	remove_files(path, name);
	r = open_store(ret_new, SQLITE_OPEN_CREATE, retention, &store, reterr);
	if (r == -EUCLEAN) /* it is not the file: sqlite does not accept the statements */
		r = -EIO;
	if (r < 0)
		remove_files(path, name);
	else
		store_close(store);
	return r;
}

static int begin_anew(const char *path, const struct db_retention *retention,
		      struct damage_result *result, struct err *reterr)
{
	char fresh[PATH_MAX], stale[PATH_MAX];
	int r = create_new(path, retention, fresh, reterr);

	if (r >= 0 && result->why[0])
		r = set_aside(path, result, reterr);
	if (r < 0)
		return r;
	/* a log without its database would be applied to the new one */
	for (size_t i = 1; i < CONN_FILES; i++)
		if (write_path(path, name_of(path), conn_file_ends[i], stale) == 0)
			(void)unlink(stale);
	if (rename(fresh, path) < 0)
		return err_fail(reterr, errno, "%s: cannot be created: %s", path, strerror(errno));
	result->created = true;
	return 0;
}

/* True if the database has a log: sqlite removes it when the last connection is closed. */
static bool has_log(const char *path)
{
	char log[PATH_MAX];
	struct stat st;

	return write_path(path, name_of(path), conn_file_ends[1], log) == 0 &&
	       stat(log, &st) == 0 && st.st_size > 0;
}

/* Returns -EUCLEAN if there is no file with content. sqlite would accept an empty file. */
static int check_file(const char *path, struct err *reterr)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return 0; /* the open reports the error */
	if (S_ISREG(st.st_mode) && st.st_size == 0)
		return err_fail(reterr, EUCLEAN, "%s: the file is empty", path);
	return 0;
}

/* Removes "PATH: " from a message. */
static const char *without_path(const char *path, const char *message)
{
	size_t n = strlen(path);

	return strncmp(message, path, n) == 0 && strncmp(message + n, ": ", 2) == 0
		       ? message + n + 2
		       : message;
}

int damage_open(const char *path, const struct db_retention *retention, const char *why,
		struct store **ret_store, struct damage_result *ret_result, struct err *reterr)
{
	CLEANUP_FREE char *real = realpath(path, NULL); /* the log is beside the target of a link */
	struct damage_result *result = ret_result;
	struct err err = {""};
	struct stat st;
	int r;

	*result = (struct damage_result){.created = false};
	if (!real && lstat(path, &st) == 0) /* for example, the disk is not mounted */
		return err_fail(reterr, errno, "%s: the target of the link is missing", path);
	path = real ? real : path;
	for (size_t i = 1; i < CONN_FILES; i++) {
		r = move_other(path, conn_file_ends[i], result);
		if (r < 0)
			return err_fail(reterr, -r, "%s%s: cannot be renamed: %s", path,
					conn_file_ends[i], strerror(-r));
	}
	r = why ? -EUCLEAN : check_file(path, &err);
	result->unclean = r == 0 && has_log(path);
	if (r == 0)
		r = open_store(path, 0, retention, ret_store, &err);
	if (r != -EUCLEAN && r != -ENOENT) {
		if (r < 0)
			(void)err_fail(reterr, -r, "%s", err.msg);
		return r;
	}
	if (r == -EUCLEAN)
		snprintf(result->why, sizeof(result->why), "%.*s", DB_MESSAGE_MAX - 1,
			 without_path(path, why ? why : err.msg));
	result->unclean = false;
	r = begin_anew(path, retention, result, &err);
	if (r < 0 && result->why[0])
		return err_fail(reterr, -r, "%s: damaged (%s); a new one cannot be created: %s",
				path, result->why, err.msg);
	if (r < 0)
		return err_fail(reterr, -r, "%s", err.msg);
	return open_store(path, 0, retention, ret_store, reterr);
}
