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

/* Adds a reading of the clocks. Rows are pruned by the trusted time of these readings. */
void rollup_clock(struct rollup *rollup, int64_t wall_ms, int64_t boot_ms);

/* Returns how far the wall clock is ahead of the trusted time. */
int64_t rollup_clock_ahead_ms(const struct rollup *rollup);

/*
 * Must be called before a sample of @ts_ms is written, in the same transaction. If @ts_ms is in
 * another minute than the open one, the function rolls up the open minute, rolls up its hour if
 * @ts_ms is in another hour, prunes old rows, and opens the minute of @ts_ms. It stores the begin
 * of the open minute in the file, for the next start.
 *
 * Every committed state of the file therefore has roll-ups of all minutes except the open one.
 */
int rollup_advance(struct rollup *rollup, int64_t ts_ms);

/* Must be called after a rollback. Reads the begin of the open minute from the file. */
int rollup_reload(struct rollup *rollup);

#endif
