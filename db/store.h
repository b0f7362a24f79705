/* SPDX-License-Identifier: MIT */
/*
 * The writing connection, its statements and its roll-ups, and the trusted time, by which old rows
 * are pruned. A damaged database is set aside when it is opened. Only one thread may use a
 * connection.
 */
#ifndef DB_STORE_H
#define DB_STORE_H

#include <sqlite3.h>

#include "db/record.h"

struct store;

struct store *store_close(struct store *store);
/* Like store_close(), but leaves the files as they are, without a checkpoint. */
struct store *store_abandon(struct store *store);

/*
 * Reads the whole file and checks it. Returns false and a message if it is damaged. An error that
 * is no damage counts as not damaged.
 */
bool store_check(struct store *store, char message[DB_MESSAGE_MAX]);

/* Each function returns a sqlite result code. The caller rolls back after a failed write or
 * commit. */
int store_begin(struct store *store);
int store_write(struct store *store, enum record_kind kind, const void *record);
/* Like store_write() of a RECORD_CLOCK, also outside a transaction. */
void store_read_clock(struct store *store, const struct record_clock *clock);
int store_commit(struct store *store);
/*
 * Sets whether the commits that follow return when the transaction is on disk. Otherwise, a crash
 * of the machine can lose the newest transactions. Call it outside a transaction.
 */
int store_set_durable(struct store *store, bool durable);
int store_rollback(struct store *store);
/* Writes the contracts in a transaction of their own. */
int store_save_contracts(struct store *store, int64_t revision, const char *text);

/* See db_stats.clock_ahead_ms. */
int64_t store_clock_ahead_ms(const struct store *store);
/* Returns the message of sqlite about the last failure. */
const char *store_message(const struct store *store);
/* Returns true if the file was deleted or replaced. */
bool store_moved(const struct store *store);
/*
 * Returns the end of the name of its log or index if this file was deleted or replaced, or NULL.
 * The store still has all its rows, but no other connection finds those in the log.
 */
const char *store_lost_file(const struct store *store);
/* Copies all rows from the log to the file. SQLITE_BUSY: a reader still needs the log. */
int store_empty_log(struct store *store);
/* True if the store has no log, because the file system has no shared mappings for its index. */
bool store_has_no_log(const struct store *store);

#define ROLLUP_MINUTE_MS INT64_C(60000)
#define ROLLUP_HOUR_MS	 INT64_C(3600000)
#define ROLLUP_DAY_MS	 INT64_C(86400000)

struct damage_result {
	bool created; /* the database is new */
	/* the last program that wrote to the database did not close it, so pages may be damaged */
	bool unclean;
	/* name of the file that was set aside; "": none */
	char set_aside[DB_DAMAGED_NAME_MAX];
	char why[DB_MESSAGE_MAX]; /* why that file counts as damaged */
};

/*
 * Opens the database. @why: the file was found damaged for this reason, so it is set aside; NULL:
 * nothing was found yet. Returns the same errors as db_open().
 */
int damage_open(const char *path, const struct db_retention *retention, const char *why,
		struct store **ret_store, struct damage_result *ret_result, struct err *reterr);

/*
 * Renames the log if it has content. Must be called while no connection has the database open and
 * its own log was emptied: the content belongs to another database.
 */
void damage_move_log(const char *path, struct damage_result *ret_result);

/* Lists the databases that were set aside, oldest first. */
void damage_list(const char *path, struct db_damaged *ret_damaged);

/*
 * --- the trusted time ---
 *
 * The time that pruning may rely on. The wall clock can be wrong: it can jump ahead for a moment or
 * be wrong from the boot until it is synchronised. Rows that were pruned in such a time are lost.
 *
 * The trusted time advances with CLOCK_BOOTTIME, which includes suspends and never jumps. A reading
 * of the wall clock becomes trusted only after it was confirmed: after the reading, the daemon has
 * run for a day, and the wall clock was never set back. A jump of the wall clock, or a time
 * in which the host was off, is therefore trusted at the latest after two days of running. Until
 * then, rows are kept longer.
 */

/* Running time after which a reading of the wall clock is confirmed. */
#define TRUSTED_TIME_CONFIRM_MS INT64_C(86400000)
/* A smaller step backwards is no doubt about the clock; leap seconds and corrections by NTP are
 * smaller. */
#define TRUSTED_TIME_STEP_MS 10000

/* Stored in the database. All zero: no reading yet. */
struct trusted_time {
	int64_t trusted_ms;   /* the trusted time */
	int64_t proposed_ms;  /* advanced from the reading that is being confirmed */
	int64_t confirmed_ms; /* running time since that reading */
	int64_t wall_ms;      /* the last reading of the wall clock */
};

/*
 * Adds a reading of the wall clock. @elapsed_ms: increase of CLOCK_BOOTTIME since the last reading,
 * 0 for the first reading of a run.
 */
void trusted_time_add(struct trusted_time *time, int64_t wall_ms, int64_t elapsed_ms);

/* Returns the time by which rows may be pruned. It is never later than the last reading. 0: no
 * reading yet. */
int64_t trusted_time_get(const struct trusted_time *time);

#endif
