/* SPDX-License-Identifier: MIT */
/* The tables of gover-ctl. */
#include <string.h>

#include "base/cleanup.h"
#include "base/rfc3339.h"
#include "base/terminal/age.h"
#include "base/terminal/field.h"
#include "base/text.h"
#include "gover-ctl/verb/tables.h"
#include "gover-ctl/verb/describe.h"

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
	COLUMN("SELLING", "selling", TEXT),
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
