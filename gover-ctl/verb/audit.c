/* SPDX-License-Identifier: MIT */
/*
 * `audit`: prints the recorded changes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/terminal/field.h"
#include "gover-ctl/verb/listing.h"
#include "gover-ctl/verb/verbs.h"

static void audit_request(const json_t *row, char text[WRITER_CELL_MAX])
{
	snprintf(text, WRITER_CELL_MAX, "%s %s", field_text(row, "method"),
		 field_text(row, "path"));
}

static size_t put(char text[WRITER_CELL_MAX], size_t used, const char *word)
{
	if (used < WRITER_CELL_MAX)
		used += (size_t)snprintf(text + used, WRITER_CELL_MAX - used, "%s", word);
	return used;
}

static size_t put_value(char text[WRITER_CELL_MAX], size_t used, const json_t *value)
{
	CLEANUP_FREE char *json = NULL;
	char number[32];

	if (json_is_string(value))
		return put(text, used, json_string_value(value));
	if (json_is_number(value)) {
		snprintf(number, sizeof(number), "%.15g", json_number_value(value));
		return put(text, used, number);
	}
	json = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
	return put(text, used, json ? json : "-");
}

/*
 * Writes the changed fields to @text: "target_fps 30 -> 25, burst false -> true". If the request
 * created or removed a resource, writes all its fields.
 */
static void audit_change(const json_t *row, char text[WRITER_CELL_MAX])
{
	const json_t *before = json_object_get(row, "before");
	const json_t *after = json_object_get(row, "after");
	json_t *keys = json_is_object(after) ? json_object_get(row, "after")
					     : json_object_get(row, "before");
	bool both = json_is_object(before) && json_is_object(after);
	const char *key;
	json_t *value;
	size_t used = 0;

	text[0] = '\0';
	json_object_foreach (keys, key, value) {
		used = put(text, used, used ? ", " : "");
		used = put(text, used, key);
		used = put(text, used, " ");
		if (both) {
			used = put_value(text, used, json_object_get(before, key));
			used = put(text, used, " -> ");
		}
		used = put_value(text, used, value);
	}
	if (json_is_null(after) && json_is_object(before))
		(void)put(text, used, " (removed)");
}

static const struct writer_column columns[] = {
	{.head = "ID", .key = "id", .format = WRITER_WHOLE},
	{.head = "AGE", .key = "time", .format = WRITER_AGE, .show = WRITER_IF_WIDE},
	{.head = "TIME", .key = "time", .format = WRITER_TIME}, /* to compare with other logs */
	{.head = "PRINCIPAL", .key = "who", .format = WRITER_TEXT},
	{.head = "FROM", .key = "from", .format = WRITER_TEXT},
	{.head = "REQUEST", .cell = audit_request},
	{.head = "STATUS", .key = "status", .format = WRITER_WHOLE},
	{.head = "CHANGE", .format = WRITER_LONG, .cell = audit_change},
};
const struct table table_audit = {
	.member = "audit",
	.none = "No recorded changes.",
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
};

enum ctl_exit verb_audit(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	const char *after = args->values[OPTION_AFTER], *limit = args->values[OPTION_LIMIT];
	struct listing listing;
	enum ctl_exit r = listing_open(&listing, args, &table_audit);

	if (r == CTL_DONE)
		r = ctl_request(ctl, "GET", NULL, &reply, "/v1/audit?limit=%s%s%s",
				limit ? limit : "100", after ? "&after=" : "", after ? after : "");

	return r == CTL_DONE ? listing_print(&listing, &ctl->writer, &reply) : r;
}
