/* SPDX-License-Identifier: MIT */
/*
 * Opens the database, creates it if it is missing, and sets a damaged one aside. A database is
 * damaged if sqlite finds it malformed, if tables or columns are missing, if the file is empty, or
 * if it is a folder. A database of a newer version of gover or of another program is not damaged,
 * and neither is a database that cannot be read or written.
 *
 * A damaged database is renamed to PATH.damaged-TIME, together with its -wal and -shm. At most
 * DB_DAMAGED_MAX of them are kept: the oldest, which contain most of the history, and the newest.
 * The new database is created before the old one is renamed, so that nothing changes if it cannot
 * be created.
 */
#ifndef DB_DAMAGE_H
#define DB_DAMAGE_H

#include "db/db.h"
#include "db/store.h"

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

/* Lists the databases that were set aside, oldest first. */
void damage_list(const char *path, struct db_damaged *ret_damaged);

#endif
