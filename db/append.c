/* SPDX-License-Identifier: MIT */
/* Checks records and appends them to the queue. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "db/audit.h"
#include "db/ledger.h"
#include "db/writer.h"

int db_append_sample(struct db *db, const struct db_sample *row)
{
	if (row->ts_ms < 0 || !id_valid(row->vgpu) || !id_valid(row->gpu))
		return -EINVAL;
	return writer_append(db, RECORD_SAMPLE, row);
}

int db_append_gpu_sample(struct db *db, const struct db_gpu_sample *row)
{
	if (row->ts_ms < 0 || !id_valid(row->gpu))
		return -EINVAL;
	return writer_append(db, RECORD_GPU_SAMPLE, row);
}

int db_append_clock(struct db *db, int64_t wall_ms, uint64_t boot_ns)
{
	struct record_clock row = {
		.wall_ms = wall_ms,
		.boot_ms = (int64_t)(boot_ns / NS_PER_MS),
	};

	return wall_ms < 0 ? -EINVAL : writer_append(db, RECORD_CLOCK, &row);
}

int db_append_decision(struct db *db, const struct db_decision *row)
{
	return writer_append(db, RECORD_DECISION, row);
}

int db_append_alert(struct db *db, const struct db_alert *row)
{
	return writer_append(db, RECORD_ALERT, row);
}

int db_append_tally(struct db *db, const struct db_tally *row)
{
	if (!id_valid(row->vgpu) || !isfinite(row->seen_s) || !isfinite(row->broken_s) ||
	    !isfinite(row->fps_sum_s) || !isfinite(row->fps_s) || !isfinite(row->cap_error_pct_s) ||
	    !isfinite(row->cap_error_s) || !isfinite(row->slow_bad_s))
		return -EINVAL;
	return writer_append(db, RECORD_TALLY, row);
}

int db_append_offer(struct db *db, const struct db_offer *row)
{
	return writer_append(db, RECORD_OFFER, row);
}

int db_append_silence(struct db *db, const struct db_silence *row)
{
	return writer_append(db, RECORD_SILENCE, row);
}

int db_append_cap_write(struct db *db, const struct db_cap_write *row)
{
	return writer_append(db, RECORD_CAP_WRITE, row);
}

int db_append_setting(struct db *db, const char *key, const char *value)
{
	struct record_setting row = {.value = ""};

	if (key[0] == '\0' || strlen(key) >= sizeof(row.key) ||
	    (value && strlen(value) >= sizeof(row.value)))
		return -EINVAL;
	strcpy(row.key, key);
	strcpy(row.value, value ? value : "");
	return writer_append(db, value ? RECORD_SETTING : RECORD_SETTING_GONE, &row);
}

static bool is_money(const struct db_money *money)
{
	return isfinite(money->cap_s) && isfinite(money->broken_s) && isfinite(money->revenue) &&
	       isfinite(money->penalty);
}

int db_append_ledger(struct db *db, const struct db_ledger *row)
{
	if (row->ts_ms < 0 || !id_valid(row->vgpu) || !id_valid(row->gpu) ||
	    !id_valid(row->flavor) || !is_money(&row->sold) || !is_money(&row->kept))
		return -EINVAL;
	return writer_append(db, RECORD_LEDGER, row);
}

int db_append_ledger_gpu(struct db *db, const struct db_ledger_gpu *row)
{
	if (row->ts_ms < 0 || !id_valid(row->gpu) || !isfinite(row->watched_s))
		return -EINVAL;
	return writer_append(db, RECORD_LEDGER_GPU, row);
}

int db_append_price(struct db *db, const struct db_price *row)
{
	if (row->ts_ms < 0 || !id_valid(row->flavor) || !isfinite(row->price_per_cap_hour) ||
	    !isfinite(row->penalty_per_broken_s))
		return -EINVAL;
	return writer_append(db, RECORD_PRICE, row);
}

int db_append_audit(struct db *db, const struct db_audit *row)
{
	if (row->ts_ms < 0)
		return -EINVAL;
	return writer_append(db, RECORD_AUDIT, row);
}
