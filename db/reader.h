/* SPDX-License-Identifier: MIT */
/* The reading connection, for queries in other files of this folder. */
#ifndef DB_READER_H
#define DB_READER_H

#include <sqlite3.h>

#include "db/db.h"

/* Begins a query: until reader_end() all statements see one state of the file. If the file was
 * replaced, it is opened again. *ret_db belongs to the reader. */
int reader_begin(struct db_reader *reader, sqlite3 **ret_db);
/* Ends a query and returns @r. */
int reader_end(struct db_reader *reader, int r);

#endif
