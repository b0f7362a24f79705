/* SPDX-License-Identifier: MIT */
/* The writing connection: an open file of the newest schema with its statements. One thread. */
#ifndef DB_STORE_H
#define DB_STORE_H

#include "db/record.h"

struct store;
/* As db_open(); also -EBUSY: another program holds its lock. */
int store_open(const char *path, const struct db_retention *retention, struct store **ret_store,
	       struct err *reterr);
struct store *store_close(struct store *store);

/* Each returns a sqlite result code. After a failed write or commit comes a rollback. */
int store_begin(struct store *store);
int store_write(struct store *store, enum record_kind kind, const uint8_t *bytes);
int store_commit(struct store *store);
int store_rollback(struct store *store);
/* In a transaction of its own, outside of any other. */
int store_keep_contracts(struct store *store, int64_t revision, const char *text);

/* What sqlite says about the last failure. */
const char *store_message(const struct store *store);
/* True when its file was deleted or replaced under us. */
bool store_moved(const struct store *store);

#endif
