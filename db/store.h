/* SPDX-License-Identifier: MIT */
/* The writing connection and its statements. Only one thread may use a connection. */
#ifndef DB_STORE_H
#define DB_STORE_H

#include "db/db.h"
#include "db/record.h"

struct store;
/* Like db_open(). Also returns -EBUSY if another program has locked the file. */
int store_open(const char *path, const struct db_retention *retention, struct store **ret_store,
	       struct err *reterr);
struct store *store_close(struct store *store);

/* Each function returns a sqlite result code. The caller rolls back after a failed write or
 * commit. */
int store_begin(struct store *store);
int store_write(struct store *store, enum record_kind kind, const uint8_t *bytes);
int store_commit(struct store *store);
int store_rollback(struct store *store);
/* Writes the contracts in a transaction of their own. */
int store_save_contracts(struct store *store, int64_t revision, const char *text);

/* See db_stats.clock_ahead_ms. */
int64_t store_clock_ahead_ms(const struct store *store);
/* Returns the message of sqlite about the last failure. */
const char *store_message(const struct store *store);
/* Returns true if the file was deleted or replaced. */
bool store_moved(const struct store *store);

#endif
