/* SPDX-License-Identifier: MIT */
/*
 * Opens connections to sqlite, runs statements and converts errors. Used for reading and writing.
 */
#ifndef DB_CONN_H
#define DB_CONN_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Ends of the names of the files of a database: itself, its log, index and rollback journal. */
#define CONN_FILES 4
#define CONN_LOG   1
#define CONN_INDEX 2
extern const char *const conn_file_ends[CONN_FILES];

/*
 * Opens @path. @flags are SQLITE_OPEN_ constants; SQLITE_OPEN_URI: sqlite assumes that no program
 * changes the file, and needs neither its log nor its index. Returns -EUCLEAN if a file of the
 * database is not a regular file, because sqlite would wait for the other end of a FIFO. A
 * statement waits at most @busy_ms while another program has locked the file. Returns -EACCES or
 * -EROFS if @flags include writing and the file can only be read.
 */
int conn_open(const char *path, int flags, int busy_ms, sqlite3 **ret_db, struct err *reterr);

/*
 * True if the file system is read-only and the file contains all rows, so that SQLITE_OPEN_URI may
 * be used.
 */
bool conn_is_fixed(const char *path);

/*
 * Locks a new file in the folder of @path. Returns 0, or the negative errno: -ENOLCK if the file
 * system has no locks, which sqlite does not distinguish from a file that is locked.
 */
int conn_probe_locks(const char *path);

/* A writer and a reader of a database without a log wait for each other at most this time. */
#define CONN_BUSY_MS 3000

/*
 * Converts the result code of a failed call on @db to a negative errno. -EUCLEAN: the file is
 * damaged, or a table or a column is missing.
 */
int conn_errno(sqlite3 *db, int rc);
/* Like conn_errno(), and stores the message "@path: message of sqlite" in @reterr. */
int conn_fail(sqlite3 *db, int rc, const char *path, struct err *reterr);

/* Prepares @n statements, each of which may be NULL. After a failure the statements that were not
 * prepared are NULL. */
int conn_prepare(sqlite3 *db, const char *const sql[], int n, sqlite3_stmt *statements[]);
void conn_finalize(sqlite3_stmt *statements[], int n);

/* Runs a statement to its end and resets it. The caller sets the parameters before. */
int conn_run(sqlite3_stmt *statement);
/*
 * Like conn_run(), and stores the first column of the last row in *@ret_value. Returns
 * SQLITE_NOTFOUND if the statement returns no row.
 */
int conn_run_int(sqlite3_stmt *statement, int64_t *ret_value);

/* Runs @sql and stores the first column of the first row in *@ret_value. */
int conn_get_int(sqlite3 *db, const char *sql, int64_t *ret_value);

/* Returns true if the open file was deleted, renamed or replaced. */
bool conn_moved(sqlite3 *db);

/* The log and the index of a database. sqlite does not notice that one of them is replaced. */
struct conn_files {
	struct conn_file {
		dev_t device;
		ino_t inode; /* 0: missing */
	} log, index;
};
void conn_find_files(const char *path, struct conn_files *ret_files);
/*
 * Returns the end of the name of a file that is not the one in @opened any more; NULL: both are the
 * same.
 */
const char *conn_changed_file(const char *path, const struct conn_files *opened);

#endif
