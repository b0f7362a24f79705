/* SPDX-License-Identifier: MIT */
/*
 * Computes the roll-up of one minute while the samples of the minute are written, so that the
 * samples need not be read again. If the file may contain other samples of the minute, the minute
 * is marked as incomplete, and its roll-up must be computed from the file.
 */
#ifndef DB_MINUTE_H
#define DB_MINUTE_H

#include <sqlite3.h>

#include "db/db.h"

struct minute;
/* Returns a minute that is marked as incomplete, or NULL if memory is exhausted. */
struct minute *minute_new(void);
/* @minute can be NULL. Returns NULL. */
struct minute *minute_free(struct minute *minute);

/* Begins a minute. The file must not contain a sample of this minute. Each sample must then be
 * passed to minute_add(). */
void minute_begin(struct minute *minute);
/* Adds a sample of vGPU @num. */
void minute_add(struct minute *minute, int64_t num, const struct db_sample *sample);
/*
 * Marks the minute as incomplete. Call this function if the file may contain samples that were not
 * passed to minute_add().
 */
void minute_doubt(struct minute *minute);

bool minute_complete(const struct minute *minute);

/* Writes one row for each vGPU. @begin_ms is the time in each row. Returns a sqlite result code. */
extern const char minute_insert_sql[];
int minute_write(const struct minute *minute, int64_t begin_ms, sqlite3_stmt *insert);

#endif
