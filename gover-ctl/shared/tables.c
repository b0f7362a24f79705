/* SPDX-License-Identifier: MIT */
/* The tables of gover-ctl, and lists: sorts, selects and prints their rows. */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/rfc3339.h"
#include "base/terminal/field.h"
#include "base/terminal/writer.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "gover-ctl/shared/describe.h"
#include "gover-ctl/shared/tables.h"

#define LABEL_MAX 256 /* size of a term of a selector with its NUL */
#define COLUMN(h, k, f)                                       \
	{                                                     \
		.head = (h), .key = (k), .format = WRITER_##f \
	}
/* A number in frames or, on a GPU that counts units of work, in these. */
#define RATE_COLUMN(h, k, other_h, other_k, f)                                          \
	{                                                                               \
		.head = (h), .key = (k), .format = WRITER_##f, .other_head = (other_h), \
		.other_key = (other_k)                                                  \
	}
/* A column that a table has only in some cases. */
#define COLUMN_IF(condition, h, k, f)                                                         \
	{                                                                                     \
		.head = (h), .key = (k), .format = WRITER_##f, .show = WRITER_IF_##condition, \
	}
#define TABLE(m, no, c)                                                                 \
	{                                                                               \
		.member = (m), .none = (no), .columns = (c), .n_columns = ARRAY_SIZE(c) \
	}

_Static_assert(DESCRIBE_MAX == WRITER_CELL_MAX, "a description fits into a cell");

static void gpu_count(const json_t *gpu, char text[WRITER_CELL_MAX])
{
	snprintf(text, WRITER_CELL_MAX, "%.0f/%.0f", field_number(gpu, "vgpus"),
		 field_number(gpu, "max_vgpus"));
}

static void gpu_telemetry(const json_t *gpu, char text[WRITER_CELL_MAX])
{
	char age[WRITER_SPAN_MAX];

	writer_format_span(field_number(gpu, "telemetry_age_ms") / 1000, age);
	snprintf(text, WRITER_CELL_MAX, "%s %s",
		 field_true(gpu, "telemetry_valid")		  ? "ok"
		 : json_is_object(json_object_get(gpu, "source")) ? "unknown"
								  : "stale",
		 age);
}

static void gpu_selling(const json_t *gpu, char text[WRITER_CELL_MAX])
{
	snprintf(text, WRITER_CELL_MAX, "%s", describe_selling(gpu));
}

static enum writer_colour gpu_telemetry_colour(const json_t *gpu)
{
	return field_true(gpu, "telemetry_valid") ? WRITER_PLAIN : WRITER_RED;
}

static enum writer_colour gpu_mode_colour(const json_t *gpu)
{
	return strcmp(field_text(gpu, "mode"), "act") == 0 ? WRITER_PLAIN : WRITER_YELLOW;
}

static const struct writer_column gpu_columns[] = {
	COLUMN("GPU", "name", TEXT),
	COLUMN("BACKEND", "backend", TEXT),
	{.head = "MODE", .key = "mode", .format = WRITER_TEXT, .colour = gpu_mode_colour},
	COLUMN_IF(ANY, "FROZEN SINCE", "frozen_since", TIME),
	{.head = "SELLING", .cell = gpu_selling},
	COLUMN_IF(ANY, "SHARING", "sharing", TEXT),
	{.head = "VGPUS", .cell = gpu_count},
	COLUMN("BUSY%", "util_pct", TENTH),
	COLUMN("MEAN%", "mean_util_pct", TENTH),
	COLUMN("CAPS%", "sum_cap_pct", WHOLE),
	COLUMN("FREE%", "free_pct", WHOLE),
	COLUMN_IF(ANY, "HOST%", "host_share_pct", TENTH),
	COLUMN("SOLD%", "sum_initial_cap_pct", WHOLE),
	COLUMN_IF(WIDE, "OVERBOOKED", "overbooking_ratio", RATIO),
	{.head = "TELEMETRY", .cell = gpu_telemetry, .colour = gpu_telemetry_colour},
};
const struct table table_gpus = TABLE(
	"gpus", "No GPUs: gover-d found no vGPU scheduler on this host (see `gover-ctl doctor`).",
	gpu_columns);

static enum writer_colour vgpu_colour(const json_t *vgpu)
{
	char notes[DESCRIBE_MAX];

