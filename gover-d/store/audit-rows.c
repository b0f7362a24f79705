/* SPDX-License-Identifier: MIT */
/* The list of rows, its encoding as a member of the contracts file, and its strict decoding. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "gover-d/store/audit-rows.h"
#include "gover-d/util/json.h"
#include "gover-d/util/log.h"

struct audit_entry {
	struct db_audit row;
	bool final;
	uint64_t number; /* result of db_add_audit(); 0: not passed to the history */
	struct audit_entry *next;
};

/* Returns the pointer to the entry with this id, or to the end of the list. */
static struct audit_entry **find(struct audit_rows *rows, int64_t id)
{
	struct audit_entry **at = &rows->first;

	while (*at && (*at)->row.id != id)
		at = &(*at)->next;
	return at;
}

static void append(struct audit_rows *rows, const struct db_audit *row, bool final)
{
	struct audit_entry **end = find(rows, /* id= */ 0);

	*end = xcalloc(1, sizeof(**end));
	(*end)->row = *row;
	(*end)->final = final;
	rows->n++;
	rows->last_id = row->id;
}

static void remove_at(struct audit_rows *rows, struct audit_entry **at)
{
	struct audit_entry *entry = *at;

	*at = entry->next;
	free(entry);
	rows->n--;
}

void audit_rows_fini(struct audit_rows *rows)
{
	while (rows->first)
		remove_at(rows, &rows->first);
}

void audit_rows_add(struct audit_rows *rows, struct db_audit *row)
{
	row->id = rows->last_id + 1;
	append(rows, row, /* final= */ false);
}

void audit_rows_remove(struct audit_rows *rows, int64_t id)
{
	struct audit_entry **at = find(rows, id);

	if (*at)
		remove_at(rows, at);
}

/* Passes the row at @at to the history. A row that cannot be stored leaves the list. */
static bool pass(struct audit_rows *rows, struct audit_entry **at, struct db *db)
{
	struct audit_entry *entry = *at;

	if (db_add_audit(db, &entry->row, &entry->number) == 0)
		return true;
	log_warning("audit row %lld: not stored in the history (before: %s, after: %s)",
		    (long long)entry->row.id, entry->row.before_json, entry->row.after_json);
	remove_at(rows, at);
	return false;
}

void audit_rows_end(struct audit_rows *rows, const struct db_audit *row, struct db *db)
{
	struct audit_entry **at = find(rows, row->id);

	if (!*at)
		return;
	(*at)->row = *row;
	(*at)->final = true;
	if (db)
		(void)pass(rows, at, db);
}

void audit_rows_pass(struct audit_rows *rows, struct db *db)
{
	struct audit_entry **at = &rows->first;

	while (*at)
		if (!(*at)->final || (*at)->number > 0 || pass(rows, at, db))
			at = &(*at)->next;
}

void audit_rows_drop_written(struct audit_rows *rows, struct db *db)
{
	struct audit_entry **at = &rows->first;
	uint64_t written;

	if (!*at || !db)
		return;
	written = db_audit_written(db);
	while (*at) {
		if ((*at)->number > 0 && (*at)->number <= written)
			remove_at(rows, at);
		else
			at = &(*at)->next;
	}
}

int64_t audit_rows_end_id(const struct audit_rows *rows)
{
	const struct audit_entry *entry = rows->first;

	while (entry && entry->final)
		entry = entry->next;
	return entry ? entry->row.id : rows->last_id + 1;
}

void audit_rows_list(const struct audit_rows *rows, int64_t after, int64_t end, db_row_fn row,
		     void *userdata)
{
	for (const struct audit_entry *entry = rows->first; entry; entry = entry->next)
		if (entry->row.id > after && entry->row.id < end)
			(void)row(userdata, &entry->row);
}

/* --- the file --- */

void audit_rows_encode(const struct audit_rows *rows, json_t *root)
{
	json_t *list = json_array();

	for (const struct audit_entry *entry = rows->first; entry; entry = entry->next) {
		const struct db_audit *row = &entry->row;

		json_array_append_new(
			list,
			json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:i, s:o, s:o}", "id",
				  (json_int_t)row->id, "ts_ms", (json_int_t)row->ts_ms, "who",
				  json_encode_text(row->who), "from", json_encode_text(row->origin),
				  "method", json_encode_text(row->method), "path",
				  json_encode_text(row->path), "status", row->status, "before",
				  json_encode_text(row->before_json), "after",
				  json_encode_text(row->after_json)));
	}
	json_object_set_new(root, "audit", list);
}

/* 2^53: a double can represent every whole number up to this value. */
#define EXACT_MAX  9007199254740992.0
#define STATUS_MAX 599

#define ROW_AT(member) offsetof(struct db_audit, member)
#define ROW_TEXT(name, member, bit)                                                       \
	{                                                                                 \
		name, JSON_DECODE_TEXT, 0, sizeof(((struct db_audit *)NULL)->member) - 1, \
			ROW_AT(member), bit                                               \
	}

static const struct json_decode_field row_fields[] = {
	{"id", JSON_DECODE_INT64, 1, (double)DB_ID_MAX, ROW_AT(id), 1 << 0},
	{"ts_ms", JSON_DECODE_INT64, 0, EXACT_MAX, ROW_AT(ts_ms), 1 << 1},
	ROW_TEXT("who", who, 1 << 2),
	ROW_TEXT("from", origin, 1 << 3),
	ROW_TEXT("method", method, 1 << 4),
	ROW_TEXT("path", path, 1 << 5),
	{"status", JSON_DECODE_WHOLE, 0, STATUS_MAX, ROW_AT(status), 1 << 6},
	ROW_TEXT("before", before_json, 1 << 7),
	ROW_TEXT("after", after_json, 1 << 8),
	{.name = NULL},
};

static bool is_object_or_empty(const char *text)
{
	json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	bool valid = text[0] == '\0' || json_is_object(value);

	json_decref(value);
	return valid;
}

static int take_row(void *userdata, json_t *object, struct err *reterr)
{
	struct audit_rows *rows = userdata;
	struct db_audit row = {.id = 0};
	int r = json_decode_all(object, row_fields, &row, reterr);

	if (r < 0)
		return r;
	if (row.id <= rows->last_id)
		return err_fail(reterr, EINVAL, "id: %lld is not above the previous id",
				(long long)row.id);
	if (!is_object_or_empty(row.before_json) || !is_object_or_empty(row.after_json))
		return err_fail(reterr, EINVAL,
				"before and after: invalid (allowed: the text of an object, or "
				"\"\")");
	append(rows, &row, /* final= */ true);
	return 0;
}

int audit_rows_decode(const json_t *root, struct audit_rows *rows, struct err *reterr)
{
	return json_decode_list(root, "audit", AUDIT_ROWS_MAX, take_row, rows, reterr);
}
