/* SPDX-License-Identifier: MIT */
/* What the writing and the reading connection share: opening, preparing, telling an error. */
#ifndef DB_CONN_H
#define DB_CONN_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Opens @path with the SQLITE_OPEN_ @flags and waits at most @busy_ms for a lock of another. A path
 * that was opened but cannot be written, where @flags ask for it, is refused (-EACCES, -EROFS).
 */
int conn_open(const char *path, int flags, int busy_ms, sqlite3 **ret_db, struct err *reterr);

/* The negative errno of a failed call on @db, by its result code. */
int conn_errno(sqlite3 *db, int rc);
/* The same with the sentence "@path: what sqlite says". */
int conn_fail(sqlite3 *db, int rc, const char *path, struct err *reterr);

/* Prepares @n statements; after a failure statements[] holds what was prepared, NULL beyond. */
int conn_prepare(sqlite3 *db, const char *const sql[], int n, sqlite3_stmt *statements[]);
void conn_finalize(sqlite3_stmt *statements[], int n);

/* Runs a bound statement to its end and resets it. */
int conn_run(sqlite3_stmt *statement);
/* The same; gives the first integer of its last row. SQLITE_NOTFOUND: it had none. */
int conn_run_int(sqlite3_stmt *statement, int64_t *ret_value);

/* The one integer of the first row of @sql. */
int conn_get_int(sqlite3 *db, const char *sql, int64_t *ret_value);

/* True when the file it has open stands under its name no more: deleted, renamed, replaced. */
bool conn_moved(sqlite3 *db);

#endif