	if (field_true(vgpu, "overloaded") || field_true(vgpu, "broken"))
		return WRITER_RED;
	describe_notes(vgpu, notes);
	return notes[0] ? WRITER_YELLOW : WRITER_PLAIN;
}

static void vgpu_labels(const json_t *vgpu, char text[WRITER_CELL_MAX])
{
	json_t *labels = json_object_get(vgpu, "labels"), *value;
	const char *key;

	json_object_foreach (labels, key, value) {
		text_append(text, WRITER_CELL_MAX, "%s%s=%s", text[0] ? ", " : "", key,
			    json_string_value(value));
	}
}

static enum writer_colour promise_colour(const json_t *vgpu)
{
	char promise[DESCRIBE_MAX];

	describe_promise(vgpu, promise);
	if (strcmp(promise, "broken") == 0)
		return WRITER_RED;
	return strcmp(promise, "kept") == 0 || !promise[0] ? WRITER_PLAIN : WRITER_YELLOW;
}

static enum writer_colour used_colour(const json_t *vgpu)
{
	return field_true(vgpu, "overloaded") ? WRITER_RED : WRITER_PLAIN;
}

static const struct writer_column vgpu_list_columns[] = {
	COLUMN("VGPU", "id", TEXT),
	COLUMN_IF(SEVERAL, "GPU", "gpu", TEXT),
	COLUMN_IF(WIDE, "VM", "vm", TEXT),
	{.head = "PROMISE", .cell = describe_promise, .colour = promise_colour},
	COLUMN("SOLD%", "initial_cap_pct", WHOLE),
	COLUMN("CAP%", "cap_pct", WHOLE),
	{.head = "USED%", .key = "util_pct", .format = WRITER_TENTH, .colour = used_colour},
	COLUMN("LOAD%", "load_pct", TENTH),
	RATE_COLUMN("FPS", "fps", "RATE", "rate", TENTH),
	RATE_COLUMN("TARGET", "target_fps", "TARGET", "target_rate", PROMISE),
	COLUMN_IF(WIDE, "P99MS", "frame_p99_ms", TENTH),
	COLUMN_IF(WIDE, "BROKEN%", "broken_time_pct", RATIO),
	COLUMN_IF(WIDE, "FLAVOUR", "flavor", TEXT),
	{.head = "LABELS", .cell = vgpu_labels, .show = WRITER_IF_WIDE},
	COLUMN("AGE", "created_at", AGE),
	{.head = "NOTE", .format = WRITER_LONG, .cell = describe_reasons, .colour = vgpu_colour},
};
const struct table table_vgpus =
	TABLE("vgpus", "No vGPUs (`gover-ctl vgpu add` adds one).", vgpu_list_columns);

static void vgpu_places(const json_t *vgpu, char text[WRITER_CELL_MAX])
{
	const json_t *attach = json_object_get(vgpu, "attach"), *path;
	size_t i;

	json_array_foreach (json_object_get(attach, "cgroup_procs"), i, path) {
		text_append(text, WRITER_CELL_MAX, "%s%s", text[0] ? ", " : "",
			    json_string_value(path));
	}
}

static void vgpu_fps_socket(const json_t *vgpu, char text[WRITER_CELL_MAX])
{
	snprintf(text, WRITER_CELL_MAX, "%s",
		 field_text(json_object_get(vgpu, "attach"), "fps_socket"));
}

static void vgpu_compute_socket(const json_t *vgpu, char text[WRITER_CELL_MAX])
{
	snprintf(text, WRITER_CELL_MAX, "%s",
		 field_text(json_object_get(vgpu, "attach"), "compute_socket"));
}

