/* SPDX-License-Identifier: MIT */
/*
 * `why`: prints the diagnosis of a vGPU and the last decisions about it. A daemon without diagnoses
 * reports the vGPU instead.
 */
#include <string.h>

#include "base/rfc3339.h"
#include "base/terminal/field.h"
#include "base/terminal/writer.h"
#include "gover-ctl/shared/describe.h"
#include "gover-ctl/verb/why.h"

#define WHY_DECISIONS 10
#define INDENT	      4

/* Prints a decision; ages count from writer->now_ms. */
static void print_decision(const struct writer *writer, const json_t *decision)
{
	char age[AGE_MAX], time[DESCRIBE_MAX], list[DESCRIBE_MAX], text[2 * DESCRIBE_MAX];

	age_tell(field_text(decision, "time"), writer->now_ms, age);
	describe_time(field_text(decision, "time"), time);
	snprintf(text, sizeof(text), "%s  %.40s  %.40s, decision %.0f: %s", age, time,
		 field_text(decision, "kind"), field_number(decision, "id"),
		 field_text(decision, "why"));
	writer_paragraph(writer, "", INDENT, text);
	describe_moves(decision, list);
	snprintf(text, sizeof(text), "%s: %s", field_text(decision, "result"), list);
	if (list[0])
		writer_paragraph(writer, "    ", INDENT, text);
	describe_numbers(decision, list);
	if (list[0])
		writer_paragraph(writer, "    with ", INDENT, list);
}

static void print_decisions(const struct writer *writer, const json_t *answer)
{
	const json_t *decisions = json_object_get(answer, "decisions"), *decision;
	size_t i;

	if (json_array_size(decisions) == 0)
		writer_line(writer, "No decisions yet.");
	json_array_foreach (decisions, i, decision) {
		print_decision(writer, decision);
	}
}

static enum writer_colour state_colour(const char *state)
{
	if (strcmp(state, "broken") == 0)
		return WRITER_RED;
	return strcmp(state, "kept") == 0 ? WRITER_GREEN : WRITER_YELLOW;
}

/* Prints the server in the cloud and its project. */
static void print_owner(const struct writer *writer, const json_t *diagnosis)
{
	const char *instance = field_text(diagnosis, "instance");
	const char *project = field_text(diagnosis, "project");

	if (instance[0])
		writer_paragraph(writer, "instance: ", INDENT, instance);
	if (project[0])
		writer_paragraph(writer, "project: ", INDENT, project);
}

/* Prints since when the promise is broken. */
static void print_since(const struct writer *writer, const json_t *diagnosis)
{
	const char *since = field_text(diagnosis, "since");
	char age[AGE_MAX], time[DESCRIBE_MAX];

	if (!since[0])
		return;
	age_tell(since, writer->now_ms, age);
	describe_time(since, time);
	writer_line(writer, "broken since: %s (%s)", age, time);
}

static void print_migration(const struct writer *writer, const json_t *diagnosis)
{
	const json_t *migration = json_object_get(diagnosis, "migration");
	char age[AGE_MAX], text[DESCRIBE_MAX + AGE_MAX];

	if (!json_is_object(migration))
		return;
	age_tell(field_text(migration, "time"), writer->now_ms, age);
	snprintf(text, sizeof(text), "%s: %s", age, field_text(migration, "text"));
	writer_paragraph(writer, "last migration: ", INDENT, text);
}

static void print_alert(const struct writer *writer, const json_t *diagnosis)
{
	const char *severity = field_text(diagnosis, "severity");
	double id = field_number(diagnosis, "alert_id");

	if (!isnan(id))
		writer_line(writer, "alert: %.0f%s%s (`gover-ctl ack %.0f` acknowledges it)", id,
			    severity[0] ? ", " : "", severity, id);
}

static void print_diagnosis(const struct writer *writer, const json_t *diagnosis)
{
	const char *state = field_text(diagnosis, "state"), *fix = field_text(diagnosis, "fix");
	const char *command = field_text(diagnosis, "command");
	const char *runbook = field_text(diagnosis, "runbook_url");

	fprintf(writer->out, "%s%.40s%s: ", writer_colour(writer, state_colour(state)), state,
		writer_colour(writer, WRITER_PLAIN));
	writer_wrap(writer, (int)strlen(state) + 2, INDENT, field_text(diagnosis, "text"));
	fputc('\n', writer->out);
	if (fix[0])
		writer_paragraph(writer, "fix: ", INDENT, fix);
	if (command[0])
		writer_line(writer, "command: %s", command); /* in one line, to be copied */
	print_owner(writer, diagnosis);
	print_since(writer, diagnosis);
	print_migration(writer, diagnosis);
	print_alert(writer, diagnosis);
	if (runbook[0])
		writer_line(writer, "runbook: %s", runbook);
	writer_line(writer, "%s", "");
}

/* Prints the diagnosis with the decisions as a further member, or both as text. */
static void print_why(const struct ctl *ctl, json_t *diagnosis, const json_t *answer)
{
	struct writer writer = ctl->writer;

	if (writer.json) {
		(void)json_object_set(diagnosis, "decisions", json_object_get(answer, "decisions"));
		writer_json(&writer, diagnosis);
		return;
	}
	/* The clock of the daemon also gave the times of the decisions. */
	if (strcmp(field_text(diagnosis, "state"), "removed") !=
	    0) /* the time of its last record */
		(void)rfc3339_parse(field_text(diagnosis, "time"), &writer.now_ms);
	print_diagnosis(&writer, diagnosis);
	print_decisions(&writer, answer);
}

/* Prints what a daemon without diagnoses reports. */
static void print_vgpu(const struct ctl *ctl, const struct reply *vgpu, const struct reply *answer)
{
	char text[DESCRIBE_MAX];

	if (ctl->writer.json) {
		writer_reply(&ctl->writer, answer);
		return;
	}
	describe_vgpu(vgpu->json, text);
	writer_paragraph(&ctl->writer, "", INDENT, text);
	print_decisions(&ctl->writer, answer->json);
}

enum ctl_exit verb_why(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply diagnosis = {0}, vgpu = {0}, answer = {0};
	const char *id = args->words[0];
	int limit = args_has(args, OPTION_LIMIT) ? (int)args_get_number(args, OPTION_LIMIT)
						 : WHY_DECISIONS;
	enum ctl_exit r = ctl_check_id("vGPU", id);
	char path[CLIENT_PATH_MAX];
	struct client_call call = {.method = "GET", .path = path};
	struct err err;
	int found;

	if (r != CTL_DONE)
		return r;
	snprintf(path, sizeof(path), "/v1/vgpus/%s/diagnosis", id);
	found = ctl_try_request(ctl, &call, &diagnosis, &err);
	if (found == CLIENT_REFUSED && diagnosis.status == 404)
		r = ctl_request(ctl, "GET", NULL, &vgpu, "/v1/vgpus/%s", id);
	else if (found != 0)
		r = ctl_fail_request(ctl, found, &diagnosis, &err);
	if (r == CTL_DONE)
		r = ctl_request(ctl, "GET", NULL, &answer, "/v1/decisions?vgpu=%s&limit=%d", id,
				limit);
	if (r != CTL_DONE)
		return r;
	if (found == 0)
		print_why(ctl, diagnosis.json, answer.json);
	else
		print_vgpu(ctl, &vgpu, &answer);
	return CTL_DONE;
}
