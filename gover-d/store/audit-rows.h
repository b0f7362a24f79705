/* SPDX-License-Identifier: MIT */
/*
 * The rows of the audit log that the history does not have yet. The contracts file contains them,
 * so that a change and its row are stored by the same write, and a start passes them to the
 * history.
 *
 * A row is added when its change is accepted. It then contains the request and has no status. When
 * the request has ended, the final row replaces it and is passed to the history, and it leaves this
 * list after the history has written it.
 */
#ifndef GOVER_D_STORE_AUDIT_ROWS_H
#define GOVER_D_STORE_AUDIT_ROWS_H

#include <jansson.h>

#include "db/db.h"

#define AUDIT_ROWS_SINCE 12 /* first version of the file with "audit" */
/* The longest list is about 9 MiB in the file, of which a reader accepts 16 MiB. */
#define AUDIT_ROWS_MAX 512

struct audit_entry;

/* All zero: an empty list. */
struct audit_rows {
	struct audit_entry *first; /* owned; in the order of the ids */
	size_t n;
	int64_t last_id; /* the id that was given last */
};

void audit_rows_fini(struct audit_rows *rows);

/* True if no row can be added, because the history writes none. */
static inline bool audit_rows_full(const struct audit_rows *rows)
{
	return rows->n >= AUDIT_ROWS_MAX;
}
/* Sets the next id in @row, and adds a copy of it. The list must not be full. */
void audit_rows_add(struct audit_rows *rows, struct db_audit *row);
/* Removes the row with this @id, whose change is not made. */
void audit_rows_remove(struct audit_rows *rows, int64_t id);
/* Replaces the row with the id of @row, which is final. @db may be NULL. */
void audit_rows_end(struct audit_rows *rows, const struct db_audit *row, struct db *db);
/* Passes all final rows to @db that were not passed. */
void audit_rows_pass(struct audit_rows *rows, struct db *db);
/* Removes the rows that @db has written. */
void audit_rows_drop_written(struct audit_rows *rows, struct db *db);

/* Returns the id of the first row that is not final, or the next id if all rows are final. */
int64_t audit_rows_end_id(const struct audit_rows *rows);
/* Calls @row with each row whose id is in @after + 1 .. @end - 1. */
void audit_rows_list(const struct audit_rows *rows, int64_t after, int64_t end, db_row_fn row,
		     void *userdata);

/* Adds the member "audit" to @root. */
void audit_rows_encode(const struct audit_rows *rows, json_t *root);
/* Decodes this member, which @root must contain. -EINVAL with a message; @rows is then partial. */
int audit_rows_decode(const json_t *root, struct audit_rows *rows, struct err *reterr);

#endif