static const struct writer_column vgpu_columns[] = {
	COLUMN("vGPU", "id", TEXT),
	COLUMN("GPU", "gpu", TEXT),
	COLUMN("VM", "vm", TEXT),
	COLUMN("vsock CID", "cid", WHOLE),
	{.head = "labels", .cell = vgpu_labels},
	COLUMN("state", "state", TEXT),
	{.head = "promise", .cell = describe_promise, .colour = promise_colour},
	COLUMN("cause", "cause", TEXT),
	{.head = "note", .cell = describe_notes, .colour = vgpu_colour},
	COLUMN("sold, % of the GPU", "initial_cap_pct", WHOLE),
	COLUMN("floor, %", "floor_pct", WHOLE),
	RATE_COLUMN("target fps", "target_fps", "target rate, units/s", "target_rate", PROMISE),
	COLUMN("memory limit, MiB", "memory_mib", PROMISE),
	COLUMN("memory used, MiB", "memory_used_mib", TENTH),
	COLUMN("memory max, MiB", "memory_max_mib", PROMISE),
	COLUMN("fps limit", "fps_limit", PROMISE),
	COLUMN("flavour", "flavor", TEXT),
	COLUMN("weight", "weight", RATIO),
	COLUMN("burst", "burst", YES),
	COLUMN("held", "held", YES),
	COLUMN("held since", "held_since", TIME),
	COLUMN("cap in force, %", "cap_pct", WHOLE),
	COLUMN("cap last written, %", "expected_cap_pct", WHOLE),
	COLUMN("load, % of the GPU", "load_pct", TENTH),
	COLUMN("used, % of the cap", "util_pct", TENTH),
	RATE_COLUMN("fps", "fps", "rate, units/s", "rate", TENTH),
	COLUMN("age of fps, s", "fps_age_s", TENTH),
	COLUMN("frame time p99, ms", "frame_p99_ms", TENTH),
	RATE_COLUMN("frames", "frames", "units of work", "units", WHOLE),
	RATE_COLUMN("mean fps", "mean_fps", "mean rate, units/s", "mean_rate", TENTH),
	COLUMN("counted since", "counted_since", TIME),
	COLUMN("observed, s", "seen_s", TENTH),
	COLUMN("broken time, s", "broken_s", TENTH),
	COLUMN("broken time, %", "broken_time_pct", RATIO),
	COLUMN("cap error, points", "cap_error_pct", RATIO),
	COLUMN("steals in", "steals_in", WHOLE),
	COLUMN("steals out", "steals_out", WHOLE),
	COLUMN("cap writes", "cap_writes", WHOLE),
	COLUMN("last decision", "last_decision_id", WHOLE),
	COLUMN("created", "created_at", TIME),
	{.head = "cgroup.procs", .cell = vgpu_places},
	{.head = "fps socket", .cell = vgpu_fps_socket},
	{.head = "compute socket", .cell = vgpu_compute_socket},
};
const struct table table_vgpu = TABLE("", "", vgpu_columns);

static void alert_state(const json_t *alert, char text[WRITER_CELL_MAX])
{
	bool cleared = field_text(alert, "cleared_at")[0] != '\0';
	bool acked = field_text(alert, "acked_at")[0] != '\0';

	strcpy(text, cleared			     ? "cleared"
		     : acked			     ? "acknowledged"
		     : field_true(alert, "silenced") ? "silenced"
						     : "open");
}

static enum writer_colour alert_colour(const json_t *alert)
{
	const char *severity = field_text(alert, "severity");

	if (field_text(alert, "cleared_at")[0])
		return WRITER_DIM;
	if (strcmp(severity, "critical") == 0)
		return WRITER_RED;
	return strcmp(severity, "warning") == 0 ? WRITER_YELLOW : WRITER_PLAIN;
}

/* Computes how long a cleared alert was active. */
static void alert_duration(const json_t *alert, char text[WRITER_CELL_MAX])
{
	int64_t from_ms, to_ms;

	if (rfc3339_parse(field_text(alert, "raised_at"), &from_ms) == 0 &&
	    rfc3339_parse(field_text(alert, "cleared_at"), &to_ms) == 0)
		age_format(to_ms - from_ms, text);
}

