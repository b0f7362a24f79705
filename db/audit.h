/* SPDX-License-Identifier: MIT */
/* The audit record: each change of a resource with its principal and origin, before and after. */
#ifndef DB_AUDIT_H
#define DB_AUDIT_H

#include "db/db.h"

#define DB_AUDIT_JSON_MAX 4096

struct db_audit {
	int64_t id; /* assigned by the database, increasing */
	int64_t ts_ms;
	char who[80], origin[64]; /* principal and origin, see access_who */
	char method[8], path[256];
	int status; /* HTTP status; 0: the client had disconnected */
	/* The members that differ, as a JSON object; "": created, or removed. */
	char before_json[DB_AUDIT_JSON_MAX], after_json[DB_AUDIT_JSON_MAX];
};

/* Like the functions in db.h. The id of @row is ignored. */
int db_append_audit(struct db *db, const struct db_audit *row);

/* A non-zero result stops the query, which returns it. */
typedef int (*db_audit_fn)(void *userdata, const struct db_audit *row);

/* The first @limit rows with an id above @after; @after -1: the newest @limit. Oldest first. */
int db_query_audit(struct db_reader *reader, int64_t after, int limit, db_audit_fn row,
		   void *userdata);

#endif
