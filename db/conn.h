/* SPDX-License-Identifier: MIT */
/* Functions for both the writing and the reading connection: opening, statements and errors. */
#ifndef DB_CONN_H
#define DB_CONN_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Opens @path with the SQLITE_OPEN_ @flags; statements wait at most @busy_ms for the lock of
 * another program. Returns -EACCES or -EROFS if @flags include writing and the file can only be
 * read.
 */
int conn_open(const char *path, int flags, int busy_ms, sqlite3 **ret_db, struct err *reterr);

/* Converts the result code of a failed call on @db to a negative errno. */
int conn_errno(sqlite3 *db, int rc);
/* Like conn_errno(), and writes the message "@path: message of sqlite". */
int conn_fail(sqlite3 *db, int rc, const char *path, struct err *reterr);

/* Prepares @n statements. After a failure the statements that were not prepared are NULL. */
int conn_prepare(sqlite3 *db, const char *const sql[], int n, sqlite3_stmt *statements[]);
void conn_finalize(sqlite3_stmt *statements[], int n);

/* Runs a bound statement completely and resets it. */
int conn_run(sqlite3_stmt *statement);
/*
 * Like conn_run(), and writes the first column of the last row. Returns SQLITE_NOTFOUND if the
 * statement gives no row.
 */
int conn_run_int(sqlite3_stmt *statement, int64_t *ret_value);

/* Runs @sql and writes the first column of the first row. */
int conn_get_int(sqlite3 *db, const char *sql, int64_t *ret_value);

/* Returns true if the open file was deleted, renamed or replaced. */
bool conn_moved(sqlite3 *db);

#endif
