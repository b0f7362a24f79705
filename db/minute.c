/* SPDX-License-Identifier: MIT */
/*
 * Computes the sums and counts of one minute. They are equal to the values that the statement
 * ROLL_MINUTE in rollup.c computes from the rows. If a sample may replace another sample in the
 * file, the minute is marked as incomplete, so that ROLL_MINUTE is used instead.
 */
#include <math.h>
#include <stdlib.h>

#include "db/conn.h"
#include "db/minute.h"

struct sum {
	int64_t n;
	double total, least, most;
};

struct row {
	int64_t num, last_ms;
	int64_t samples, gaps, in_short, broken, cap, initial_cap;
	double covered_s;
	struct sum load, util, fps, target_fps, frame_p99;
};

struct minute {
	bool complete;
	struct row *rows;
	size_t n, size;
	/*
	 * index in rows where the next search begins; vGPUs usually have the same order in each
	 * tick
	 */
	size_t next;
};

const char minute_insert_sql[] =
	"INSERT INTO sample_minute VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
	" ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)" MINUTE_MERGE;

struct minute *minute_new(void)
{
	return calloc(1, sizeof(struct minute));
}

struct minute *minute_free(struct minute *minute)
{
	if (!minute)
		return NULL;
	free(minute->rows);
	free(minute);
	return NULL;
}

void minute_begin(struct minute *minute)
{
	minute->complete = true;
	minute->n = minute->next = 0;
}

void minute_doubt(struct minute *minute)
{
	minute->complete = false;
}

bool minute_complete(const struct minute *minute)
{
	return minute->complete;
}

static struct row *find_row(struct minute *minute, int64_t num)
{
	for (size_t i = 0; i < minute->n; i++) {
		size_t at = (minute->next + i) % minute->n;

		if (minute->rows[at].num == num) {
			minute->next = at + 1;
			return &minute->rows[at];
		}
	}
	return NULL;
}

static struct row *make_row(struct minute *minute, int64_t num)
{
	if (minute->n == minute->size) {
		size_t size = minute->size ? 2 * minute->size : 64;
		struct row *rows = realloc(minute->rows, size * sizeof(*rows));

		if (!rows)
			return NULL;
		minute->rows = rows;
		minute->size = size;
	}
	minute->rows[minute->n] = (struct row){.num = num, .last_ms = INT64_MIN};
	minute->next = minute->n + 1;
	return &minute->rows[minute->n++];
}

static void add(struct sum *sum, double value)
{
	if (isnan(value)) /* a value that is not valid is NULL in the file */
		return;
	if (sum->n == 0 || value < sum->least)
		sum->least = value;
	if (sum->n == 0 || value > sum->most)
		sum->most = value;
	sum->total += value;
	sum->n++;
}

void minute_add(struct minute *minute, int64_t num, const struct db_sample *sample)
{
	struct row *row;

	if (!minute->complete)
		return;
	row = find_row(minute, num);
	if (!row)
		row = make_row(minute, num);
	/* no memory, or the sample may replace another sample in the file */
	if (!row || sample->ts_ms <= row->last_ms) {
		minute->complete = false;
		return;
	}
	row->last_ms = sample->ts_ms;
	row->samples++;
	row->gaps += sample->gap;
	row->in_short += sample->short_of_target;
	row->broken += sample->broken;
	row->cap += sample->cap_pct;
	row->initial_cap += sample->initial_cap_pct;
	if (!isnan(sample->dt_s))
		row->covered_s += sample->dt_s;
	add(&row->load, sample->load_pct);
	add(&row->util, sample->util_pct);
	add(&row->fps, sample->fps);
	add(&row->target_fps, sample->target_fps);
	add(&row->frame_p99, sample->frame_p99_ms);
}

static int write_row(const struct row *row, int64_t begin_ms, sqlite3_stmt *insert)
{
	sqlite3_bind_int64(insert, 1, row->num);
	sqlite3_bind_int64(insert, 2, begin_ms);
	sqlite3_bind_int64(insert, 3, row->samples);
	sqlite3_bind_int64(insert, 4, row->gaps);
	sqlite3_bind_double(insert, 5, row->covered_s);
	sqlite3_bind_int64(insert, 6, row->in_short);
	sqlite3_bind_int64(insert, 7, row->broken);
	sqlite3_bind_int64(insert, 8, row->cap);
	sqlite3_bind_int64(insert, 9, row->initial_cap);
	sqlite3_bind_int64(insert, 10, row->load.n);
	sqlite3_bind_double(insert, 11, row->load.total);
	sqlite3_bind_int64(insert, 12, row->util.n);
	sqlite3_bind_double(insert, 13, row->util.total);
	sqlite3_bind_double(insert, 14, row->util.n > 0 ? row->util.most : NAN);
	sqlite3_bind_int64(insert, 15, row->fps.n);
	sqlite3_bind_double(insert, 16, row->fps.total);
	sqlite3_bind_double(insert, 17, row->fps.n > 0 ? row->fps.least : NAN);
	sqlite3_bind_int64(insert, 18, row->target_fps.n);
	sqlite3_bind_double(insert, 19, row->target_fps.total);
	sqlite3_bind_int64(insert, 20, row->frame_p99.n);
	sqlite3_bind_double(insert, 21, row->frame_p99.total);
	sqlite3_bind_double(insert, 22, row->frame_p99.n > 0 ? row->frame_p99.most : NAN);
	return conn_run(insert);
}

int minute_write(const struct minute *minute, int64_t begin_ms, sqlite3_stmt *insert)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < minute->n && rc == SQLITE_OK; i++)
		rc = write_row(&minute->rows[i], begin_ms, insert);
	return rc;
}
