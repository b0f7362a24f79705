/* SPDX-License-Identifier: MIT */
/* Reads the state that a new daemon continues with: ids, settings, events and contracts. Also reads
 * audit records. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "db/reader.h"

/* The rows that gover can have written. */
#define VALID_ID "id BETWEEN 1 AND " DB_ID_MAX_TEXT

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
	static const char sql[] = "SELECT (SELECT max(id) FROM decision WHERE " VALID_ID "),"
				  " (SELECT max(id) FROM alert WHERE " VALID_ID "),"
				  " (SELECT max(id) FROM offer WHERE " VALID_ID ")";
	struct db_last_ids ids = {0};
	int r = reader_query(reader, &(struct reader_statement){.sql = sql}, read_last_ids, &ids);

	if (r == 0)
		*ret_ids = ids;
	return r;
}

int db_query_settings(struct db_reader *reader, db_row_fn setting, void *userdata)
{
	return reader_query_records(
		reader,
		&(struct reader_statement){.sql = "SELECT key, value FROM setting ORDER BY key"},
		RECORD_SETTING, setting, userdata);
}

/* Runs @sql with the parameter ?1 = @limit and, unless it is NULL, ?2 = @text. */
static int query_newest(struct db_reader *reader, const char *sql, int64_t limit, const char *text,
			enum record_kind kind, db_row_fn row, void *userdata)
{
	const struct reader_statement statement = {
		.sql = sql, .numbers = &limit, .n = 1, .text = text};

	return reader_query_records(reader, &statement, kind, row, userdata);
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
	return reader_query_records(
		reader, &(struct reader_statement){.sql = "SELECT * FROM tally ORDER BY vgpu"},
		RECORD_TALLY, tally, userdata);
}

int db_query_silences(struct db_reader *reader, db_row_fn silence, void *userdata)
{
	static const char sql[] =
		"SELECT * FROM silence WHERE " VALID_ID " AND (ended_ms IS NULL"
		" OR id = (SELECT max(id) FROM silence WHERE " VALID_ID ")) ORDER BY id";

	return reader_query_records(reader, &(struct reader_statement){.sql = sql}, RECORD_SILENCE,
				    silence, userdata);
}

int db_query_offers(struct db_reader *reader, int limit, db_row_fn offer, void *userdata)
{
	static const char sql[] =
		"SELECT * FROM offer WHERE " VALID_ID
		" AND (state IN ('open', 'claimed', 'probation', 'failed') OR id IN"
		" (SELECT id FROM offer WHERE claim_key NOTNULL AND " VALID_ID
		" ORDER BY id DESC LIMIT max(?1, 0))) ORDER BY id";

	return query_newest(reader, sql, limit, NULL, RECORD_OFFER, offer, userdata);
}

/* Same order as audit_fields in record.c. */
#define AUDIT "ts_ms, who, origin, method, path, status, before_json, after_json, id"

int db_query_audit(struct db_reader *reader, int64_t after, int limit, db_row_fn row,
		   void *userdata)
{
	static const char after_sql[] =
		"SELECT " AUDIT " FROM audit WHERE id > ?1 ORDER BY id LIMIT ?2";
	static const char newest_sql[] = "SELECT " AUDIT " FROM (SELECT * FROM audit WHERE id > ?1"
					 " ORDER BY id DESC LIMIT ?2) ORDER BY id";
	const struct reader_statement statement = {
		.sql = after < 0 ? newest_sql : after_sql,
		.numbers = (int64_t[]){after, limit < 0 ? 0 : limit},
		.n = 2,
	};

	return reader_query_records(reader, &statement, RECORD_AUDIT, row, userdata);
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
	int r = reader_query(
		reader, &(struct reader_statement){.sql = "SELECT revision, json FROM contracts"},
		read_contracts, &saved);

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
