/* SPDX-License-Identifier: MIT */
/*
 * The ledger: capacity sold, revenue and penalties, at the prices in force at the time; a later
 * price does not change earlier amounts. Each row is added to the sums of its minute, hour and day.
 * Sums of minutes are kept as long as the minutes of samples; sums of hours and days as long as the
 * minutes or hours of samples, whichever is longer.
 */
#ifndef DB_LEDGER_H
#define DB_LEDGER_H

#include "db/db.h"

/* Like the functions in db.h. The first two are written like samples, up to five seconds later. */
int db_append_ledger(struct db *db, const struct db_ledger *row);
int db_append_ledger_gpu(struct db *db, const struct db_ledger_gpu *row);
int db_append_price(struct db *db, const struct db_price *row);

/* The range of an answer: whole minutes, or whole hours where the minutes have been pruned. */
struct db_ledger_range {
	int64_t from_ms, to_ms;
	double watched_s; /* sum over all GPUs */
};

/* A non-zero result stops the query, which returns it. */
typedef int (*db_ledger_fn)(void *userdata, const struct db_ledger *row);
typedef int (*db_price_fn)(void *userdata, const struct db_price *price);

/*
 * The sums of [from_ms, to_ms), extended to *ret_range, by vGPU and flavour in alphabetical order,
 * each with ts_ms 0; then the prices in force in that range, oldest first. All are from one state
 * of the file.
 */
int db_query_ledger(struct db_reader *reader, int64_t from_ms, int64_t to_ms, db_ledger_fn row,
		    db_price_fn price, void *userdata, struct db_ledger_range *ret_range);

#endif
