/* SPDX-License-Identifier: MIT */
/* The verbs `status`, `alerts`, `ack`, `audit`, `decisions`, `history` and `silence ...`. */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/terminal/field.h"
#include "base/text.h"
#include "gover-ctl/shared/status.h"
#include "gover-ctl/shared/tables.h"
#include "gover-ctl/shared/time-arg.h"
#include "gover-ctl/verb/lists.h"

static void audit_request(const json_t *row, char text[WRITER_CELL_MAX])
{
	snprintf(text, WRITER_CELL_MAX, "%s %s", field_text(row, "method"),
		 field_text(row, "path"));
}

static void put_value(char text[WRITER_CELL_MAX], const json_t *value)
{
	CLEANUP_FREE char *json = NULL;

	if (json_is_string(value)) {
		text_append(text, WRITER_CELL_MAX, "%s", json_string_value(value));
	} else if (json_is_number(value)) {
		text_append(text, WRITER_CELL_MAX, "%.15g", json_number_value(value));
	} else {
		json = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
		text_append(text, WRITER_CELL_MAX, "%s", json ? json : "-");
	}
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

	text[0] = '\0';
	json_object_foreach (keys, key, value) {
		text_append(text, WRITER_CELL_MAX, "%s%s ", text[0] ? ", " : "", key);
		if (both) {
			put_value(text, json_object_get(before, key));
			text_append(text, WRITER_CELL_MAX, " -> ");
		}
		put_value(text, value);
	}
	/* A row without a status does not know the state after another request either. */
	if (json_is_null(after) && json_is_object(before) &&
	    strcmp(field_text(row, "method"), "DELETE") == 0)
		text_append(text, WRITER_CELL_MAX, " (removed)");
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
	const char *after = args->values[OPTION_AFTER], *limit = args->values[OPTION_LIMIT];

	return listing_run(ctl, args, &table_audit, "/v1/audit?limit=%s%s%s", limit ? limit : "100",
			   after ? "&after=" : "", after ? after : "");
}

enum ctl_exit verb_alerts(struct ctl *ctl, const struct args *args)
{
	return listing_run(ctl, args, &table_alerts, "/v1/alerts%s",
			   args_has(args, OPTION_ALL) ? "?all=true" : "");
}

enum ctl_exit verb_alert_ack(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	long long id;
	enum ctl_exit r = ctl_parse_number("alert", args->words[0], &id);

	if (r == CTL_DONE)
		r = ctl_request(ctl, "POST", NULL, &reply, "/v1/alerts/%lld/ack", id);
	if (r != CTL_DONE)
		return r;
	writer_result(&ctl->writer, &reply, "acknowledged: alert %lld, %s: %s", id,
		      field_text(reply.json, "name"), field_text(reply.json, "text"));
	return CTL_DONE;
}

enum ctl_exit verb_decisions(struct ctl *ctl, const struct args *args)
{
	const char *after = args->values[OPTION_AFTER], *limit = args->values[OPTION_LIMIT];
	const char *vgpu = args->values[OPTION_VGPU];
	enum ctl_exit r = vgpu ? ctl_check_id("vGPU", vgpu) : CTL_DONE;

	return r != CTL_DONE
		       ? r
		       : listing_run(ctl, args, &table_decisions, "/v1/decisions?limit=%s%s%s%s%s",
				     limit ? limit : "100", after ? "&after=" : "",
				     after ? after : "", vgpu ? "&vgpu=" : "", vgpu ? vgpu : "");
}

enum ctl_exit verb_history(struct ctl *ctl, const struct args *args)
{
	const char *step = args->values[OPTION_STEP];
	enum ctl_exit r = ctl_check_id("vGPU", args->words[0]);
	struct time_range range;
	char step_text[32] = "";
	int64_t step_s;

	if (r == CTL_DONE)
		r = time_arg_get_range(args, "history", 3600, &range);
	if (r != CTL_DONE)
		return r;
	if (step && time_arg_parse_span(step, &step_s) < 0)
		return ctl_fail(CTL_USAGE,
				"--step '%s': not allowed (allowed: seconds, or 30s, 5m, 1h, 1d)",
				step);
	if (step)
		snprintf(step_text, sizeof(step_text), "&step=%lld", (long long)step_s);
	return listing_run(ctl, args, &table_history, "/v1/vgpus/%s/history?from=%s&to=%s%s",
			   args->words[0], range.from, range.to, step_text);
}

/* --- silences; every silence has an end --- */

/* Computes the end of the silence as an RFC 3339 time. */
static enum ctl_exit take_end(const struct args *args, char until[CLOCK_TEXT_MAX])
{
	const char *span = args->values[OPTION_FOR], *time = args->values[OPTION_UNTIL];
	int64_t now_ms = clock_now().wall_ms, until_ms = now_ms, span_s;

	if (!span == !time)
		return ctl_fail(CTL_USAGE, "silence add: either --for or --until required");
	if (span && time_arg_parse_span(span, &span_s) < 0)
		return ctl_fail(CTL_USAGE,
				"--for '%s': not allowed (allowed: seconds, or 30s, 90m, 2h, 1d)",
				span);
	if (time && time_arg_parse(time, now_ms, &until_ms) < 0)
		return ctl_fail(CTL_USAGE,
				"--until '%s': not allowed (allowed: RFC 3339 such as "
				"2026-11-20T18:49:56Z, unix seconds)",
				time);
	if (span && span_s > 366 * 86400)
		return ctl_fail(CTL_USAGE, "--for '%s': too long (limit 366 days)", span);
	clock_format(span ? now_ms + span_s * 1000 : until_ms, until);
	return CTL_DONE;
}

static json_t *make_body(const struct args *args, const char *until)
{
	return json_pack("{s:s*, s:s*, s:s*, s:s, s:s}", "alert", args->values[OPTION_ALERT], "gpu",
			 args->values[OPTION_ON_GPU], "vgpu", args->values[OPTION_VGPU], "until",
			 until, "reason", args->values[OPTION_REASON]);
}

enum ctl_exit verb_silence_add(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	char until[CLOCK_TEXT_MAX];
	enum ctl_exit r = take_end(args, until);
	json_t *body;

	if (r != CTL_DONE)
		return r;
	body = make_body(args, until);
	r = ctl_request(ctl, "POST", body, &reply, "/v1/silences");
	json_decref(body);
	if (r != CTL_DONE)
		return r;
	writer_result(&ctl->writer, &reply,
		      "silenced until %s (`gover-ctl silence remove %.0f` ends the silence)",
		      field_text(reply.json, "until"), field_number(reply.json, "id"));
	return CTL_DONE;
}

enum ctl_exit verb_silence_list(struct ctl *ctl, const struct args *args)
{
	return listing_run(ctl, args, &table_silences, "/v1/silences");
}

enum ctl_exit verb_silence_remove(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	long long id;
	enum ctl_exit r = ctl_parse_number("silence", args->words[0], &id);

	if (r == CTL_DONE)
		r = ctl_request(ctl, "DELETE", NULL, &reply, "/v1/silences/%lld", id);
	if (r != CTL_DONE)
		return r;
	writer_result(&ctl->writer, &reply, "removed: silence %lld", id);
	return CTL_DONE;
}

enum ctl_exit verb_status(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	enum ctl_exit r = ctl_request(ctl, "GET", NULL, &reply, "/v1/host");

	(void)args;
	if (r != CTL_DONE)
		return r;
	if (ctl->writer.json)
		writer_reply(&ctl->writer, &reply);
	else
		status_print(ctl, reply.json);
	return CTL_DONE;
}
