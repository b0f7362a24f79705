/* SPDX-License-Identifier: MIT */
/*
 * Queries of the history. Each query sees one state of the file. The connection is read-only, and
 * in WAL mode readers never block the writer.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "db/conn.h"
#include "db/reader.h"
#include "db/record.h"
#include "db/rollup.h"
#include "db/schema.h"

#define BUSY_MS	 200
#define STEP_MAX 86400

enum resolution { RAW, MINUTE, HOUR, RESOLUTIONS };

enum statement {
	HISTORY, /* HISTORY + n is the statement for resolution n */
	BEGIN = HISTORY + RESOLUTIONS,
	END,
	GET_PROGRESS,
	FIND_VGPU,
	LAST_IDS,
	SETTINGS,
	DECISIONS,
	OPEN_ALERTS,
	SILENCES,
	OFFERS,
	CONTRACTS,
	STATEMENTS,
};

#define FROM_ROLL_UP(table)                                                                       \
	"SELECT ts_ms, samples, short, broken, gaps, samples, cap_sum, load_n,"                   \
	" load_sum, util_n, util_sum, fps_n, fps_sum, target_fps_n, target_fps_sum, frame_p99_n," \
	" frame_p99_sum FROM " table                                                              \
	" WHERE vgpu = ?1 AND ts_ms >= ?2 AND ts_ms < ?3 ORDER BY ts_ms"

/* Columns of a history query: begin, samples, short, broken, gaps, then count and sum of each
 * value. */
static const char *const statement_sql[STATEMENTS] = {
	[HISTORY + RAW] =
		"SELECT ts_ms, 1, short_of_target, broken, gap, 1, cap_pct, load_pct NOTNULL, "
		"load_pct,"
		" util_pct NOTNULL, util_pct, fps NOTNULL, fps, target_fps NOTNULL, target_fps,"
		" frame_p99_ms NOTNULL, frame_p99_ms FROM sample"
		" WHERE vgpu = ?1 AND ts_ms >= ?2 AND ts_ms < ?3 ORDER BY ts_ms",
	[HISTORY + MINUTE] = FROM_ROLL_UP("sample_minute"),
	[HISTORY + HOUR] = FROM_ROLL_UP("sample_hour"),
	[BEGIN] = "BEGIN",
	[END] = "COMMIT",
	[GET_PROGRESS] =
		"SELECT open_minute_ms, raw_from_ms, minute_from_ms, hour_from_ms FROM progress",
	[FIND_VGPU] = "SELECT num FROM vgpu WHERE id = ?1",
	[LAST_IDS] = "SELECT (SELECT max(id) FROM decision), (SELECT max(id) FROM alert),"
		     " (SELECT max(id) FROM offer)",
	[SETTINGS] = "SELECT key, value FROM setting ORDER BY key",
	[DECISIONS] =
		"SELECT * FROM (SELECT * FROM decision ORDER BY id DESC LIMIT ?1) ORDER BY id",
	[OPEN_ALERTS] = "SELECT * FROM alert WHERE cleared_ms IS NULL ORDER BY id",
	[SILENCES] = "SELECT * FROM silence WHERE ended_ms IS NULL"
		     " OR id = (SELECT max(id) FROM silence) ORDER BY id",
	[OFFERS] = "SELECT * FROM offer"
		   " WHERE state IN ('open', 'claimed', 'probation', 'failed') OR id IN"
		   " (SELECT id FROM offer WHERE claim_key NOTNULL ORDER BY id DESC LIMIT ?1)"
		   " ORDER BY id",
	[CONTRACTS] = "SELECT revision, json FROM contracts",
};

static const int64_t resolution_ms[RESOLUTIONS] = {1, ROLLUP_MINUTE_MS, ROLLUP_HOUR_MS};

struct db_reader {
	char *path;
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENTS];
};

/* --- opening --- */

static void disconnect(struct db_reader *reader)
{
	conn_finalize(reader->statements, STATEMENTS);
	sqlite3_close(reader->db);
	reader->db = NULL;
}

static int connect_file(struct db_reader *reader, struct err *reterr)
{
	int r;

	r = conn_open(reader->path, SQLITE_OPEN_READONLY, BUSY_MS, &reader->db, reterr);
	if (r < 0)
		return r;
	r = schema_check(reader->db, reader->path, reterr);
	if (r >= 0) {
		int rc = conn_prepare(reader->db, statement_sql, STATEMENTS, reader->statements);

		if (rc != SQLITE_OK)
			r = conn_fail(reader->db, rc, reader->path, reterr);
	}
	if (r < 0)
		disconnect(reader);
	return r;
}

