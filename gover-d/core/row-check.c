/* SPDX-License-Identifier: MIT */
/* The values that each column of a row of the history can have. */
#include <string.h>

#include "gover-d/core/row-check.h"
#include "gover-d/model/contract.h"
#include "gover-d/store/operator-state.h"

/* The contracts file contains times up to this value: 2^53, as a double represents it exactly. */
#define TIME_MAX_MS (INT64_C(1) << 53)

static bool is_id_or_empty(const char *text)
{
	return text[0] == '\0' || id_valid(text);
}

static bool is_time(int64_t ms)
{
	return ms >= 0 && ms <= TIME_MAX_MS;
}

/* Keys and values of settings are printable ASCII. */
static bool is_setting_text(const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			return false;
	return strlen(text) < OPERATOR_TEXT_MAX;
}

/* As the contracts file and REST accept a text. Bytes outside ASCII are replaced if needed. */
static bool has_no_control(const char *text)
{
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	return true;
}

static bool is_cap(int pct)
{
	return pct >= 0 && pct <= 100;
}

/* The column contains a target in frames or in units of work per second. Also rejects NaN. */
static bool is_target(double target)
{
	const struct contract_field *field = contract_field_at(CONTRACT_ROW_TARGET_RATE);

	return target >= field->min && target <= field->max;
}

struct column {
	const char *name; /* NULL: end of the list */
	bool valid;
};

static const char *first_invalid(const struct column *columns)
{
	while (columns->name && columns->valid)
		columns++;
	return columns->name;
}

const char *row_check_decision(const struct db_decision *row)
{
	return first_invalid((const struct column[]){
		{"ts_ms", is_time(row->ts_ms)},
		{"gpu", is_id_or_empty(row->gpu)},
		{"vgpu", is_id_or_empty(row->vgpu)},
		{"donor", is_id_or_empty(row->donor)},
		{.name = NULL},
	});
}

const char *row_check_alert(const struct db_alert *row)
{
	return first_invalid((const struct column[]){
		{"raised_ms", is_time(row->raised_ms)},
		{"cleared_ms", is_time(row->cleared_ms)},
		{"acked_ms", is_time(row->acked_ms)},
		{"gpu", is_id_or_empty(row->gpu)},
		{"vgpu", is_id_or_empty(row->vgpu)},
		{"vm", has_no_control(row->vm)},
		{"cause", is_id_or_empty(row->cause)},
		{"acked_by", has_no_control(row->acked_by)},
		{.name = NULL},
	});
}

const char *row_check_silence(const struct db_silence *row)
{
	return first_invalid((const struct column[]){
		{"created_ms", is_time(row->created_ms)},
		{"until_ms", is_time(row->until_ms)},
		{"alert", is_id_or_empty(row->alert)},
		{"gpu", is_id_or_empty(row->gpu)},
		{"vgpu", is_id_or_empty(row->vgpu)},
		{"reason", has_no_control(row->reason)},
		{"alert, gpu or vgpu", row->alert[0] || row->gpu[0] || row->vgpu[0]},
		{.name = NULL},
	});
}

const char *row_check_offer(const struct db_offer *row)
{
	return first_invalid((const struct column[]){
		{"created_ms", is_time(row->created_ms)},
		{"changed_ms", is_time(row->changed_ms)},
		{"gpu", id_valid(row->gpu)},
		{"vgpu", is_id_or_empty(row->vgpu)},
		{"cap_pct", is_cap(row->cap_pct)},
		{"funded_pct", is_cap(row->funded_pct)},
		{"target_fps", is_target(row->target_fps)},
		{"flavor", is_id_or_empty(row->flavor)},
		{.name = NULL},
	});
}

const char *row_check_setting(const char *key, const char *value)
{
	return first_invalid((const struct column[]){
		{"key", is_setting_text(key)},
		{"value", is_setting_text(value)},
		{.name = NULL},
	});
}
