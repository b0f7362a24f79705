/* SPDX-License-Identifier: MIT */
/*
 * The reading connection. It is read-only, and in WAL mode readers never block the writer. A query
 * that exceeds a limit is interrupted by sqlite's progress handler.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "db/conn.h"
#include "db/reader.h"
#include "db/schema.h"

#define BUSY_MS 200
/* Number of instructions of sqlite's virtual machine between two checks of the limits. A check
 * costs about as much as four instructions, and 10,000 instructions take about a millisecond. */
#define INSTRUCTIONS 10000

struct db_reader {
	char *path;
	sqlite3 *db; /* NULL: not open */
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

static int connect_file(struct db_reader *reader, struct err *reterr)
{
	int r;

	r = conn_open(reader->path, SQLITE_OPEN_READONLY, BUSY_MS, &reader->db, reterr);
	if (r < 0)
		return r;
	r = schema_check(reader->db, reader->path, reterr);
	if (r < 0)
		disconnect(reader);
	else
		sqlite3_progress_handler(reader->db, INSTRUCTIONS, check_limit, reader);
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

int reader_begin(struct db_reader *reader)
{
	int rc;

	if (reader->db && conn_moved(reader->db))
		disconnect(reader);
	if (!reader->db) {
		int r = connect_file(reader, /* reterr= */ NULL);

		if (r < 0)
			return r;
	}
	rc = sqlite3_exec(reader->db, "BEGIN", NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : conn_errno(reader->db, rc);
}

int reader_end(struct db_reader *reader, int r)
{
	/* cannot fail, because the transaction wrote nothing */
	(void)sqlite3_exec(reader->db, "COMMIT", NULL, NULL, NULL);
	if (r != -EINTR)
		return r;
	return is_cancelled(reader) ? -ECANCELED : -ETIME;
}

static int prepare(sqlite3 *db, const struct reader_statement *statement,
		   sqlite3_stmt **ret_prepared)
{
	int rc = sqlite3_prepare_v2(db, statement->sql, -1, ret_prepared, NULL);

	for (int i = 0; i < statement->n && rc == SQLITE_OK; i++)
		rc = sqlite3_bind_int64(*ret_prepared, i + 1, statement->numbers[i]);
	if (rc == SQLITE_OK && statement->text)
		rc = sqlite3_bind_text(*ret_prepared, statement->n + 1, statement->text, -1,
				       SQLITE_STATIC);
	return rc;
}

int reader_run(struct db_reader *reader, const struct reader_statement *statement,
	       reader_row_fn row, void *userdata)
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

int reader_run_records(struct db_reader *reader, const struct reader_statement *statement,
		       enum record_kind kind, db_row_fn row, void *userdata)
{
	CLEANUP_FREE void *record = xcalloc(1, record_bounds(kind).size);

	return reader_run(reader, statement, take_record,
			  &(struct receiver){kind, record, row, userdata});
}

int reader_query(struct db_reader *reader, const struct reader_statement *statement,
		 reader_row_fn row, void *userdata)
{
	int r = reader_begin(reader);

	return r < 0 ? r : reader_end(reader, reader_run(reader, statement, row, userdata));
}

int reader_query_records(struct db_reader *reader, const struct reader_statement *statement,
			 enum record_kind kind, db_row_fn row, void *userdata)
{
	int r = reader_begin(reader);

	return r < 0 ? r
		     : reader_end(reader,
				  reader_run_records(reader, statement, kind, row, userdata));
}

int reader_take_int(void *userdata, sqlite3_stmt *row)
{
	*(int64_t *)userdata = sqlite3_column_int64(row, 0);
	return 0;
}

int reader_take_double(void *userdata, sqlite3_stmt *row)
{
	*(double *)userdata = sqlite3_column_double(row, 0);
	return 0;
}
