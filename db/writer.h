/* SPDX-License-Identifier: MIT */
/* Functions that add records to the queue. Only append.c calls them, after it has checked the
 * records. */
#ifndef DB_WRITER_H
#define DB_WRITER_H

#include "db/db.h"
#include "db/record.h"

/* Returns the same errors as db_append_sample(). */
int writer_append(struct db *db, enum record_kind kind, const void *record);

#endif
