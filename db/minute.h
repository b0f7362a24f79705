/* SPDX-License-Identifier: MIT */
/*
 * The roll-up of one minute, gathered while its samples are written, so that none of them need be
 * read again. It knows when it does not hold them all: then the rows in the file must be asked.
 */
#ifndef DB_MINUTE_H
#define DB_MINUTE_H

#include <sqlite3.h>

#include "db/db.h"

struct minute;
/* For a minute that ended long ago. NULL: no memory. */
struct minute *minute_new(void);
struct minute *minute_free(struct minute *minute); /* NULL is fine; returns NULL */

/* Begins a minute of which the file holds no sample yet; each is told by minute_add() from here. */
void minute_begin(struct minute *minute);
/* The sample of vGPU @num was written. */
void minute_add(struct minute *minute, int64_t num, const struct db_sample *sample);
/* The file may hold more, or less, than was told. */
void minute_doubt(struct minute *minute);

bool minute_complete(const struct minute *minute);

/* A row for each vGPU, with the time @begin_ms. Returns a sqlite result code. */
extern const char minute_insert_sql[];
int minute_write(const struct minute *minute, int64_t begin_ms, sqlite3_stmt *insert);

#endif
