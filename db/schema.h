/* SPDX-License-Identifier: MIT */
/* The tables of the history and the migration of older files. */
#ifndef DB_SCHEMA_H
#define DB_SCHEMA_H

#include <sqlite3.h>

#include "base/err.h"

/* The application_id of gover's databases ("Govr"). Other databases are never changed. */
#define SCHEMA_APPLICATION_ID 0x476f7672

/* schema_steps[n] migrates a file from version n to n + 1. */
extern const char *const schema_steps[];
extern const int schema_version;

/*
 * Migrates an open file from its version to @n_steps, each step in its own transaction. Returns
 * -EINVAL if the file is a database of another program, -EPROTO if its version is newer than
 * @n_steps, and -EUCLEAN if it is damaged. The message contains @path.
 */
int schema_migrate(sqlite3 *db, const char *path, const char *const steps[], int n_steps,
		   struct err *reterr);

/*
 * Checks that the file is a database of gover of exactly this version. Returns the same errors as
 * schema_migrate().
 */
int schema_check(sqlite3 *db, const char *path, struct err *reterr);

#endif
