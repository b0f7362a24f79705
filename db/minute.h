/* SPDX-License-Identifier: MIT */
/*
 * The roll-up of one minute, computed while its samples are written, so that they need not be read
 * again. If it may not include all samples of the file it is incomplete, and the file must be read.
 */
#ifndef DB_MINUTE_H
#define DB_MINUTE_H

#include <sqlite3.h>

#include "db/db.h"

struct minute;
/* Returns an incomplete minute; NULL: out of memory. */
struct minute *minute_new(void);
struct minute *minute_free(struct minute *minute); /* @minute can be NULL; returns NULL */

/* Begins a minute of which the file has no sample. Each sample must then be passed to minute_add().
 */
void minute_begin(struct minute *minute);
/* Adds a sample of vGPU @num. */
void minute_add(struct minute *minute, int64_t num, const struct db_sample *sample);
/* Marks the minute as incomplete: the file may have other samples. */
void minute_doubt(struct minute *minute);

bool minute_complete(const struct minute *minute);

/* Writes a row for each vGPU with the time @begin_ms. Returns a sqlite result code. */
extern const char minute_insert_sql[];
int minute_write(const struct minute *minute, int64_t begin_ms, sqlite3_stmt *insert);

#endif
