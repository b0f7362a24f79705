/* SPDX-License-Identifier: MIT */
/*
 * The reading connection. It is read-only, and in WAL mode readers never block the writer. A query
 * that exceeds a limit is interrupted by sqlite's progress handler.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/xalloc.h"
#include "db/conn.h"
#include "db/schema.h"
#include "db/store.h"

struct statement {
	const char *sql;
	const int64_t *numbers; /* the first @n parameters */
	int n;
	const char *text; /* the parameter after the numbers; NULL: none */
};

/* A statement without parameters. */
#define STATEMENT(text) (&(struct statement){.sql = (text)})

/* Called for each row. A non-zero result ends the statement. */
typedef int (*row_fn)(void *userdata, sqlite3_stmt *row);

#define BUSY_MS 200
/* Number of instructions of sqlite's virtual machine between two checks of the limits. A check
 * costs about as much as four instructions, and 10,000 instructions take about a millisecond. */
#define INSTRUCTIONS 10000

struct db_reader {
	char *path;
	sqlite3 *db; /* NULL: not open */
	struct conn_files opened;
	struct db_limit limit;
};

/* --- opening --- */

static bool is_cancelled(const struct db_reader *reader)
{
	return reader->limit.cancelled && atomic_load(reader->limit.cancelled);
}

/* A non-zero result makes sqlite interrupt the running statement. */
static int check_limit(void *userdata)
{
	const struct db_reader *reader = userdata;

	return is_cancelled(reader) ||
	       (reader->limit.end_ns > 0 && clock_now().mono_ns >= reader->limit.end_ns);
}

static void disconnect(struct db_reader *reader)
{
	sqlite3_close(reader->db);
	reader->db = NULL;
}

/* While a writer has the database open, the log exists unless the database has none. */
static bool has_log(const char *path)
{
	char log[PATH_MAX];

	return snprintf(log, sizeof(log), "%s%s", path, conn_file_ends[CONN_LOG]) < PATH_MAX &&
	       access(log, F_OK) == 0;
}

static int connect_with(struct db_reader *reader, int flags, struct err *reterr)
{
	int r;

	r = conn_open(reader->path, SQLITE_OPEN_READONLY | flags,
		      has_log(reader->path) ? BUSY_MS : CONN_BUSY_MS, &reader->db, reterr);
	if (r < 0)
		return r;
	r = schema_check(reader->db, reader->path, reterr);
	if (r < 0)
		disconnect(reader);
	else
		sqlite3_progress_handler(reader->db, INSTRUCTIONS, check_limit, reader);
	conn_find_files(reader->path, &reader->opened);
	return r;
}

/* On a read-only file system, sqlite cannot create the index that a log needs. */
static int connect_file(struct db_reader *reader, struct err *reterr)
{
	int r = connect_with(reader, 0, reterr);

	if (r < 0 && conn_is_fixed(reader->path))
		r = connect_with(reader, SQLITE_OPEN_URI, reterr);
	return r;
}

int db_reader_open(const char *path, struct db_reader **ret_reader, struct err *reterr)
{
	struct db_reader *reader = xcalloc(1, sizeof(*reader));
	int r;

	reader->path = xstrdup(path);
	r = connect_file(reader, reterr);
	if (r < 0) {
		db_reader_close(reader);
		return r;
	}
	*ret_reader = reader;
	return 0;
}

struct db_reader *db_reader_close(struct db_reader *reader)
{
	if (!reader)
		return NULL;
	disconnect(reader);
	free(reader->path);
	free(reader);
	return NULL;
}

void db_reader_limit(struct db_reader *reader, const struct db_limit *limit)
{
	reader->limit = *limit;
}

/* --- running --- */

/* Begins a query: until end_query() all statements see one state of the file. If the file was
 * replaced, it is opened again. */