static const struct writer_column alert_columns[] = {
	COLUMN("ALERT", "id", WHOLE),
	{.head = "SEVERITY", .key = "severity", .format = WRITER_TEXT, .colour = alert_colour},
	{.head = "NAME", .key = "name", .format = WRITER_TEXT, .colour = alert_colour},
	COLUMN_IF(SEVERAL, "GPU", "gpu", TEXT),
	COLUMN("VGPU", "vgpu", TEXT),
	COLUMN_IF(WIDE, "VM", "vm", TEXT),
	COLUMN_IF(ANY, "CAUSE", "cause", TEXT),
	{.head = "STATE", .cell = alert_state},
	COLUMN("AGE", "raised_at", AGE),
	{.head = "DURATION", .cell = alert_duration, .show = WRITER_IF_ANY},
	COLUMN_IF(ANY, "ACKED BY", "acked_by", TEXT),
	COLUMN_IF(WIDE, "RAISED", "raised_at", TIME),
	COLUMN_IF(WIDE, "CLEARED", "cleared_at", TIME),
	COLUMN_IF(WIDE, "RUNBOOK", "runbook_url", TEXT),
	COLUMN("TEXT", "text", LONG),
	COLUMN_IF(ANY, "NEXT", "next", LONG),
};
const struct table table_alerts = TABLE("alerts", "No alerts.", alert_columns);

static const struct writer_column silence_columns[] = {
	COLUMN("SILENCE", "id", WHOLE),
	COLUMN("ALERT", "alert", TEXT),
	COLUMN("GPU", "gpu", TEXT),
	COLUMN("VGPU", "vgpu", TEXT),
	COLUMN("ENDS", "until", WHEN),
	COLUMN("AGE", "created_at", AGE),
	COLUMN_IF(WIDE, "UNTIL", "until", TIME),
	COLUMN_IF(WIDE, "CREATED", "created_at", TIME),
	COLUMN("REASON", "reason", LONG),
};
const struct table table_silences = TABLE("silences", "No silences.", silence_columns);

static const struct writer_column offer_columns[] = {
	COLUMN("OFFER", "id", WHOLE),
	COLUMN_IF(SEVERAL, "GPU", "gpu", TEXT),
	COLUMN("STATE", "state", TEXT),
	COLUMN_IF(SEVERAL, "FLAVOUR", "flavor", TEXT),
	COLUMN("SELLS%", "initial_cap_pct", WHOLE),
	RATE_COLUMN("TARGET", "target_fps", "TARGET", "target_rate", PROMISE),
	COLUMN("FUNDED%", "fundable_pct", WHOLE),
	{.head = "OR", .cell = describe_smaller_flavors, .show = WRITER_IF_ANY},
	COLUMN_IF(ANY, "HELD BY", "held_by", TEXT),
	COLUMN("VGPU", "vgpu", TEXT),
	COLUMN("AGE", "created_at", AGE),
	COLUMN("EXPIRES", "expires_at", WHEN),
	COLUMN_IF(WIDE, "CREATED", "created_at", TIME),
	COLUMN_IF(WIDE, "UNTIL", "expires_at", TIME),
	COLUMN_IF(WIDE, "HELD UNTIL", "held_until", TIME),
	COLUMN("REASON", "reason", LONG),
};
const struct table table_offers = TABLE("offers", "No offers.", offer_columns);

static const struct writer_column decision_columns[] = {
	COLUMN("ID", "id", WHOLE),
	COLUMN("AGE", "time", AGE),
	COLUMN_IF(WIDE, "TIME", "time", TIME),
	COLUMN_IF(SEVERAL, "GPU", "gpu", TEXT),
	COLUMN("KIND", "kind", TEXT),
	COLUMN("VGPU", "vgpu", TEXT),
	COLUMN("RESULT", "result", TEXT),
	{.head = "MOVES", .format = WRITER_LONG, .cell = describe_moves},
	COLUMN("WHY", "why", LONG),
};
const struct table table_decisions = TABLE("decisions", "No decisions yet.", decision_columns);

static const struct writer_column history_columns[] = {
	COLUMN("TIME", "time", TIME),
	COLUMN("CAP%", "cap_pct", TENTH),
	COLUMN("LOAD%", "load_pct", TENTH),
	COLUMN("USED%", "util_pct", TENTH),
	RATE_COLUMN("FPS", "fps", "RATE", "rate", TENTH),
	RATE_COLUMN("TARGET", "target_fps", "TARGET", "target_rate", PROMISE),
	COLUMN("P99MS", "frame_p99_ms", TENTH),
	COLUMN("SHORT%", "short_pct", TENTH),
	COLUMN("BROKEN%", "broken_pct", TENTH),
	COLUMN("SAMPLES", "samples", WHOLE),
};
const struct table table_history =
	TABLE("points", "No history of this vGPU in this range.", history_columns);

