/* SPDX-License-Identifier: MIT */
/* The fields of records: binding and reading. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "db/record.h"

enum field_type {
	FIELD_BOOL,
	FIELD_INT,
	FIELD_I64,
	FIELD_STAMP, /* int64_t; not negative */
	FIELD_TIME,  /* int64_t; 0 is stored as NULL */
	FIELD_REAL,  /* double; NAN is stored as NULL */
	FIELD_SHARE, /* double, a fraction; stored in percent */
	FIELD_SUM,   /* double; always a finite number */
	FIELD_TEXT,  /* char[]; "" is stored as NULL */
	FIELD_ID,    /* char[] with a valid id */
	FIELD_NAME,  /* char[] with a valid id; store.c replaces it with its numeric id */
};

struct record_field {
	enum field_type type;
	uint16_t offset, size;
	uint16_t valid; /* offset of the valid bit; 0: none. Without this bit, NULL is stored */
};

#define FIELD(field_type, record, member)                                              \
	{                                                                              \
		.type = FIELD_##field_type, .offset = offsetof(struct record, member), \
		.size = sizeof(((struct record *)NULL)->member),                       \
	}

/* A member of struct sample. */
#define SAMPLE_FIELD(field_type, member, valid_bit)                                              \
	{                                                                                        \
		.type = FIELD_##field_type, .offset = offsetof(struct db_sample, sample.member), \
		.size = sizeof(double), .valid = offsetof(struct db_sample, sample.valid_bit),   \
	}

static const struct record_field sample_fields[] = {
	FIELD(STAMP, db_sample, ts_ms),
	FIELD(NAME, db_sample, vgpu),
	FIELD(NAME, db_sample, gpu),
	FIELD(REAL, db_sample, sample.dt_s),
	FIELD(INT, db_sample, cap_pct),
	FIELD(INT, db_sample, initial_cap_pct),
	SAMPLE_FIELD(SHARE, load, busy_valid),
	SAMPLE_FIELD(SHARE, util, busy_valid),
	SAMPLE_FIELD(REAL, fps, fps_valid),
	FIELD(REAL, db_sample, target_fps),
	SAMPLE_FIELD(REAL, frame_p99_ms, p99_valid),
	FIELD(BOOL, db_sample, short_of_target),
	FIELD(BOOL, db_sample, broken),
	FIELD(BOOL, db_sample, gap),
};

static const struct record_field gpu_sample_fields[] = {
	FIELD(STAMP, db_gpu_sample, ts_ms),	FIELD(ID, db_gpu_sample, gpu),
	FIELD(REAL, db_gpu_sample, util_pct),	FIELD(REAL, db_gpu_sample, load_pct),
	FIELD(INT, db_gpu_sample, sum_cap_pct), FIELD(INT, db_gpu_sample, sum_initial_cap_pct),
	FIELD(INT, db_gpu_sample, vgpus),	FIELD(BOOL, db_gpu_sample, gap),
};

static const struct record_field decision_fields[] = {
	FIELD(I64, db_decision, id),	       FIELD(I64, db_decision, ts_ms),
	FIELD(TEXT, db_decision, gpu),	       FIELD(TEXT, db_decision, kind),
	FIELD(TEXT, db_decision, vgpu),	       FIELD(TEXT, db_decision, donor),
	FIELD(TEXT, db_decision, result),      FIELD(TEXT, db_decision, why),
	FIELD(TEXT, db_decision, detail_json),
};

static const struct record_field alert_fields[] = {
	FIELD(I64, db_alert, id),	   FIELD(TIME, db_alert, raised_ms),
	FIELD(TIME, db_alert, cleared_ms), FIELD(TIME, db_alert, acked_ms),
	FIELD(TEXT, db_alert, name),	   FIELD(TEXT, db_alert, gpu),
	FIELD(TEXT, db_alert, vgpu),	   FIELD(TEXT, db_alert, severity),
	FIELD(TEXT, db_alert, text),	   FIELD(TEXT, db_alert, vm),
	FIELD(TEXT, db_alert, cause),	   FIELD(TEXT, db_alert, acked_by),
};

static const struct record_field tally_fields[] = {
	FIELD(ID, db_tally, vgpu),
	FIELD(I64, db_tally, ts_ms),
	FIELD(I64, db_tally, contract_ms),
	FIELD(I64, db_tally, since_ms),
	FIELD(SUM, db_tally, seen_s),
	FIELD(SUM, db_tally, broken_s),
	FIELD(SUM, db_tally, fps_sum_s),
	FIELD(SUM, db_tally, fps_s),
	FIELD(SUM, db_tally, cap_error_pct_s),
	FIELD(SUM, db_tally, cap_error_s),
	FIELD(I64, db_tally, steals_in),
	FIELD(I64, db_tally, steals_out),
	FIELD(I64, db_tally, cap_writes),
	FIELD(SUM, db_tally, slow_bad_s),
	FIELD(BOOL, db_tally, slow_burns),
};

