/* SPDX-License-Identifier: MIT */
/*
 * The records of db.h as tables of fields. From them one is packed into the queue, bound to a
 * statement and read from a row, always in the same order.
 */
#ifndef DB_RECORD_H
#define DB_RECORD_H

#include <sqlite3.h>

#include "db/audit.h"
#include "db/ledger.h"

enum record_kind {
	RECORD_SAMPLE,
	RECORD_GPU_SAMPLE,
	RECORD_DECISION,
	RECORD_ALERT,
	RECORD_OFFER,
	RECORD_CAP_WRITE,
	RECORD_SETTING,
	RECORD_SETTING_GONE,
	RECORD_LEDGER,
	RECORD_LEDGER_GPU,
	RECORD_PRICE,
	RECORD_AUDIT,
	RECORD_SILENCE,
	RECORD_KINDS,
};

struct record_setting {
	char key[64];
	char value[DB_TEXT_MAX];
};

/* Bytes it packs into. -EINVAL: a text without its NUL. */
int record_size(enum record_kind kind, const void *record);
void record_pack(enum record_kind kind, const void *record, uint8_t *bytes);
void record_unpack(enum record_kind kind, const uint8_t *bytes, void *record);

/* The instant of a packed sample or gpu_sample. */
int64_t record_time(const uint8_t *bytes);
/* Whose sample, or row of the ledger, a packed one is. They stand in @bytes. */
void record_names(const uint8_t *bytes, const char **ret_vgpu, const char **ret_gpu);

/*
 * Binds the fields to ?1, ?2, ..., as many as the statement has, but not the names of a sample
 * or a row of the ledger. The
 * texts are not copied: @bytes must stay until the statement is reset. Returns a sqlite result
 * code.
 */
int record_bind(enum record_kind kind, const uint8_t *bytes, sqlite3_stmt *statement);

/* Fills @record from the current row, whose columns stand in the order of the fields. */
void record_read(enum record_kind kind, sqlite3_stmt *statement, void *record);

#endif