/* The columns that all tables with revenue and penalties have. */
#define MONEY_COLUMNS                                                                        \
	COLUMN("GPU HOURS", "sold_cap_hours", MONEY), COLUMN("BROKEN S", "broken_s", TENTH), \
		COLUMN("REVENUE", "revenue", MONEY), COLUMN("PENALTY", "penalty", MONEY),    \
		COLUMN("PROFIT", "profit", MONEY)

static const struct writer_column account_columns[] = {
	COLUMN("ACCOUNT", "account", TEXT),
	COLUMN("OVERBOOKED", "overbooking_ratio", RATIO),
	MONEY_COLUMNS,
};
const struct table table_accounts = TABLE("accounts", "No accounts.", account_columns);

static const struct writer_column flavor_columns[] = {
	COLUMN("FLAVOUR", "flavor", TEXT),
	MONEY_COLUMNS,
	COLUMN("WITHOUT OVERSELLING", "profit_without", MONEY),
};
const struct table table_flavors = TABLE("flavors", "No sales.", flavor_columns);

static const struct writer_column earner_columns[] = {
	COLUMN("VGPU", "vgpu", TEXT),
	COLUMN("GPU", "gpu", TEXT),
	COLUMN("FLAVOUR", "flavor", TEXT),
	MONEY_COLUMNS,
	COLUMN("WITHOUT OVERSELLING", "profit_without", MONEY),
};
const struct table table_earners = TABLE("vgpus", "No sales.", earner_columns);

static enum writer_colour policy_colour(const json_t *row)
{
	return field_text(row, "mark")[0] == '*' ? WRITER_YELLOW : WRITER_PLAIN;
}

static void policy_mark(const json_t *row, char text[WRITER_CELL_MAX])
{
	strcpy(text, field_text(row, "mark")[0] == '*' ? "*" : " ");
}

static const struct writer_column policy_columns[] = {
	{.head = " ", .cell = policy_mark, .colour = policy_colour},
	COLUMN("KEY", "key", TEXT),
	{.head = "VALUE", .key = "value", .format = WRITER_TEXT, .colour = policy_colour},
	COLUMN("IN FILE", "file", TEXT),
};
const struct table table_policy = TABLE("rows", "The policy has no parameters.", policy_columns);

static const struct writer_column token_columns[] = {
	COLUMN("TOKEN", "name", TEXT),
	COLUMN("SCOPE", "scope", TEXT),
	COLUMN("AGE", "created_at", AGE),
	{.head = "EXPIRES", .key = "expires_at", .format = WRITER_WHEN, .none = "never"},
	COLUMN_IF(WIDE, "CREATED", "created_at", TIME),
	COLUMN_IF(WIDE, "UNTIL", "expires_at", TIME),
};
const struct table table_tokens =
	TABLE("tokens", "No tokens: TCP access is not possible.", token_columns);

void tables_print_rows(const struct writer *writer, const struct table *table, const json_t *answer)
{
	const json_t *rows = json_object_get(answer, table->member);

	if (json_array_size(rows) == 0 && writer->no_head)
		return; /* a script counts the lines */
	if (json_array_size(rows) == 0)
		writer_line(writer, "%s", table->none);
	else
		writer_table(writer, table->columns, table->n_columns, rows);
}

/* --- lists --- */

void listing_name_key(const struct writer_column *column, char key[LISTING_KEY_MAX])
{
	size_t n = 0;

	for (const char *c = column->head; *c && n + 1 < LISTING_KEY_MAX; c++)
		if (*c != '%')
			key[n++] = *c == ' ' ? '-' : (char)tolower((unsigned char)*c);
	key[n] = '\0';
}

static bool is_key(const struct writer_column *column, const char *word)
{
	char key[LISTING_KEY_MAX];

	listing_name_key(column, key);
	return strcasecmp(key, word) == 0 || strcasecmp(column->head, word) == 0;
}

static bool is_field(const struct writer_column *column, const char *word)
{
	return (column->key && strcmp(column->key, word) == 0) ||
	       (column->other_key && strcmp(column->other_key, word) == 0);
}

static enum ctl_exit fail_sort(const struct table *table, const char *given)
{
	char list[512] = "", key[LISTING_KEY_MAX];

