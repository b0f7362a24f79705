/* SPDX-License-Identifier: MIT */
/* The passing of time in the database: minutes and hours are rolled up, old rows are pruned. */
#ifndef DB_ROLLUP_H
#define DB_ROLLUP_H

#include <sqlite3.h>

#include "db/db.h"

#define ROLLUP_MINUTE_MS INT64_C(60000)
#define ROLLUP_HOUR_MS	 INT64_C(3600000)
#define ROLLUP_DAY_MS	 INT64_C(86400000)

struct rollup;
/* Returns a sqlite result code. The statements belong to @db: free before closing it. */
int rollup_new(sqlite3 *db, const struct db_retention *retention, struct rollup **ret_rollup);
struct rollup *rollup_free(struct rollup *rollup);

/*
 * To be called before a sample of @ts_ms is written, in the same transaction. When that begins
 * another minute, the one before is rolled up (and its hour, when that ended too) and old rows go.
 * Every committed state of the file therefore has all minutes rolled up but the open one, which is
 * noted in it: a restart goes on there.
 */
int rollup_advance(struct rollup *rollup, int64_t ts_ms);

/* The sample of vGPU @num was written, after rollup_advance() to its instant. */
void rollup_add(struct rollup *rollup, int64_t num, const struct db_sample *sample);
/* Another program may have changed samples. */
void rollup_doubt(struct rollup *rollup);

/* After a rollback: the open minute is again what the file says. */
int rollup_reload(struct rollup *rollup);

#endif
