/* SPDX-License-Identifier: MIT */
/* The reading connection, for queries that stand in a file of their own. */
#ifndef DB_READER_H
#define DB_READER_H

#include <sqlite3.h>

#include "db/db.h"

/* Between the two, every statement sees one state of the file. *@ret_db is the reader's. */
int reader_begin(struct db_reader *reader, sqlite3 **ret_db);
/* Returns @r. */
int reader_end(struct db_reader *reader, int r);

#endif