	for (size_t i = 0; i < table->n_columns; i++) {
		size_t used = strlen(list);

		listing_name_key(&table->columns[i], key);
		snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", key);
	}
	return ctl_fail(CTL_USAGE,
			"--sort '%.60s': not allowed (allowed: %s, or the JSON field of a column; "
			"- before a key sorts in descending order)",
			given, list);
}

static enum ctl_exit choose_sort(struct listing *listing, const char *given)
{
	const struct table *table = listing->table;
	const char *word = given + (given[0] == '-');

	listing->descending = given[0] == '-';
	for (size_t i = 0; i < table->n_columns; i++)
		if (is_key(&table->columns[i], word)) {
			listing->sort = &table->columns[i];
			listing->by_age = listing->sort->format == WRITER_AGE;
			return CTL_DONE;
		}
	for (size_t i = 0; i < table->n_columns; i++)
		if (is_field(&table->columns[i], word)) {
			listing->sort = &table->columns[i];
			return CTL_DONE;
		}
	return fail_sort(table, given);
}

/*
 * Notations of other selectors, such as "KEY in (A,B)", "KEY>1" and "KEY=~TEXT", would be taken for
 * a key or a value that no label has.
 */
static bool is_other_notation(const char *key)
{
	const char *end = key + strcspn(key, "=");

	if (end > key && end[-1] == '!')
		end--;
	return strcspn(key, " \t()<>!~|&;'\"") < (size_t)(end - key) || strncmp(end, "=~", 2) == 0;
}

/*
 * Copies the next term of @selector to @term. Returns the rest of the selector, NULL if the term is
 * not valid.
 */
static const char *next_term(const char *selector, char term[LABEL_MAX])
{
	size_t length = strcspn(selector, ",");
	const char *key = term;

	if (length >= LABEL_MAX)
		return NULL;
	memcpy(term, selector, length);
	term[length] = '\0';
	key += key[0] == '!';
	if (key[0] == '\0' || key[0] == '=' || key[0] == '!' || (key != term && strchr(key, '=')))
		return NULL;
	if (is_other_notation(key) || (selector[length] == ',' && selector[length + 1] == '\0'))
		return NULL;
	return selector + length + (selector[length] == ',');
}

/* Returns true if @labels match one term. Changes @term. */
static bool match_term(char term[LABEL_MAX], const json_t *labels)
{
	char *equals = strchr(term, '=');
	const char *value, *is;
	bool differs;

	if (!equals)
		return term[0] == '!' ? !json_object_get(labels, term + 1)
				      : json_object_get(labels, term) != NULL;
	value = equals + 1 + (equals[1] == '='); /* KEY==VALUE is the same as KEY=VALUE */
	differs = equals > term && equals[-1] == '!';
	equals[differs ? -1 : 0] = '\0';
	is = json_string_value(json_object_get(labels, term));
	return (is && strcmp(is, value) == 0) != differs;
}

/* The terms are KEY=VALUE, KEY!=VALUE, KEY or !KEY, separated by commas. */
static bool matches(const char *selector, const json_t *labels)
{
	char term[LABEL_MAX];

	while (selector && *selector) {
		selector = next_term(selector, term);
		if (!selector || !match_term(term, labels))
			return false;
	}
	return true;
}

static enum ctl_exit check_selector(const char *selector)
{
	const char *rest = selector;
	char term[LABEL_MAX];

	do
		rest = next_term(rest, term);
	while (rest && *rest);
	if (rest)
		return CTL_DONE;
	return ctl_fail(CTL_USAGE,
			"--selector '%.100s': not allowed (allowed: KEY=VALUE, KEY!=VALUE, KEY or "
			"!KEY, separated by commas)",
			selector);
}

enum ctl_exit listing_open(struct listing *listing, const struct args *args,
			   const struct table *table)
{
	const char *sort = args->values[OPTION_LIST_SORT];
	enum ctl_exit r = CTL_DONE;

	*listing = (struct listing){.table = table, .selector = args->values[OPTION_SELECTOR]};
	if (sort)
		r = choose_sort(listing, sort);
	if (r == CTL_DONE && listing->selector)
		r = check_selector(listing->selector);
	return r;
}

struct row {
	json_t *json;
	size_t index; /* position in the reply; keeps the order of equal rows */
};

struct order {
	const struct listing *listing;
	const struct writer *writer;
};

