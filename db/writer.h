/* SPDX-License-Identifier: MIT */
/* Adding records to the queue, for append.c, which has checked them. */
#ifndef DB_WRITER_H
#define DB_WRITER_H

#include "db/db.h"
#include "db/record.h"

/* Like db_append_sample(). */
int writer_append(struct db *db, enum record_kind kind, const void *record);

#endif
