/* SPDX-License-Identifier: MIT */
/* The audit record: each change of a resource, with its principal and origin, and the state of the
 * resource before and after. */
#ifndef DB_AUDIT_H
#define DB_AUDIT_H

#include "db/db.h"

/* Errors and blocking are those of the db_append functions in db/db.h. The id of @row is
 * ignored. */
int db_append_audit(struct db *db, const struct db_audit *row);

/* Called for each row. A non-zero result stops the query, and the query returns that result. */
typedef int (*db_audit_fn)(void *userdata, const struct db_audit *row);

/* Reads the first @limit rows with an id above @after, or the newest @limit rows if @after is -1.
 * Calls @row for each, oldest first. */
int db_query_audit(struct db_reader *reader, int64_t after, int limit, db_audit_fn row,
		   void *userdata);

#endif
