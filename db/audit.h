/* SPDX-License-Identifier: MIT */
/* Who changed what, from where, and what it was before. */
#ifndef DB_AUDIT_H
#define DB_AUDIT_H

#include "db/db.h"

#define DB_AUDIT_JSON_MAX 4096

struct db_audit {
	int64_t id; /* a running number, given by the database */
	int64_t ts_ms;
	char who[80], origin[64]; /* as access_who says them */
	char method[8], path[256];
	int status; /* as it was answered; 0: nobody was there any more */
	/* What differs, one object each; "": there was nothing before, or is nothing after. */
	char before_json[DB_AUDIT_JSON_MAX], after_json[DB_AUDIT_JSON_MAX];
};

/* As those of db.h; its id is not looked at. */
int db_append_audit(struct db *db, const struct db_audit *row);

/* Non-zero stops, and is what the query returns. */
typedef int (*db_audit_fn)(void *userdata, const struct db_audit *row);

/* Those with an id above @after, the first @limit; @after -1: the newest @limit. Oldest first. */
int db_query_audit(struct db_reader *reader, int64_t after, int limit, db_audit_fn row,
		   void *userdata);

#endif