static int begin_query(struct db_reader *reader)
{
	int rc;

	if (reader->db &&
	    (conn_moved(reader->db) || conn_changed_file(reader->path, &reader->opened)))
		disconnect(reader);
	if (!reader->db) {
		int r = connect_file(reader, /* reterr= */ NULL);

		if (r < 0)
			return r;
	}
	rc = sqlite3_exec(reader->db, "BEGIN", NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : conn_errno(reader->db, rc);
}

/*
 * Ends a query. Returns the result of the query, which is @r, or -ETIME or -ECANCELED if a limit of
 * db_reader_limit() has ended the query.
 */
static int end_query(struct db_reader *reader, int r)
{
	/* cannot fail, because the transaction wrote nothing */
	(void)sqlite3_exec(reader->db, "COMMIT", NULL, NULL, NULL);
	if (r != -EINTR)
		return r;
	return is_cancelled(reader) ? -ECANCELED : -ETIME;
}

static int prepare(sqlite3 *db, const struct statement *statement, sqlite3_stmt **ret_prepared)
{
	int rc = sqlite3_prepare_v2(db, statement->sql, -1, ret_prepared, NULL);

	for (int i = 0; i < statement->n && rc == SQLITE_OK; i++)
		rc = sqlite3_bind_int64(*ret_prepared, i + 1, statement->numbers[i]);
	if (rc == SQLITE_OK && statement->text)
		rc = sqlite3_bind_text(*ret_prepared, statement->n + 1, statement->text, -1,
				       SQLITE_STATIC);
	return rc;
}

/*
 * Runs a statement between begin_query() and end_query(). Returns 0, the non-zero result of @row,
 * or a negative errno. The statement is prepared for each call, because queries are rare.
 */
static int run(struct db_reader *reader, const struct statement *statement, row_fn row,
	       void *userdata)
{
	sqlite3_stmt *prepared = NULL;
	int rc = prepare(reader->db, statement, &prepared), r = 0;

	if (rc == SQLITE_OK)
		rc = SQLITE_ROW;
	while (r == 0 && rc == SQLITE_ROW && (rc = sqlite3_step(prepared)) == SQLITE_ROW)
		r = row(userdata, prepared);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		r = conn_errno(reader->db, rc);
	sqlite3_finalize(prepared);
	return r;
}

struct receiver {
	enum record_kind kind;
	void *record;
	db_row_fn row;
	void *userdata;
};

static int take_record(void *userdata, sqlite3_stmt *row)
{
	const struct receiver *receiver = userdata;

	record_read(receiver->kind, row, receiver->record);
	return receiver->row(receiver->userdata, receiver->record);
}

/* Does the same with each row as a record of @kind, whose fields are the columns. */
static int run_records(struct db_reader *reader, const struct statement *statement,
		       enum record_kind kind, db_row_fn row, void *userdata)
{
	CLEANUP_FREE void *record = xcalloc(1, record_types[kind].size);

	return run(reader, statement, take_record, &(struct receiver){kind, record, row, userdata});
}

/* Begin a query, run one statement and end the query. */
static int query(struct db_reader *reader, const struct statement *statement, row_fn row,
		 void *userdata)
{
	int r = begin_query(reader);

	return r < 0 ? r : end_query(reader, run(reader, statement, row, userdata));
}

static int query_records(struct db_reader *reader, const struct statement *statement,
			 enum record_kind kind, db_row_fn row, void *userdata)
{
	int r = begin_query(reader);

	return r < 0 ? r : end_query(reader, run_records(reader, statement, kind, row, userdata));
}

/* Callbacks that store the first column as a number. @userdata is an int64_t or a double. */
static int take_int(void *userdata, sqlite3_stmt *row)
{
	*(int64_t *)userdata = sqlite3_column_int64(row, 0);
	return 0;
}

static int take_double(void *userdata, sqlite3_stmt *row)
{
	*(double *)userdata = sqlite3_column_double(row, 0);
	return 0;
}

/*
 * --- the history of a vGPU: of the three resolutions (raw rows, minutes, hours), a query reads the
 * coarsest that divides its step and whose rows cover its range ---
 */

#define STEP_MAX 86400

enum resolution { RAW, MINUTE, HOUR, RESOLUTIONS };

#define FROM_ROLL_UP(table)                                                                       \
	"SELECT ts_ms, samples, short, broken, gaps, samples, cap_sum, load_n,"                   \
	" load_sum, util_n, util_sum, fps_n, fps_sum, target_fps_n, target_fps_sum, frame_p99_n," \
	" frame_p99_sum FROM " table                                                              \
	" WHERE vgpu = ?1 AND ts_ms >= ?2 AND ts_ms < ?3 ORDER BY ts_ms"

/* Columns: begin, samples, short, broken, gaps, then count and sum of each value. */
static const char *const rows_sql[RESOLUTIONS] = {
	[RAW] = "SELECT ts_ms, 1, short_of_target, broken, gap, 1, cap_pct, load_pct NOTNULL, "
		"load_pct,"
		" util_pct NOTNULL, util_pct, fps NOTNULL, fps, target_fps NOTNULL, target_fps,"
		" frame_p99_ms NOTNULL, frame_p99_ms FROM sample"
		" WHERE vgpu = ?1 AND ts_ms >= ?2 AND ts_ms < ?3 ORDER BY ts_ms",
	[MINUTE] = FROM_ROLL_UP("sample_minute"),
	[HOUR] = FROM_ROLL_UP("sample_hour"),
};

static const int64_t resolution_ms[RESOLUTIONS] = {1, ROLLUP_MINUTE_MS, ROLLUP_HOUR_MS};

enum value { CAP, LOAD, UTIL, FPS, TARGET_FPS, FRAME_P99, VALUES };

struct history {
	int64_t from_ms, to_ms, step_ms;
	int64_t vgpu; /* numeric id */
	char gpu[ID_MAX];
	int64_t open_ms;	      /* begin of the minute that is not yet rolled up */
	int64_t kept_ms[RESOLUTIONS]; /* for each resolution: rows before this time were pruned */
	db_point_fn point;
	void *userdata;
	/* sums and counts of the current step */
	int64_t begin_ms;
	int64_t samples, short_n, broken_n, gaps;
	int64_t n[VALUES];
	double sum[VALUES];
};

static double mean(const struct history *history, enum value value)
{
	return history->n[value] > 0 ? history->sum[value] / (double)history->n[value] : NAN;
}

static int emit_point(struct history *history)
{
	double samples = (double)history->samples;
	struct db_point point = {
		.gpu = history->gpu,
		.ts_ms = history->begin_ms,
		.cap_pct = mean(history, CAP),
		.load_pct = mean(history, LOAD),
		.util_pct = mean(history, UTIL),
		.fps = mean(history, FPS),
		.target_fps = mean(history, TARGET_FPS),
		.frame_p99_ms = mean(history, FRAME_P99),
		.short_pct = 100.0 * (double)history->short_n / samples,
		.broken_pct = 100.0 * (double)history->broken_n / samples,
		.samples = history->samples,
		.gaps = history->gaps,
		.load_n = history->n[LOAD],
		.util_n = history->n[UTIL],
		.fps_n = history->n[FPS],
		.target_fps_n = history->n[TARGET_FPS],
		.frame_p99_n = history->n[FRAME_P99],
	};

	history->samples = history->short_n = history->broken_n = history->gaps = 0;
	memset(history->n, 0, sizeof(history->n));
	memset(history->sum, 0, sizeof(history->sum));
	return history->point(history->userdata, &point);
}

static int add_row(void *userdata, sqlite3_stmt *row)
{
	struct history *history = userdata;
	int64_t ts_ms = sqlite3_column_int64(row, 0);
	int64_t begin_ms = ts_ms - ts_ms % history->step_ms;

	if (history->samples > 0 && begin_ms != history->begin_ms) {
		int r = emit_point(history);

		if (r != 0)
			return r;
	}
	history->begin_ms = begin_ms;
	history->samples += sqlite3_column_int64(row, 1);
	history->short_n += sqlite3_column_int64(row, 2);
	history->broken_n += sqlite3_column_int64(row, 3);
	history->gaps += sqlite3_column_int64(row, 4);
	for (int i = 0; i < VALUES; i++) {
		history->n[i] += sqlite3_column_int64(row, 5 + 2 * i);
		history->sum[i] +=
			sqlite3_column_double(row, 6 + 2 * i); /* a NULL column reads as 0 */
	}
	return 0;
}

static int read_vgpu(void *userdata, sqlite3_stmt *row)
{
	struct history *history = userdata;

	history->vgpu = sqlite3_column_int64(row, 0);
	snprintf(history->gpu, sizeof(history->gpu), "%s",
		 (const char *)sqlite3_column_text(row, 1));
	return 0;
}

static const char progress_sql[] =
	"SELECT open_minute_ms, raw_from_ms, minute_from_ms, hour_from_ms FROM progress";

static int read_progress(void *userdata, sqlite3_stmt *row)
{
	struct history *history = userdata;

	history->open_ms = sqlite3_column_int64(row, 0);
	for (int i = 0; i < RESOLUTIONS; i++)
		history->kept_ms[i] = sqlite3_column_int64(row, 1 + i);
	return 0;
}

/*
 * Returns the coarsest resolution that divides the step and has no pruned rows in the range. If
 * there is none, returns the resolution with the oldest rows.
 */
static enum resolution choose_resolution(const struct history *history)
{
	enum resolution best = RAW;

	for (int i = HOUR; i >= RAW; i--) {
		if (history->step_ms % resolution_ms[i] != 0)
			continue;
		if (history->kept_ms[i] <= history->from_ms)
			return (enum resolution)i;
		if (history->kept_ms[i] < history->kept_ms[best])
			best = (enum resolution)i;
	}
	return best;
}

static int read_rows(struct db_reader *reader, struct history *history, int resolution,
		     int64_t from_ms, int64_t to_ms)
{
	if (from_ms < history->from_ms)
		from_ms = history->from_ms;
	if (to_ms > history->to_ms)
		to_ms = history->to_ms;
	if (from_ms >= to_ms)
		return 0;
	return run(reader,
		   &(struct statement){.sql = rows_sql[resolution],
				       .numbers = (int64_t[]){history->vgpu, from_ms, to_ms},
				       .n = 3},
		   add_row, history);
}

/*
 * Reads the chosen resolution. The open hour is read from finer resolutions, and in it the open
 * minute, because they are not rolled up. A roll-up of the open hour or minute contains only
 * samples that were pruned, so it is read too. If the clock was set back, there can also be rows
 * after the open hour.
 */
static int read_history(struct db_reader *reader, struct history *history)
{
	int chosen = (int)choose_resolution(history), r = 0;
	int64_t at_ms = history->from_ms;

	for (int i = chosen; i > RAW && r == 0; i--) {
		int64_t open_ms = history->open_ms - history->open_ms % resolution_ms[i];

		r = read_rows(reader, history, i, at_ms, open_ms + resolution_ms[i]);
		at_ms = max_i64(at_ms, open_ms);
	}
	for (int i = RAW; i <= chosen && r == 0; i++) {
		int64_t end_ms = history->to_ms;

		if (i < chosen)
			end_ms = history->open_ms - history->open_ms % resolution_ms[i + 1] +
				 resolution_ms[i + 1];
		r = read_rows(reader, history, i, at_ms, end_ms);
		at_ms = max_i64(at_ms, end_ms);
	}
	if (r == 0 && history->samples > 0)
		r = emit_point(history);
	return r;
}

/* Extends the range to whole steps. The begin is only extended if @max allows one more point. */
static int fit_range(struct history *history, int64_t from_ms, int64_t to_ms, size_t max)
{
	int64_t step_ms = history->step_ms;
	int64_t first = from_ms / step_ms, beyond = (to_ms + step_ms - 1) / step_ms;

	if ((uint64_t)(beyond - first) > max && from_ms % step_ms != 0)
		first++;
	if ((uint64_t)(beyond - first) > max)
		return -E2BIG;
	history->from_ms = first * step_ms;
	history->to_ms = beyond * step_ms;
	return 0;
}

int db_query_history(struct db_reader *reader, const char *vgpu, int64_t from_ms, int64_t to_ms,
		     int step_s, size_t max, db_point_fn point, void *userdata)
{
	struct history history = {
		.step_ms = step_s * INT64_C(1000),
		.vgpu = -1,
		.point = point,
		.userdata = userdata,
	};
	int r;

	if (step_s < 1 || step_s > STEP_MAX || from_ms < 0 || to_ms <= from_ms ||
	    to_ms > INT64_MAX - history.step_ms)
		return -EINVAL;
	r = fit_range(&history, from_ms, to_ms, max);
	if (r < 0)
		return r;
	r = begin_query(reader);
	if (r < 0)
		return r;
	r = run(reader,
		&(struct statement){.sql = "SELECT num, ifnull(gpu, '') FROM vgpu WHERE id = ?1",
				    .text = vgpu},
		read_vgpu, &history);
	if (r == 0 && history.vgpu < 0)
		r = -ENOENT;
	if (r == 0)
		r = run(reader, STATEMENT(progress_sql), read_progress, &history);
	if (r == 0)
		r = read_history(reader, &history);
	return end_query(reader, r);
}

/* --- the vGPUs of a GPU --- */

/* CROSS JOIN makes sqlite read the samples in the order of their key. */
static const char samples_sql[] =
	"SELECT ts_ms, id, gpu, dt_s, cap_pct, initial_cap_pct, load_pct, util_pct, fps,"
	" target_fps, frame_p99_ms, short_of_target, broken, gap"
	" FROM sample s CROSS JOIN vgpu v ON v.num = s.vgpu"
	" WHERE ts_ms >= ?1 AND ts_ms < ?2 AND gpu = ?3 ORDER BY ts_ms, s.vgpu";

struct name_receiver {
	db_name_fn name;
	void *userdata;
};

static int take_name(void *userdata, sqlite3_stmt *row)
{
	const struct name_receiver *receiver = userdata;
	const char *name = (const char *)sqlite3_column_text(row, 0);

	return name ? receiver->name(receiver->userdata, name) : 0;
}

int db_query_names(struct db_reader *reader, const char *gpu, db_name_fn name, void *userdata)
{
	return query(reader,
		     &(struct statement){.sql = "SELECT id FROM vgpu WHERE gpu = ?1 ORDER BY num",
					 .text = gpu},
		     take_name, &(struct name_receiver){.name = name, .userdata = userdata});
}

struct ticks_receiver {
	db_ticks_fn ticks;
	void *userdata;
};

static int take_ticks(void *userdata, sqlite3_stmt *row)
{
	const struct ticks_receiver *receiver = userdata;

	return receiver->ticks(receiver->userdata, sqlite3_column_int64(row, 0),
			       sqlite3_column_int64(row, 1));
}

int db_query_ticks(struct db_reader *reader, const char *gpu, int64_t from_ms, int64_t to_ms,
		   int step_s, db_ticks_fn ticks, void *userdata)
{
	int64_t step_ms = 1000 * (int64_t)step_s;

	return query(reader,
		     &(struct statement){
			     .sql = "SELECT ts_ms / ?1 * ?1, count(*) FROM gpu_sample"
				    " WHERE ts_ms >= ?2 AND ts_ms < ?3 AND gpu = ?4"
				    " GROUP BY 1 ORDER BY 1",
			     .numbers = (int64_t[]){step_ms, from_ms / step_ms * step_ms,
						    (to_ms + step_ms - 1) / step_ms * step_ms},
			     .n = 3,
			     .text = gpu},
		     take_ticks, &(struct ticks_receiver){.ticks = ticks, .userdata = userdata});
}

int db_query_samples(struct db_reader *reader, const char *gpu, int64_t from_ms, int64_t to_ms,
		     db_row_fn sample, void *userdata, int64_t *ret_kept_from_ms)
{
	int64_t kept_from_ms = 0;
	int r;

	if (to_ms <= from_ms)
		return -EINVAL;
	r = begin_query(reader);
	if (r < 0)
		return r;
	r = run(reader, STATEMENT("SELECT raw_from_ms FROM progress"), take_int, &kept_from_ms);
	if (r == 0)
		r = run_records(reader,
				&(struct statement){
					.sql = samples_sql,
					.numbers = (int64_t[]){from_ms, to_ms},
					.n = 2,
					.text = gpu,
				},
				RECORD_SAMPLE, sample, userdata);
	if (r >= 0)
		*ret_kept_from_ms = kept_from_ms;
	return end_query(reader, r);
}

/* --- the state that a new daemon continues with, and the audit --- */

/* The rows that gover can have written. */
#define VALID_ID "id BETWEEN 1 AND " DB_ID_MAX_TEXT

static int read_last_ids(void *userdata, sqlite3_stmt *row)
{
	struct db_last_ids *ids = userdata;

	ids->decision = sqlite3_column_int64(row, 0); /* a NULL column reads as 0 */
	ids->alert = sqlite3_column_int64(row, 1);
	ids->offer = sqlite3_column_int64(row, 2);
	ids->audit = sqlite3_column_int64(row, 3);
	return 0;
}

int db_query_last_ids(struct db_reader *reader, struct db_last_ids *ret_ids)
{
	static const char sql[] = "SELECT (SELECT max(id) FROM decision WHERE " VALID_ID "),"
				  " (SELECT max(id) FROM alert WHERE " VALID_ID "),"
				  " (SELECT max(id) FROM offer WHERE " VALID_ID "),"
				  " (SELECT seq FROM sqlite_sequence WHERE name = 'audit'"
				  " AND seq BETWEEN 1 AND " DB_ID_MAX_TEXT ")";
	struct db_last_ids ids = {0};
	int r = query(reader, STATEMENT(sql), read_last_ids, &ids);

	if (r == 0)
		*ret_ids = ids;
	return r;
}

int db_query_settings(struct db_reader *reader, db_row_fn setting, void *userdata)
{
	return query_records(reader, STATEMENT("SELECT key, value FROM setting ORDER BY key"),
			     RECORD_SETTING, setting, userdata);
}

/* Runs @sql with the parameter ?1 = @limit and, unless it is NULL, ?2 = @text. */
static int query_newest(struct db_reader *reader, const char *sql, int64_t limit, const char *text,
			enum record_kind kind, db_row_fn row, void *userdata)
{
	const struct statement statement = {.sql = sql, .numbers = &limit, .n = 1, .text = text};

	return query_records(reader, &statement, kind, row, userdata);
}

#define DECISIONS_WHERE(condition)                                        \
	"SELECT * FROM (SELECT * FROM decision WHERE " condition VALID_ID \
	" ORDER BY id DESC LIMIT max(?1, 0)) ORDER BY id"

int db_query_decisions(struct db_reader *reader, int limit, db_row_fn decision, void *userdata)
{
	return query_newest(reader, DECISIONS_WHERE(""), limit, NULL, RECORD_DECISION, decision,
			    userdata);
}

int db_query_decisions_of(struct db_reader *reader, const char *vgpu, int limit, db_row_fn decision,
			  void *userdata)
{
	return query_newest(reader, DECISIONS_WHERE("vgpu = ?2 AND "), limit, vgpu, RECORD_DECISION,
			    decision, userdata);
}

int db_query_alerts(struct db_reader *reader, int limit, db_row_fn alert, void *userdata)
{
	static const char sql[] =
		"SELECT * FROM alert WHERE " VALID_ID " AND (cleared_ms IS NULL OR id IN"
		" (SELECT id FROM alert WHERE cleared_ms NOTNULL AND " VALID_ID
		" ORDER BY id DESC LIMIT max(?1, 0))) ORDER BY id";

	return query_newest(reader, sql, limit, NULL, RECORD_ALERT, alert, userdata);
}

int db_query_tallies(struct db_reader *reader, db_row_fn tally, void *userdata)
{
	return query_records(reader, STATEMENT("SELECT * FROM tally ORDER BY vgpu"), RECORD_TALLY,
			     tally, userdata);
}

int db_query_silences(struct db_reader *reader, db_row_fn silence, void *userdata)
{
	static const char sql[] =
		"SELECT * FROM silence WHERE " VALID_ID " AND (ended_ms IS NULL"
		" OR id = (SELECT max(id) FROM silence WHERE " VALID_ID ")) ORDER BY id";

	return query_records(reader, STATEMENT(sql), RECORD_SILENCE, silence, userdata);
}

int db_query_offers(struct db_reader *reader, int limit, db_row_fn offer, void *userdata)
{
	static const char sql[] =
		"SELECT id, created_ms, changed_ms, gpu, state, vgpu, cap_pct, funded_pct,"
		" target_fps, reason, flavor FROM offer WHERE " VALID_ID
		" AND (state IN ('open', 'claimed', 'probation', 'failed') OR id IN"
		" (SELECT id FROM offer WHERE vgpu NOTNULL AND " VALID_ID
		" ORDER BY id DESC LIMIT max(?1, 0))) ORDER BY id";

	return query_newest(reader, sql, limit, NULL, RECORD_OFFER, offer, userdata);
}

/* Same order as audit_fields in record.c. */
#define AUDIT "ts_ms, who, origin, method, path, status, before_json, after_json, id"

int db_query_audit(struct db_reader *reader, int64_t after, int64_t end, int limit, db_row_fn row,
		   void *userdata)
{
	static const char after_sql[] =
		"SELECT " AUDIT " FROM audit WHERE id > ?1 AND id < ?3 ORDER BY id LIMIT ?2";
	static const char newest_sql[] = "SELECT " AUDIT " FROM (SELECT * FROM audit WHERE id > ?1"
					 " AND id < ?3 ORDER BY id DESC LIMIT ?2) ORDER BY id";
	const struct statement statement = {
		.sql = after < 0 ? newest_sql : after_sql,
		.numbers = (int64_t[]){after, limit < 0 ? 0 : limit, end},
		.n = 3,
	};

	return query_records(reader, &statement, RECORD_AUDIT, row, userdata);
}

struct saved_contracts {
	int64_t revision;
	char *text; /* NULL: no contracts are saved */
};

static int read_contracts(void *userdata, sqlite3_stmt *row)
{
	struct saved_contracts *saved = userdata;
	const char *text = (const char *)sqlite3_column_text(row, 1);

	saved->revision = sqlite3_column_int64(row, 0);
	saved->text = text ? xstrdup(text) : NULL;
	return 0;
}

int db_query_contracts(struct db_reader *reader, int64_t *ret_revision, char **ret_text)
{
	struct saved_contracts saved = {0};
	int r = query(reader, STATEMENT("SELECT revision, json FROM contracts"), read_contracts,
		      &saved);

	if (r == 0 && !saved.text)
		r = -ENOENT;
	if (r < 0) {
		free(saved.text);
		return r;
	}
	*ret_revision = saved.revision;
	*ret_text = saved.text;
	return 0;
}

/*
 * --- the ledger: a query reads the sums of days for the whole days of its range, the sums of hours
 * for the other whole hours, and the sums of minutes for the rest ---
 */

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
static const char ledger_sql[] =
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

struct ledger_query {
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
static void set_bounds(struct ledger_query *q, int64_t from_ms, int64_t to_ms,
		       int64_t minute_from_ms)
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

#define BOUNDED(text) (&(struct statement){.sql = (text), .numbers = q->bounds_ms, .n = BOUNDS})

static int read_ledger(struct db_reader *reader, int64_t from_ms, int64_t to_ms,
		       struct ledger_query *q)
{
	int64_t minute_from_ms = 0;
	int r = run(reader, STATEMENT("SELECT minute_from_ms FROM progress"), take_int,
		    &minute_from_ms);

	set_bounds(q, from_ms, to_ms, minute_from_ms);
	if (r == 0)
		r = run_records(reader, BOUNDED(ledger_sql), RECORD_LEDGER, q->row, q->userdata);
	if (r == 0)
		r = run(reader, BOUNDED(watched_sql), take_double, &q->watched_s);
	if (r == 0)
		r = run_records(reader, BOUNDED(prices_sql), RECORD_PRICE, q->price, q->userdata);
	return r;
}

int db_query_ledger(struct db_reader *reader, int64_t from_ms, int64_t to_ms, db_row_fn row,
		    db_row_fn price, void *userdata, struct db_ledger_range *ret_range)
{
	struct ledger_query q = {.row = row, .price = price, .userdata = userdata};
	int r;

	if (from_ms < 0 || to_ms <= from_ms || to_ms > INT64_MAX - ROLLUP_HOUR_MS)
		return -EINVAL;
	r = begin_query(reader);
	if (r < 0)
		return r;
	r = end_query(reader, read_ledger(reader, from_ms, to_ms, &q));
	if (r == 0)
		*ret_range = (struct db_ledger_range){
			.from_ms = q.bounds_ms[0],
			.to_ms = q.bounds_ms[BOUNDS - 1],
			.watched_s = q.watched_s,
		};
	return r;
}
