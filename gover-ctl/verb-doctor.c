/* SPDX-License-Identifier: MIT */
/* `doctor`: prints what the checks find. Must never end early: each finding helps alone. */
#include <limits.h>
#include <unistd.h>

#include "gover-ctl/doctor.h"
#include "gover-ctl/verbs.h"

static void print(const struct writer *writer, const char *name,
		  const struct doctor_finding *finding)
{
	static const enum writer_colour colours[] = {
		[DOCTOR_OK] = WRITER_GREEN,
		[DOCTOR_WARN] = WRITER_YELLOW,
		[DOCTOR_FAIL] = WRITER_RED,
	};

	fprintf(writer->out, "%s%-4s%s  ", writer_colour(writer, colours[finding->state]),
		doctor_state_name(finding->state), writer_colour(writer, WRITER_PLAIN));
	writer_line(writer, "%-9s %s", name, finding->text);
	if (finding->advice[0])
		writer_line(writer, "%15s -> %s", "", finding->advice);
}

static enum ctl_exit examine(const struct ctl *ctl, const struct doctor_look *look)
{
	json_t *list = json_array(), *answer;
	struct doctor_finding finding;
	enum ctl_exit worst = CTL_DONE;
	const char *name;

	for (size_t i = 0; (name = doctor_check(i, look, &finding)); i++) {
		if (finding.state == DOCTOR_NOT_ASKED)
			continue;
		if (finding.state == DOCTOR_FAIL)
			worst = CTL_FAILED;
		if (!ctl->writer.json)
			print(&ctl->writer, name, &finding);
		else if (json_array_append_new(
				 list, json_pack("{s:s, s:s, s:s, s:s}", "check", name, "state",
						 doctor_state_name(finding.state), "text",
						 finding.text, "advice", finding.advice)) < 0)
			worst = ctl_fail(CTL_FAILED, "out of memory");
	}
	answer = json_pack("{s:o, s:b}", "checks", list, "ok", worst == CTL_DONE);
	if (ctl->writer.json && answer)
		writer_json(&ctl->writer, answer);
	json_decref(answer);
	return worst;
}

enum ctl_exit verb_doctor(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	struct client_call call = {.method = "GET", .path = "/v1/host"};
	struct err err = {.msg = ""};
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	const char *path = getenv("PATH");
	int r = ctl_open(ctl, &err);

	(void)args;
	if (r < 0)
		return ctl_fail(ctl_exit_of(r), "%s", err.msg);
	exe[n > 0 ? n : 0] = '\0';
	r = ctl_try(ctl, &call, &reply, &err);
	return examine(ctl, &(struct doctor_look){
				    .root = "",
				    .search_path = path ? path : "/bin:/usr/bin",
				    .exe = exe,
				    .library = getenv("GOVER_FPS_LIB"),
				    .where = client_where(ctl->client),
				    .host = r == 0 ? reply.json : NULL,
				    .no_answer = err.msg,
			    });
}
