/* SPDX-License-Identifier: MIT */
/* The tables of the history and how an older file gets them. */
#ifndef DB_SCHEMA_H
#define DB_SCHEMA_H

#include <sqlite3.h>

#include "base/err.h"

/* sqlite's application_id of our files ("Govr"): a file of somebody else is never touched. */
#define SCHEMA_APPLICATION_ID 0x476f7672

/* The numbered steps: schema_steps[n] takes a file from version n to n + 1. */
extern const char *const schema_steps[];
extern const int schema_version;

/*
 * Brings an open file from the version it has to @n_steps, each step in a transaction of its own.
 * -EINVAL: no database, or not ours. -EPROTO: newer than @n_steps. The sentence names @path.
 */
int schema_migrate(sqlite3 *db, const char *path, const char *const steps[], int n_steps,
		   struct err *reterr);

/* What a reader needs: ours, and exactly of this version. -EINVAL, -EPROTO. */
int schema_check(sqlite3 *db, const char *path, struct err *reterr);

#endif