/* Returns the value of the column in @row as text. "": no value. */
static void text_of(const struct order *order, const json_t *row, char text[WRITER_CELL_MAX])
{
	const struct writer_column *column = order->listing->sort;

	if (column->cell)
		writer_format_cell(order->writer, column, row, text);
	else
		snprintf(text, WRITER_CELL_MAX, "%s", field_text(row, column->key));
	if (strcmp(text, "-") == 0)
		text[0] = '\0';
}

static double number_of(const struct writer_column *column, const json_t *row)
{
	const json_t *flag = column->key ? json_object_get(row, column->key) : NULL;

	if (json_is_boolean(flag))
		return json_is_true(flag);
	return field_number(row, writer_is_other(column, row) ? column->other_key : column->key);
}

/* Compares two rows for qsort_r(). Rows without a value come last in both orders. */
static int compare(const void *a, const void *b, void *userdata)
{
	const struct row *one = a, *other = b;
	const struct order *order = userdata;
	const struct listing *listing = order->listing;
	double x = number_of(listing->sort, one->json), y = number_of(listing->sort, other->json);
	char text[WRITER_CELL_MAX], text2[WRITER_CELL_MAX];
	int r;

	text_of(order, one->json, text);
	text_of(order, other->json, text2);
	if ((isnan(x) && !text[0]) || (isnan(y) && !text2[0]))
		r = (isnan(x) && !text[0]) - (isnan(y) && !text2[0]);
	else {
		r = !isnan(x) && !isnan(y) ? (x > y) - (x < y) : strverscmp(text, text2);
		r = listing->descending != listing->by_age ? -r : r;
	}
	return r ? r : (one->index > other->index) - (one->index < other->index);
}

/* Returns the selected rows in the wanted order. The caller releases it. */
static json_t *choose_rows(const struct listing *listing, const struct writer *writer,
			   const json_t *rows)
{
	CLEANUP_FREE struct row *chosen = xcalloc(json_array_size(rows) + 1, sizeof(*chosen));
	struct order order = {.listing = listing, .writer = writer};
	json_t *result = json_array(), *row;
	size_t i, n = 0;

	json_array_foreach (rows, i, row) {
		if (matches(listing->selector, json_object_get(row, "labels")))
			chosen[n++] = (struct row){.json = row, .index = i};
	}
	if (listing->sort)
		qsort_r(chosen, n, sizeof(*chosen), compare, &order);
	for (i = 0; i < n; i++)
		(void)json_array_append(result, chosen[i].json);
	return result;
}

static void print_names(const struct listing *listing, const struct writer *writer,
			const json_t *reply)
{
	char text[WRITER_CELL_MAX];
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(reply, listing->table->member), i, row) {
		writer_format_cell(writer, &listing->table->columns[0], row, text);
		writer_line(writer, "%s", text);
	}
}

enum ctl_exit listing_print(const struct listing *listing, const struct writer *writer,
			    const struct reply *reply)
{
	const char *member = listing->table->member;

	if (listing->sort || listing->selector) {
		json_t *rows = choose_rows(listing, writer, json_object_get(reply->json, member));

		(void)json_object_set_new(reply->json, member, rows);
		if (writer->json)
			writer_json(writer, reply->json);
	} else if (writer->json) {
		writer_reply(writer, reply);
	}
	if (writer->names)
		print_names(listing, writer, reply->json);
	else if (!writer->json)
		tables_print_rows(writer, listing->table, reply->json);
	return CTL_DONE;
}

enum ctl_exit listing_run(struct ctl *ctl, const struct args *args, const struct table *table,
			  const char *path_format, ...)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[CLIENT_PATH_MAX];
	struct listing listing;
	enum ctl_exit r = listing_open(&listing, args, table);
	va_list ap;
	int n;

	va_start(ap, path_format);
	n = vsnprintf(path, sizeof(path), path_format, ap);
	va_end(ap);
	if (r == CTL_DONE && (size_t)n >= sizeof(path))
		return ctl_fail(CTL_USAGE, "GET %.40s...: request too long", path);
	if (r == CTL_DONE)
		r = ctl_request(ctl, "GET", NULL, &reply, "%s", path);
	return r == CTL_DONE ? listing_print(&listing, &ctl->writer, &reply) : r;
}
