/* SPDX-License-Identifier: MIT */
/* The reading connection, for queries in other files of this folder. */
#ifndef DB_READER_H
#define DB_READER_H

#include <sqlite3.h>

#include "db/db.h"
#include "db/record.h"

/* Begins a query: until reader_end() all statements see one state of the file. If the file was
 * replaced, it is opened again. */
int reader_begin(struct db_reader *reader);
/*
 * Ends a query. Returns the result of the query, which is @r, or -ETIME or -ECANCELED if a limit of
 * db_reader_limit() has ended the query.
 */
int reader_end(struct db_reader *reader, int r);

struct reader_statement {
	const char *sql;
	const int64_t *numbers; /* the first @n parameters */
	int n;
	const char *text; /* the parameter after the numbers; NULL: none */
};

/* Called for each row. A non-zero result ends the statement. */
typedef int (*reader_row_fn)(void *userdata, sqlite3_stmt *row);
/*
 * Runs a statement between reader_begin() and reader_end(). Returns 0, the non-zero result of @row,
 * or a negative errno. The statement is prepared for each call, because queries are rare.
 */
int reader_run(struct db_reader *reader, const struct reader_statement *statement,
	       reader_row_fn row, void *userdata);
/* Does the same with each row as a record of @kind, whose fields are the columns. */
int reader_run_records(struct db_reader *reader, const struct reader_statement *statement,
		       enum record_kind kind, db_row_fn row, void *userdata);
/* Begin a query, run one statement and end the query. */
int reader_query(struct db_reader *reader, const struct reader_statement *statement,
		 reader_row_fn row, void *userdata);
int reader_query_records(struct db_reader *reader, const struct reader_statement *statement,
			 enum record_kind kind, db_row_fn row, void *userdata);

/* Callbacks that store the first column as a number. @userdata is an int64_t or a double. */
int reader_take_int(void *userdata, sqlite3_stmt *row);
int reader_take_double(void *userdata, sqlite3_stmt *row);

#endif
