/* SPDX-License-Identifier: MIT */
/*
 * The ledger: capacity sold, revenue and penalties. Each amount is computed with the price that was
 * in force at that time. A later price does not change it.
 *
 * Each row is added to the sums of its minute, hour and day. Sums of minutes are kept for the
 * retention of minutes. Sums of hours and days are kept for the retention of minutes or of hours,
 * whichever is longer.
 */
#ifndef DB_LEDGER_H
#define DB_LEDGER_H

#include "db/db.h"

/*
 * Each function appends one record, never blocks, and returns the same errors as
 * db_append_sample(). Like samples, records of the first two functions are written up to five
 * seconds later.
 */
int db_append_ledger(struct db *db, const struct db_ledger *row);
int db_append_ledger_gpu(struct db *db, const struct db_ledger_gpu *row);
int db_append_price(struct db *db, const struct db_price *row);

/*
 * The range that the sums cover. It begins and ends at a whole minute, or at a whole hour if the
 * sums of the minutes there were pruned.
 */
struct db_ledger_range {
	int64_t from_ms, to_ms;
	double watched_s; /* time during which a daemon ran, summed over all GPUs */
};

/*
 * Reads the sums over [from_ms, to_ms), extended to whole minutes or hours, and stores the extended
 * range in *ret_range. Calls @row for each pair of vGPU and flavor in alphabetical order with a
 * struct db_ledger; ts_ms is 0 in these rows. Then calls @price with each struct db_price in force
 * in the range, oldest first. All rows are from one state of the file.
 */
int db_query_ledger(struct db_reader *reader, int64_t from_ms, int64_t to_ms, db_row_fn row,
		    db_row_fn price, void *userdata, struct db_ledger_range *ret_range);

#endif