static const struct record_field offer_fields[] = {
	FIELD(I64, db_offer, id),	   FIELD(TIME, db_offer, created_ms),
	FIELD(TIME, db_offer, changed_ms), FIELD(TEXT, db_offer, gpu),
	FIELD(TEXT, db_offer, state),	   FIELD(TEXT, db_offer, vgpu),
	FIELD(INT, db_offer, cap_pct),	   FIELD(INT, db_offer, funded_pct),
	FIELD(REAL, db_offer, target_fps), FIELD(TEXT, db_offer, reason),
	FIELD(TEXT, db_offer, flavor),
};

static const struct record_field cap_write_fields[] = {
	FIELD(I64, db_cap_write, ts_ms),	 FIELD(TEXT, db_cap_write, vgpu),
	FIELD(TEXT, db_cap_write, gpu),		 FIELD(TEXT, db_cap_write, cause),
	FIELD(INT, db_cap_write, from_pct),	 FIELD(INT, db_cap_write, to_pct),
	FIELD(INT, db_cap_write, read_back_pct), FIELD(INT, db_cap_write, error),
};

static const struct record_field setting_fields[] = {
	FIELD(TEXT, db_setting, key),
	FIELD(TEXT, db_setting, value),
};

static const struct record_field ledger_fields[] = {
	FIELD(STAMP, db_ledger, ts_ms),	     FIELD(NAME, db_ledger, vgpu),
	FIELD(NAME, db_ledger, gpu),	     FIELD(ID, db_ledger, flavor),
	FIELD(SUM, db_ledger, sold.cap_s),   FIELD(SUM, db_ledger, sold.broken_s),
	FIELD(SUM, db_ledger, sold.revenue), FIELD(SUM, db_ledger, sold.penalty),
	FIELD(SUM, db_ledger, kept.cap_s),   FIELD(SUM, db_ledger, kept.broken_s),
	FIELD(SUM, db_ledger, kept.revenue), FIELD(SUM, db_ledger, kept.penalty),
};

static const struct record_field ledger_gpu_fields[] = {
	FIELD(STAMP, db_ledger_gpu, ts_ms),
	FIELD(ID, db_ledger_gpu, gpu),
	FIELD(SUM, db_ledger_gpu, watched_s),
};

static const struct record_field price_fields[] = {
	FIELD(STAMP, db_price, ts_ms),
	FIELD(ID, db_price, flavor),
	FIELD(SUM, db_price, price_per_cap_hour),
	FIELD(SUM, db_price, penalty_per_broken_s),
};

static const struct record_field audit_fields[] = {
	FIELD(STAMP, db_audit, ts_ms),	    FIELD(TEXT, db_audit, who),
	FIELD(TEXT, db_audit, origin),	    FIELD(TEXT, db_audit, method),
	FIELD(TEXT, db_audit, path),	    FIELD(INT, db_audit, status),
	FIELD(TEXT, db_audit, before_json), FIELD(TEXT, db_audit, after_json),
	FIELD(I64, db_audit, id),
};

static const struct record_field silence_fields[] = {
	FIELD(I64, db_silence, id),	   FIELD(TIME, db_silence, created_ms),
	FIELD(TIME, db_silence, until_ms), FIELD(TIME, db_silence, ended_ms),
	FIELD(TEXT, db_silence, alert),	   FIELD(TEXT, db_silence, gpu),
	FIELD(TEXT, db_silence, vgpu),	   FIELD(TEXT, db_silence, reason),
};

static const struct record_field clock_fields[] = {
	FIELD(STAMP, record_clock, wall_ms),
	FIELD(I64, record_clock, boot_ms),
};

#define KIND(record, name, queued_max)                                                       \
	{                                                                                    \
		name##_fields, ARRAY_SIZE(name##_fields), sizeof(struct record), queued_max, \
	}

/*
 * The samples of 64 vGPUs fit for four minutes at a period of one second. Records with long texts
 * are rarer, but a start can create one for each vGPU.
 */
const struct record_type record_types[RECORD_KINDS] = {
	[RECORD_SAMPLE] = KIND(db_sample, sample, 16384),
	[RECORD_GPU_SAMPLE] = KIND(db_gpu_sample, gpu_sample, 16384),
	[RECORD_DECISION] = KIND(db_decision, decision, 2048),
	[RECORD_ALERT] = KIND(db_alert, alert, 2048),
	[RECORD_TALLY] = KIND(db_tally, tally, 4096),
	[RECORD_OFFER] = KIND(db_offer, offer, 2048),
	[RECORD_CAP_WRITE] = KIND(db_cap_write, cap_write, 4096),
	[RECORD_SETTING] = KIND(db_setting, setting, 256),
	[RECORD_SETTING_GONE] = KIND(db_setting, setting, 256),
	[RECORD_LEDGER] = KIND(db_ledger, ledger, 16384),
	[RECORD_LEDGER_GPU] = KIND(db_ledger_gpu, ledger_gpu, 4096),
	[RECORD_PRICE] = KIND(db_price, price, 256),
	[RECORD_CLOCK] = KIND(record_clock, clock, 16384),
	[RECORD_AUDIT] = KIND(db_audit, audit, 0), /* db_add_audit() has a list of its own */
	[RECORD_SILENCE] = KIND(db_silence, silence, 256),
};

