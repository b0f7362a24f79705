/* SPDX-License-Identifier: MIT */
/* Roll-ups of minutes and hours, and pruning of old rows. */
#ifndef DB_ROLLUP_H
#define DB_ROLLUP_H

#include <sqlite3.h>

#include "db/db.h"

#define ROLLUP_MINUTE_MS INT64_C(60000)
#define ROLLUP_HOUR_MS	 INT64_C(3600000)
#define ROLLUP_DAY_MS	 INT64_C(86400000)

struct rollup;
/* Returns a sqlite result code. The roll-up must be freed before @db is closed. */
int rollup_new(sqlite3 *db, const struct db_retention *retention, struct rollup **ret_rollup);
struct rollup *rollup_free(struct rollup *rollup);

/*
 * Must be called before a sample of @ts_ms is written, in the same transaction. If a new minute
 * begins, the function rolls up the previous minute, rolls up its hour if that hour has ended, and
 * prunes old rows. It stores the begin of the new minute in the file, for the next start.
 *
 * Every committed state of the file therefore has roll-ups of all minutes except the newest.
 */
int rollup_advance(struct rollup *rollup, int64_t ts_ms);

/* Must be called after a sample of vGPU @num was written. */
void rollup_add(struct rollup *rollup, int64_t num, const struct db_sample *sample);
/* Must be called if another program may have changed samples. */
void rollup_doubt(struct rollup *rollup);

/* Must be called after a rollback. Reads the begin of the open minute from the file. */
int rollup_reload(struct rollup *rollup);

#endif
