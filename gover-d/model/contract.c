/* SPDX-License-Identifier: MIT */
/* Decodes, encodes and copies contracts. All functions use the table of fields in contract.h. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/model/contract.h"
#include "gover-d/util/json.h"

/* Largest number in a contracts file of an earlier release. REST accepts only smaller numbers. */
#define FILE_NUMBER_MAX 1e6

_Static_assert(CONTRACT_N_ROWS <= 31, "a set of fields fits into an unsigned int");

#define ROW(NAME, MEMBER, JSON, KIND, MIN, MAX, SINCE, USES, OPTION, ARG, HELP) \
	{.name = (JSON),                                                        \
	 .kind = JSON_DECODE_##KIND,                                            \
	 .min = (MIN),                                                          \
	 .max = (MAX),                                                          \
	 .offset = offsetof(struct contract, MEMBER),                           \
	 .since = (SINCE),                                                      \
	 .uses = (USES),                                                        \
	 .bit = CONTRACT_##NAME,                                                \
	 .option = (OPTION),                                                    \
	 .arg = (ARG),                                                          \
	 .help = (HELP)},
static const struct contract_field rows[] = {CONTRACT_FIELDS(ROW)};

const struct contract_field *contract_field_at(size_t row)
{
	return row < ARRAY_SIZE(rows) ? &rows[row] : NULL;
}

unsigned int contract_fields(enum contract_use use)
{
	unsigned int fields = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].uses & use)
			fields |= rows[i].bit;
	return fields;
}

int contract_file_version(void)
{
	int version = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].since > version)
			version = rows[i].since;
	return version;
}

/* --- decoding --- */

static struct json_decode_field decode_field(const struct contract_field *row)
{
	return (struct json_decode_field){
		.name = row->name,
		.kind = row->kind,
		.min = row->min,
		.max = row->max,
		.offset = row->offset,
		.bit = row->bit,
	};
}

int contract_decode(json_t *object, unsigned int allowed, unsigned int required,
		    struct contract *contract, unsigned int *ret_fields, struct err *reterr)
{
	struct json_decode_field fields[ARRAY_SIZE(rows) + 1] = {0};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		fields[i] = decode_field(&rows[i]);
	return json_decode_object(object, fields, allowed, required, contract, ret_fields, reterr);
}

/* In the contracts file, 0 means that a CID or a held cap is not set. */
static struct json_decode_field decode_file_field(const struct contract_field *row)
{
	struct json_decode_field field = decode_field(row);

	if (row->kind == JSON_DECODE_NUMBER) {
		field.min = row->min > 0 ? 1 / FILE_NUMBER_MAX : row->min;
		field.max = FILE_NUMBER_MAX;
	} else if (row->kind == JSON_DECODE_CID || row->bit == CONTRACT_HELD_CAP) {
		field.min = 0;
	}
	return field;
}

static bool clamp(const struct contract_field *row, struct contract *contract)
{
	double value, clamped;

	memcpy(&value, (const char *)contract + row->offset, sizeof(value));
	clamped = value < row->min ? row->min : value > row->max ? row->max : value;
	memcpy((char *)contract + row->offset, &clamped, sizeof(clamped));
	return clamped != value;
}

int contract_decode_file(json_t *object, int version, struct contract *contract,
			 unsigned int *ret_clamped, struct err *reterr)
{
	struct json_decode_field fields[ARRAY_SIZE(rows) + 1] = {0};
	unsigned int members = 0, found, clamped = 0;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fields[i] = decode_file_field(&rows[i]);
		if ((rows[i].uses & CONTRACT_IN_FILE) && rows[i].since <= version)
			members |= rows[i].bit;
	}
	r = json_decode_object(object, fields, members, members, contract, &found, reterr);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if ((rows[i].bit & members) && rows[i].kind == JSON_DECODE_NUMBER &&
		    clamp(&rows[i], contract))
			clamped |= rows[i].bit;
	*ret_clamped = clamped;
	return 0;
}

/* --- encoding --- */

json_t *contract_encode_field(const struct contract *contract, const struct contract_field *field)
{
	const void *at = (const char *)contract + field->offset;

	switch (field->kind) {
	case JSON_DECODE_ID:
	case JSON_DECODE_TEXT:
		return json_encode_text(at);
	case JSON_DECODE_WHOLE:
		return json_integer(*(const int *)at);
	case JSON_DECODE_INT64:
		return json_integer(*(const int64_t *)at);
	case JSON_DECODE_NUMBER:
		return json_real(*(const double *)at);
	case JSON_DECODE_SWITCH:
		return json_boolean(*(const bool *)at);
	case JSON_DECODE_CID:
		return json_integer(*(const uint32_t *)at);
	case JSON_DECODE_LABELS:
		return contract->labels ? json_incref(contract->labels) : json_object();
	}
	return NULL;
}

json_t *contract_encode(const struct contract *contract, enum contract_use use)
{
	json_t *object = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].uses & use)
			json_object_set_new(object, rows[i].name,
					    contract_encode_field(contract, &rows[i]));
	return object;
}

/* --- sets of fields --- */

static size_t size_of(const struct contract_field *row)
{
	switch (row->kind) {
	case JSON_DECODE_ID:
		return ID_MAX;
	case JSON_DECODE_TEXT:
		return (size_t)row->max + 1;
	case JSON_DECODE_WHOLE:
		return sizeof(int);
	case JSON_DECODE_INT64:
		return sizeof(int64_t);
	case JSON_DECODE_NUMBER:
		return sizeof(double);
	case JSON_DECODE_SWITCH:
		return sizeof(bool);
	case JSON_DECODE_CID:
		return sizeof(uint32_t);
	case JSON_DECODE_LABELS:
		return sizeof(json_t *);
	}
	return 0;
}

void contract_apply(struct contract *contract, unsigned int fields, const struct contract *values)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (fields & rows[i].bit)
			memcpy((char *)contract + rows[i].offset,
			       (const char *)values + rows[i].offset, size_of(&rows[i]));
}

void contract_list_names(unsigned int fields, char *ret_text, size_t size)
{
	size_t at = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(rows) && at < size; i++)
		if (fields & rows[i].bit)
			at += (size_t)snprintf(ret_text + at, size - at, "%s%s", at ? ", " : "",
					       rows[i].name);
}

const char *contract_label(const struct contract *contract, const char *name)
{
	const char *text = json_string_value(json_object_get(contract->labels, name));

	return text ? text : "";
}

void contract_fini(struct contract *contract)
{
	json_decref(contract->labels);
	contract->labels = NULL;
}
