/* SPDX-License-Identifier: MIT */
/*
 * The history of a vGPU. Of the three resolutions (raw rows, minutes, hours), a query reads the
 * coarsest that divides its step and whose rows cover its range.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "db/reader.h"
#include "db/rollup.h"

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

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
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
	return reader_run(
		reader,
		&(struct reader_statement){.sql = rows_sql[resolution],
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
		at_ms = later(at_ms, open_ms);
	}
	for (int i = RAW; i <= chosen && r == 0; i++) {
		int64_t end_ms = history->to_ms;

		if (i < chosen)
			end_ms = history->open_ms - history->open_ms % resolution_ms[i + 1] +
				 resolution_ms[i + 1];
		r = read_rows(reader, history, i, at_ms, end_ms);
		at_ms = later(at_ms, end_ms);
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
	r = reader_begin(reader);
	if (r < 0)
		return r;
	r = reader_run(
		reader,
		&(struct reader_statement){
			.sql = "SELECT num, ifnull(gpu, '') FROM vgpu WHERE id = ?1", .text = vgpu},
		read_vgpu, &history);
	if (r == 0 && history.vgpu < 0)
		r = -ENOENT;
	if (r == 0)
		r = reader_run(reader, &(struct reader_statement){.sql = progress_sql},
			       read_progress, &history);
	if (r == 0)
		r = read_history(reader, &history);
	return reader_end(reader, r);
}
