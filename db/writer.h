/* SPDX-License-Identifier: MIT */
/* The queue's entrance, for append.c alone: records that are known to be good. */
#ifndef DB_WRITER_H
#define DB_WRITER_H

#include "db/record.h"

/* As db_append_sample(). */
int writer_append(struct db *db, enum record_kind kind, const void *record);

#endif
