/* SPDX-License-Identifier: MIT */
/*
 * `doctor`: runs all checks, also after a failed check, and prints the findings. gover-d --diagnose
 * makes the findings of the backends, because only gover-d has backends.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/finding.h"
#include "base/terminal/field.h"
#include "gover-ctl/doctor/doctor.h"
#include "gover-ctl/program.h"
#include "gover-ctl/unit.h"
#include "gover-ctl/verb/verbs.h"

/* Makes the argument of --diagnose: the running daemon and its unit. */
static char *describe(const struct doctor_input *input, const struct installation *i)
{
	const json_t *gpus = json_object_get(input->host, "gpus"), *gpu;
	json_t *object = json_pack("{s:i, s:b, s:s, s:b}", "pid", (int)i->pid, "unit",
				   i->source == INSTALLATION_UNIT, "user", i->unit.user,
				   "protects_cgroups", i->unit.protects_cgroups);
	json_t *backends = json_array();
	bool steered = false;
	char *text;
	size_t n;

	json_array_foreach (gpus, n, gpu) {
		(void)json_array_append(backends, json_object_get(gpu, "backend"));
		steered = steered || field_number(gpu, "round_ms") > 0;
	}
	(void)json_object_set_new(object, "steered", json_boolean(steered));
	if (input->host)
		(void)json_object_set(object, "backends", backends);
	json_decref(backends);
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	return text;
}

/* Returns the answer of gover-d --diagnose; NULL with a message: there is none. */
static json_t *diagnose(const struct doctor_input *input, const struct installation *i,
			struct err *reterr)
{
	char *facts = describe(input, i);
	const char *const argv[] = {
		"gover-d", "--diagnose", "--facts", facts, i->config[0] ? "--config" : NULL,
		i->config, NULL};
	json_t *answer = program_read_json(argv, reterr);

	free(facts);
	return answer;
}

/* Adds the finding of this check, if gover-d has one. */
static void copy(const json_t *answer, const char *check, json_t *list)
{
	json_t *finding;
	size_t i;

	json_array_foreach (json_object_get(answer, "checks"), i, finding) {
		if (strcmp(field_text(finding, "check"), check) == 0)
			(void)json_array_append(list, finding);
	}
}

static json_t *examine(const struct doctor_input *input, const json_t *answer,
		       const struct err *problem)
{
	json_t *list = json_array(), *entry;
	struct finding finding;
	const char *name;
	bool ok = true;
	size_t n;

	for (size_t i = 0; (name = doctor_check(i, input, &finding)); i++) {
		finding_add(list, name, &finding);
		copy(answer, name, list);
	}
	if (!answer) {
		finding_set(&finding, FINDING_WARN, "", "backends are not checked: %s",
			    problem->msg);
		finding_add(list, "backends", &finding);
	}
	json_array_foreach (list, n, entry) {
		ok = ok && strcmp(field_text(entry, "state"), "fail") != 0;
	}
	return json_pack("{s:o, s:b}", "checks", list, "ok", ok);
}

/* Returns {"checks": [{"check", "state", "text", "advice"}], "ok"}. */
static json_t *make_report(const struct doctor_input *daemon)
{
	struct doctor_input input = *daemon;
	struct installation installation;
	struct err problem = {""};
	json_t *answer, *report;

	installation_examine(input.over_socket ? input.host : NULL, &installation);
	if (input.over_socket)
		input.installation = &installation;
	answer = diagnose(&input, &installation, &problem);
	if (input.over_socket && json_is_object(json_object_get(answer, "config")))
		input.config = json_object_get(answer, "config");
	report = examine(&input, answer, &problem);
	json_decref(answer);
	return report;
}

static void print(const struct writer *writer, const json_t *finding)
{
	const char *state = field_text(finding, "state"), *advice = field_text(finding, "advice");
	enum writer_colour colour = strcmp(state, "ok") == 0	 ? WRITER_GREEN
				    : strcmp(state, "fail") == 0 ? WRITER_RED
								 : WRITER_YELLOW;

	fprintf(writer->out, "%s%-4s%s  ", writer_colour(writer, colour), state,
		writer_colour(writer, WRITER_PLAIN));
	writer_line(writer, "%-9s %s", field_text(finding, "check"), field_text(finding, "text"));
	if (advice[0])
		writer_line(writer, "%15s -> %s", "", advice);
}

static void print_all(const struct writer *writer, const json_t *report)
{
	const json_t *finding;
	size_t i;

	json_array_foreach (json_object_get(report, "checks"), i, finding) {
		print(writer, finding);
	}
}

enum ctl_exit verb_doctor(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	struct client_call call = {.method = "GET", .path = "/v1/host"};
	const char *path = getenv("PATH");
	struct err err = {.msg = ""};
	enum ctl_exit done;
	char exe[PATH_MAX];
	struct doctor_input input = {
		.root = "",
		.search_path = path ? path : "/bin:/usr/bin",
		.exe = exe,
		.library = getenv("GOVER_FPS_LIB"),
		.layer = getenv("GOVER_CL_LIB"),
		.over_socket = !ctl->url,
		.no_answer = err.msg,
	};
	json_t *report;
	int r = ctl_open_client(ctl, &err);

	(void)args;
	if (r < 0)
		return ctl_fail(ctl_exit_code(r), "%s", err.msg);
	program_own_path(exe);
	r = ctl_try_request(ctl, &call, &reply, &err);
	input.where = client_address(ctl->client);
	input.host = r == 0 ? reply.json : NULL;
	input.refused = r == CLIENT_REFUSED;
	report = make_report(&input);
	done = field_true(report, "ok") ? CTL_DONE : CTL_FAILED;
	if (ctl->writer.json)
		writer_json(&ctl->writer, report);
	else
		print_all(&ctl->writer, report);
	json_decref(report);
	return done;
}
