/* SPDX-License-Identifier: MIT */
/*
 * The fields of each record in db/db.h, as arrays of descriptions. The order of an array is the
 * order in which fields are bound to a statement and read from a row.
 */
#ifndef DB_RECORD_H
#define DB_RECORD_H

#include <sqlite3.h>
#include <stddef.h>

#include "db/db.h"

enum record_kind {
	RECORD_SAMPLE,
	RECORD_GPU_SAMPLE,
	RECORD_DECISION,
	RECORD_ALERT,
	RECORD_TALLY,
	RECORD_OFFER,
	RECORD_CAP_WRITE,
	RECORD_SETTING,
	RECORD_SETTING_GONE,
	RECORD_LEDGER,
	RECORD_LEDGER_GPU,
	RECORD_PRICE,
	RECORD_AUDIT,
	RECORD_SILENCE,
	RECORD_CLOCK,
	RECORD_KINDS,
};

struct record_clock {
	int64_t wall_ms, boot_ms;
};

struct record_field;

extern const struct record_type {
	const struct record_field *fields;
	size_t n;	   /* number of fields */
	size_t size;	   /* of the struct */
	size_t queued_max; /* how many records of this kind the queue can hold */
} record_types[RECORD_KINDS];

/*
 * Returns true if each text ends with a NUL, each id is valid, each sum is finite, and no stamp is
 * negative.
 */
bool record_valid(enum record_kind kind, const void *record);

/*
 * Binds the fields to ?1, ?2, ..., up to the number of parameters of the statement. Names are not
 * bound, because the database stores their numeric ids. Texts are not copied, so @record must exist
 * until the statement is reset. Returns a sqlite result code.
 */
int record_bind(enum record_kind kind, const void *record, sqlite3_stmt *statement);

/* Fills @record from the current row, whose columns have the order of the fields. */
void record_read(enum record_kind kind, sqlite3_stmt *statement, void *record);

#endif
