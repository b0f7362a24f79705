/* SPDX-License-Identifier: MIT */
/*
 * Runs all checks, also after a failed check, and encodes the findings. gover-d --diagnose makes
 * the findings of the backends, because only gover-d has backends.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/finding.h"
#include "base/terminal/field.h"
#include "gover-ctl/doctor/doctor.h"
#include "gover-ctl/doctor/report.h"
#include "gover-ctl/installation.h"
#include "gover-ctl/program.h"

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

	json_array_foreach (json_object_get(answer, "checks"), i, finding)
		if (strcmp(field_text(finding, "check"), check) == 0)
			(void)json_array_append(list, finding);
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
	json_array_foreach (list, n, entry)
		ok = ok && strcmp(field_text(entry, "state"), "fail") != 0;
	return json_pack("{s:o, s:b}", "checks", list, "ok", ok);
}

json_t *doctor_report(const struct doctor_daemon *daemon)
{
	const char *path = getenv("PATH");
	struct installation installation;
	struct err problem = {""};
	json_t *answer, *report;
	char exe[PATH_MAX];
	struct doctor_input input = {
		.root = "",
		.search_path = path ? path : "/bin:/usr/bin",
		.exe = exe,
		.library = getenv("GOVER_FPS_LIB"),
		.layer = getenv("GOVER_CL_LIB"),
		.where = daemon->where,
		.over_socket = daemon->over_socket,
		.host = daemon->host,
		.no_answer = daemon->no_answer,
		.refused = daemon->refused,
	};

	program_own_path(exe);
	installation_examine(daemon->over_socket ? daemon->host : NULL, &installation);
	if (daemon->over_socket)
		input.installation = &installation;
	answer = diagnose(&input, &installation, &problem);
	if (daemon->over_socket && json_is_object(json_object_get(answer, "config")))
		input.config = json_object_get(answer, "config");
	report = examine(&input, answer, &problem);
	json_decref(answer);
	return report;
}