int db_reader_open(const char *path, struct db_reader **ret_reader, struct err *reterr)
{
	struct db_reader *reader;
	int r = -ENOMEM;

	reader = calloc(1, sizeof(*reader));
	if (reader)
		reader->path = strdup(path);
	if (!reader || !reader->path)
		(void)err_fail(reterr, ENOMEM, "%s: out of memory", path);
	else
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

/* --- running --- */

int reader_begin(struct db_reader *reader, sqlite3 **ret_db)
{
	int rc;

	if (reader->db && conn_moved(reader->db))
		disconnect(reader);
	if (!reader->db) {
		int r = connect_file(reader, /* reterr= */ NULL);

		if (r < 0)
			return r;
	}
	rc = conn_run(reader->statements[BEGIN]);
	if (rc != SQLITE_OK)
		return conn_errno(reader->db, rc);
	if (ret_db)
		*ret_db = reader->db;
	return 0;
}

int reader_end(struct db_reader *reader, int r)
{
	/* cannot fail, because the transaction wrote nothing */
	(void)conn_run(reader->statements[END]);
	return r;
}

/*
 * Runs a statement, whose parameters are already set, and calls @row for each row. If @row returns
 * a value other than 0, stops and returns this value.
 */
static int for_each_row(struct db_reader *reader, enum statement which,
			int (*row)(void *userdata, sqlite3_stmt *statement), void *userdata)
{
	sqlite3_stmt *statement = reader->statements[which];
	int rc = SQLITE_DONE;
	int r = 0;

	while (r == 0 && (rc = sqlite3_step(statement)) == SQLITE_ROW)
		r = row(userdata, statement);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		r = conn_errno(reader->db, rc);
	sqlite3_reset(statement);
	return r;
}

/* --- history --- */

enum value { CAP, LOAD, UTIL, FPS, TARGET_FPS, FRAME_P99, VALUES };

struct history {
	int64_t from_ms, to_ms, step_ms;
	int64_t vgpu;		      /* numeric id */
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

static int read_progress(void *userdata, sqlite3_stmt *row)
{
	struct history *history = userdata;

	history->open_ms = sqlite3_column_int64(row, 0);
	for (int i = 0; i < RESOLUTIONS; i++)
		history->kept_ms[i] = sqlite3_column_int64(row, 1 + i);
	return 0;
}

static int read_id(void *userdata, sqlite3_stmt *row)
{
	*(int64_t *)userdata = sqlite3_column_int64(row, 0);
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

/*
 * Reads the chosen resolution up to its newest roll-up, and the rest of the range from finer
 * resolutions.
 */
static int read_history(struct db_reader *reader, struct history *history)
{
	int64_t from_ms = history->from_ms;
	int r = 0;

	for (int i = (int)choose_resolution(history); i >= RAW && r == 0; i--) {
		int64_t to_ms = history->to_ms;
		int64_t rolled_ms = history->open_ms - history->open_ms % resolution_ms[i];
		sqlite3_stmt *statement = reader->statements[HISTORY + i];

		if (i != RAW && to_ms > rolled_ms)
			to_ms = rolled_ms;
		if (from_ms >= to_ms)
			continue;
		sqlite3_bind_int64(statement, 1, history->vgpu);
		sqlite3_bind_int64(statement, 2, from_ms);
		sqlite3_bind_int64(statement, 3, to_ms);
		r = for_each_row(reader, (enum statement)(HISTORY + i), add_row, history);
		from_ms = to_ms;
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
	r = reader_begin(reader, /* ret_db= */ NULL);
	if (r < 0)
		return r;
	sqlite3_bind_text(reader->statements[FIND_VGPU], 1, vgpu, -1, SQLITE_STATIC);
	r = for_each_row(reader, FIND_VGPU, read_id, &history.vgpu);
	if (r == 0 && history.vgpu < 0)
		r = -ENOENT;
	if (r == 0)
		r = for_each_row(reader, GET_PROGRESS, read_progress, &history);
	if (r == 0)
		r = read_history(reader, &history);
	return reader_end(reader, r);
}

/* --- state for a new daemon --- */

static int read_last_ids(void *userdata, sqlite3_stmt *row)
{
	struct db_last_ids *ids = userdata;

	ids->decision = sqlite3_column_int64(row, 0); /* a NULL column reads as 0 */
	ids->alert = sqlite3_column_int64(row, 1);
	ids->offer = sqlite3_column_int64(row, 2);
	return 0;
}

int db_query_last_ids(struct db_reader *reader, struct db_last_ids *ret_ids)
{
	struct db_last_ids ids = {0};
	int r;

	r = reader_begin(reader, /* ret_db= */ NULL);
	if (r < 0)
		return r;
	r = reader_end(reader, for_each_row(reader, LAST_IDS, read_last_ids, &ids));
	if (r == 0)
		*ret_ids = ids;
	return r;
}

struct receiver {
	union {
		db_setting_fn setting;
		db_decision_fn decision;
		db_alert_fn alert;
		db_silence_fn silence;
		db_offer_fn offer;
	};
	void *userdata;
};

static int read_setting(void *userdata, sqlite3_stmt *row)
{
	const struct receiver *receiver = userdata;
	struct record_setting setting = {0};

	record_read(RECORD_SETTING, row, &setting);
	return receiver->setting(receiver->userdata, setting.key, setting.value);
}

static int read_decision(void *userdata, sqlite3_stmt *row)
{
	const struct receiver *receiver = userdata;
	struct db_decision decision = {0};

	record_read(RECORD_DECISION, row, &decision);
	return receiver->decision(receiver->userdata, &decision);
}

static int read_alert(void *userdata, sqlite3_stmt *row)
{
	const struct receiver *receiver = userdata;
	struct db_alert alert = {0};

	record_read(RECORD_ALERT, row, &alert);
	return receiver->alert(receiver->userdata, &alert);
}

static int read_silence(void *userdata, sqlite3_stmt *row)
{
	const struct receiver *receiver = userdata;
	struct db_silence silence = {0};

	record_read(RECORD_SILENCE, row, &silence);
	return receiver->silence(receiver->userdata, &silence);
}

static int read_offer(void *userdata, sqlite3_stmt *row)
{
	const struct receiver *receiver = userdata;
	struct db_offer offer = {0};

	record_read(RECORD_OFFER, row, &offer);
	return receiver->offer(receiver->userdata, &offer);
}

/* Runs a statement that returns records. If the statement has a parameter, @limit is its value. */
static int query_records(struct db_reader *reader, enum statement which, int limit,
			 int (*row)(void *userdata, sqlite3_stmt *statement),
			 struct receiver receiver)
{
	int r = reader_begin(reader, /* ret_db= */ NULL);

	if (r < 0)
		return r;
	if (sqlite3_bind_parameter_count(reader->statements[which]) > 0)
		sqlite3_bind_int(reader->statements[which], 1, limit < 0 ? 0 : limit);
	return reader_end(reader, for_each_row(reader, which, row, &receiver));
}

int db_query_settings(struct db_reader *reader, db_setting_fn setting, void *userdata)
{
	return query_records(reader, SETTINGS, 0, read_setting,
			     (struct receiver){.setting = setting, .userdata = userdata});
}

int db_query_decisions(struct db_reader *reader, int limit, db_decision_fn decision, void *userdata)
{
	return query_records(reader, DECISIONS, limit, read_decision,
			     (struct receiver){.decision = decision, .userdata = userdata});
}

int db_query_open_alerts(struct db_reader *reader, db_alert_fn alert, void *userdata)
{
	return query_records(reader, OPEN_ALERTS, 0, read_alert,
			     (struct receiver){.alert = alert, .userdata = userdata});
}

int db_query_silences(struct db_reader *reader, db_silence_fn silence, void *userdata)
{
	return query_records(reader, SILENCES, 0, read_silence,
			     (struct receiver){.silence = silence, .userdata = userdata});
}

int db_query_offers(struct db_reader *reader, int limit, db_offer_fn offer, void *userdata)
{
	return query_records(reader, OFFERS, limit, read_offer,
			     (struct receiver){.offer = offer, .userdata = userdata});
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
	saved->text = text ? strdup(text) : NULL;
	return saved->text ? 0 : -ENOMEM;
}

int db_query_contracts(struct db_reader *reader, int64_t *ret_revision, char **ret_text)
{
	struct saved_contracts saved = {0};
	int r;

	r = reader_begin(reader, /* ret_db= */ NULL);
	if (r < 0)
		return r;
	r = reader_end(reader, for_each_row(reader, CONTRACTS, read_contracts, &saved));
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