static bool is_valid(const struct record_field *field, const char *member)
{
	switch (field->type) {
	case FIELD_STAMP:
		return *(const int64_t *)(const void *)member >= 0;
	case FIELD_SUM:
		return isfinite(*(const double *)(const void *)member);
	case FIELD_TEXT:
		return memchr(member, '\0', field->size);
	case FIELD_ID:
	case FIELD_NAME:
		return memchr(member, '\0', field->size) && id_valid(member);
	case FIELD_BOOL:
	case FIELD_INT:
	case FIELD_I64:
	case FIELD_TIME:
	case FIELD_REAL:
	case FIELD_SHARE:
		break;
	}
	return true;
}

bool record_valid(enum record_kind kind, const void *record)
{
	for (size_t i = 0; i < record_types[kind].n; i++)
		if (!is_valid(&record_types[kind].fields[i],
			      (const char *)record + record_types[kind].fields[i].offset))
			return false;
	return true;
}

static int bind_text(sqlite3_stmt *statement, int i, const char *text)
{
	return text[0] ? sqlite3_bind_text(statement, i, text, -1, SQLITE_STATIC)
		       : sqlite3_bind_null(statement, i);
}

static int bind_field(const struct record_field *field, const void *member, sqlite3_stmt *statement,
		      int i)
{
	switch (field->type) {
	case FIELD_BOOL:
		return sqlite3_bind_int(statement, i, *(const bool *)member);
	case FIELD_INT:
		return sqlite3_bind_int(statement, i, *(const int *)member);
	case FIELD_I64:
	case FIELD_STAMP:
		return sqlite3_bind_int64(statement, i, *(const int64_t *)member);
	case FIELD_TIME:
		return *(const int64_t *)member == 0
			       ? sqlite3_bind_null(statement, i)
			       : sqlite3_bind_int64(statement, i, *(const int64_t *)member);
	case FIELD_REAL: /* sqlite stores NaN as NULL */
	case FIELD_SUM:
		return sqlite3_bind_double(statement, i, *(const double *)member);
	case FIELD_SHARE:
		return sqlite3_bind_double(statement, i, 100 * *(const double *)member);
	case FIELD_TEXT:
	case FIELD_ID:
		return bind_text(statement, i, member);
	case FIELD_NAME:
		return SQLITE_OK;
	}
	return SQLITE_MISUSE;
}

int record_bind(enum record_kind kind, const void *record, sqlite3_stmt *statement)
{
	int n = sqlite3_bind_parameter_count(statement), rc = SQLITE_OK;

	for (int i = 0; i < n && rc == SQLITE_OK; i++) {
		const struct record_field *field = &record_types[kind].fields[i];
		const char *bytes = record;

		if (field->valid && !*(const bool *)(bytes + field->valid))
			rc = sqlite3_bind_null(statement, i + 1);
		else
			rc = bind_field(field, bytes + field->offset, statement, i + 1);
	}
	return rc;
}

/* Returns NAN for a NULL column. */
static double read_real(sqlite3_stmt *statement, int i)
{
	return sqlite3_column_type(statement, i) == SQLITE_NULL
		       ? NAN
		       : sqlite3_column_double(statement, i);
}

static void read_field(const struct record_field *field, sqlite3_stmt *statement, int i,
		       char *member)
{
	const char *text;

	switch (field->type) {
	case FIELD_BOOL:
		*(bool *)(void *)member = sqlite3_column_int(statement, i) != 0;
		return;
	case FIELD_INT:
		*(int *)(void *)member = sqlite3_column_int(statement, i);
		return;
	case FIELD_I64:
	case FIELD_STAMP:
	case FIELD_TIME: /* a NULL column reads as 0 */
		*(int64_t *)(void *)member = sqlite3_column_int64(statement, i);
		return;
	case FIELD_REAL:
	case FIELD_SUM:
		*(double *)(void *)member = read_real(statement, i);
		return;
	case FIELD_SHARE: /* 100 times this is the stored number again (test-db-history.c) */
		*(double *)(void *)member = read_real(statement, i) / 100;
		return;
	case FIELD_TEXT:
	case FIELD_ID:
	case FIELD_NAME:
		text = (const char *)sqlite3_column_text(statement, i);
		snprintf(member, field->size, "%s", text ? text : "");
		return;
	}
}

void record_read(enum record_kind kind, sqlite3_stmt *statement, void *record)
{
	for (size_t i = 0; i < record_types[kind].n; i++) {
		const struct record_field *field = &record_types[kind].fields[i];
		char *bytes = record;

		read_field(field, statement, (int)i, bytes + field->offset);
		if (field->valid) /* columns with a common bit are NULL together */
			*(bool *)(bytes + field->valid) =
				sqlite3_column_type(statement, (int)i) != SQLITE_NULL;
	}
}
