/* SPDX-License-Identifier: MIT */
/*
 * The fields of each record in db/rows.h, as arrays of descriptions. The order of an array is the
 * order in which fields are packed for the queue, bound to a statement and read from a row.
 */
#ifndef DB_RECORD_H
#define DB_RECORD_H

#include <sqlite3.h>

#include "db/rows.h"

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

struct record_setting {
	char key[64];
	char value[DB_TEXT_MAX];
};

struct record_clock {
	int64_t wall_ms, boot_ms;
};

/* Returns the packed size in bytes. Returns -EINVAL if a text has no NUL. */
int record_size(enum record_kind kind, const void *record);
void record_pack(enum record_kind kind, const void *record, uint8_t *bytes);
void record_unpack(enum record_kind kind, const uint8_t *bytes, void *record);

/* Returns the time of a packed sample or gpu_sample. */
int64_t record_time(const uint8_t *bytes);
/* Returns the names in a packed sample or row of the ledger, as pointers into @bytes. */
void record_names(const uint8_t *bytes, const char **ret_vgpu, const char **ret_gpu);

/*
 * Binds the fields to ?1, ?2, ..., up to the number of parameters of the statement. Names are not
 * bound (see record_names()). Texts are not copied, so @bytes must exist until the statement is
 * reset. Returns a sqlite result code.
 */
int record_bind(enum record_kind kind, const uint8_t *bytes, sqlite3_stmt *statement);

/* Fills @record from the current row, whose columns have the order of the fields. */
void record_read(enum record_kind kind, sqlite3_stmt *statement, void *record);

#endif
