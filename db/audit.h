/* SPDX-License-Identifier: MIT */
/*
 * Audit records. Each describes one change of a resource: the principal and the origin of the
 * request, and the state of the resource before and after the change.
 */
#ifndef DB_AUDIT_H
#define DB_AUDIT_H

#include "db/db.h"

/*
 * Appends @row and ignores its id. Never blocks, and returns the same errors as db_append_sample().
 */
int db_append_audit(struct db *db, const struct db_audit *row);

/* Called for each row. A non-zero result stops the query, and the query returns that result. */
typedef int (*db_audit_fn)(void *userdata, const struct db_audit *row);

/* Reads the first @limit rows with an id above @after, or the newest @limit rows if @after is -1.
 * Calls @row for each, oldest first. */
int db_query_audit(struct db_reader *reader, int64_t after, int limit, db_audit_fn row,
		   void *userdata);

#endif
