/* SPDX-License-Identifier: MIT */
/* Reads audit records from the database. */
#include <errno.h>

#include "db/audit.h"
#include "db/conn.h"
#include "db/reader.h"
#include "db/record.h"

/* Same order as audit_fields in record.c. */
#define COLUMNS "ts_ms, who, origin, method, path, status, before_json, after_json, id"

static const char after_sql[] = "SELECT " COLUMNS " FROM audit WHERE id > ?1 ORDER BY id LIMIT ?2";
static const char newest_sql[] = "SELECT " COLUMNS " FROM (SELECT * FROM audit WHERE id > ?1"
				 " ORDER BY id DESC LIMIT ?2) ORDER BY id";

int db_query_audit(struct db_reader *reader, int64_t after, int limit, db_audit_fn row,
		   void *userdata)
{
	sqlite3_stmt *statement = NULL;
	sqlite3 *db;
	int r = reader_begin(reader, &db), rc;

	if (r < 0)
		return r;
	rc = sqlite3_prepare_v2(db, after < 0 ? newest_sql : after_sql, -1, &statement, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(statement, 1, after);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int(statement, 2, limit < 0 ? 0 : limit);
	if (rc == SQLITE_OK)
		rc = SQLITE_ROW;
	while (r == 0 && rc == SQLITE_ROW && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
		struct db_audit audit = {0};

		record_read(RECORD_AUDIT, statement, &audit);
		r = row(userdata, &audit);
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		r = conn_errno(db, rc);
	sqlite3_finalize(statement);
	return reader_end(reader, r);
}
