/* SPDX-License-Identifier: MIT */
/*
 * What was sold, earned and owed, at the prices in force at the time: a later price never rewrites
 * the past. Rows are added to what stands for their minute, their hour and their day, so any
 * number of them may come for one; minutes are kept as long as those of the samples, hours and days
 * as long as those or their hours, whichever is longer.
 */
#ifndef DB_LEDGER_H
#define DB_LEDGER_H

#include "db/db.h"

struct db_money {
	double cap_s;	 /* integral of the cap that was sold: seconds of the whole GPU */
	double broken_s; /* vGPU-seconds */
	double revenue, penalty;
};

/* One vGPU, since its last row. */
struct db_ledger {
	int64_t ts_ms; /* within the minute that it is of */
	char vgpu[ID_MAX], gpu[ID_MAX], flavor[ID_MAX];
	struct db_money sold;
	struct db_money kept; /* of it what a host that does not oversell would have had too */
};

/* One GPU, since its last row. */
struct db_ledger_gpu {
	int64_t ts_ms;
	char gpu[ID_MAX];
	double watched_s; /* by a daemon, whether anything was sold or not */
};

/* What holds from then on. Told again unchanged, it makes no row. */
struct db_price {
	int64_t ts_ms;
	char flavor[ID_MAX];
	double price_per_cap_hour, penalty_per_broken_s;
};

/* As those of db.h; all three gather like samples but the last. */
int db_append_ledger(struct db *db, const struct db_ledger *row);
int db_append_ledger_gpu(struct db *db, const struct db_ledger_gpu *row);
int db_append_price(struct db *db, const struct db_price *row);

/* What a query answered for, in whole minutes, where those are kept no more in whole hours. */
struct db_ledger_range {
	int64_t from_ms, to_ms;
	double watched_s; /* of all GPUs together */
};

/* Non-zero stops, and is what the query returns. */
typedef int (*db_ledger_fn)(void *userdata, const struct db_ledger *row);
typedef int (*db_price_fn)(void *userdata, const struct db_price *price);

/*
 * The sums of [from_ms, to_ms), widened as said, by vGPU and flavour in order of their names, each
 * with ts_ms 0; then the prices that held at its begin or came into force in it, oldest first. All
 * of one state of the file.
 */
int db_query_ledger(struct db_reader *reader, int64_t from_ms, int64_t to_ms, db_ledger_fn row,
		    db_price_fn price, void *userdata, struct db_ledger_range *ret_range);

#endif
