/* SPDX-License-Identifier: MIT */
/* The audit record: each change of a resource with its principal and origin, before and after. */
#ifndef DB_AUDIT_H
#define DB_AUDIT_H

#include "db/db.h"

/* Like the functions in db.h. The id of @row is ignored. */
int db_append_audit(struct db *db, const struct db_audit *row);

/* A non-zero result stops the query, which returns it. */
typedef int (*db_audit_fn)(void *userdata, const struct db_audit *row);

/* The first @limit rows with an id above @after; @after -1: the newest @limit. Oldest first. */
int db_query_audit(struct db_reader *reader, int64_t after, int limit, db_audit_fn row,
		   void *userdata);

#endif
