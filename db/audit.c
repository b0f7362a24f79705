/* SPDX-License-Identifier: MIT */
/* Reads audit records from the database. */
#include "db/audit.h"
#include "db/reader.h"
#include "db/record.h"

/* Same order as audit_fields in record.c. */
#define COLUMNS "ts_ms, who, origin, method, path, status, before_json, after_json, id"

static const char after_sql[] = "SELECT " COLUMNS " FROM audit WHERE id > ?1 ORDER BY id LIMIT ?2";
static const char newest_sql[] = "SELECT " COLUMNS " FROM (SELECT * FROM audit WHERE id > ?1"
				 " ORDER BY id DESC LIMIT ?2) ORDER BY id";

struct receiver {
	db_audit_fn row;
	void *userdata;
};

static int take_row(void *userdata, sqlite3_stmt *row)
{
	const struct receiver *receiver = userdata;
	struct db_audit audit = {0};

	record_read(RECORD_AUDIT, row, &audit);
	return receiver->row(receiver->userdata, &audit);
}

int db_query_audit(struct db_reader *reader, int64_t after, int limit, db_audit_fn row,
		   void *userdata)
{
	return reader_query(
		reader,
		&(struct reader_statement){.sql = after < 0 ? newest_sql : after_sql,
					   .numbers = (int64_t[]){after, limit < 0 ? 0 : limit},
					   .n = 2},
		take_row, &(struct receiver){.row = row, .userdata = userdata});
}
