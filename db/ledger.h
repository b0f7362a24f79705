/* SPDX-License-Identifier: MIT */
/*
 * The ledger: capacity sold, revenue and penalties, at the prices in force at the time; a later
 * price does not change earlier amounts. Each row is added to the sums of its minute, hour and day.
 * The retention of minutes applies to the sums of minutes. The longer of the retentions of minutes
 * and hours applies to the sums of hours and days.
 */
#ifndef DB_LEDGER_H
#define DB_LEDGER_H

#include "db/db.h"

/* Errors and blocking are those of the db_append functions in db/db.h. The first two kinds of
 * record are written like samples, up to five seconds later. */
int db_append_ledger(struct db *db, const struct db_ledger *row);
int db_append_ledger_gpu(struct db *db, const struct db_ledger_gpu *row);
int db_append_price(struct db *db, const struct db_price *row);

/* The range that an answer covers: whole minutes, or whole hours where the minutes have been
 * pruned. */
struct db_ledger_range {
	int64_t from_ms, to_ms;
	double watched_s; /* sum over all GPUs */
};

/* Called for each row. A non-zero result stops the query, and the query returns that result. */
typedef int (*db_ledger_fn)(void *userdata, const struct db_ledger *row);
typedef int (*db_price_fn)(void *userdata, const struct db_price *price);

/*
 * Calls @row for the sums over [from_ms, to_ms), extended to *ret_range: one row for each vGPU and
 * flavor, in alphabetical order, with ts_ms 0. Then calls @price for the prices in force in that
 * range, oldest first. All rows are from one state of the file.
 */
int db_query_ledger(struct db_reader *reader, int64_t from_ms, int64_t to_ms, db_ledger_fn row,
		    db_price_fn price, void *userdata, struct db_ledger_range *ret_range);

#endif
