/* SPDX-License-Identifier: MIT */
/* Runs all checks, also after a failed check, and encodes the findings. */
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "gover-ctl/doctor/report.h"
#include "gover-ctl/doctor/doctor.h"

static json_t *examine(const struct doctor_input *input)
{
	json_t *list = json_array();
	struct doctor_finding finding;
	bool ok = true;
	const char *name;
	int r = 0;

	for (size_t i = 0; (name = doctor_check(i, input, &finding)); i++) {
		if (finding.state == DOCTOR_SKIPPED)
			continue;
		ok = ok && finding.state != DOCTOR_FAIL;
		r |= json_array_append_new(list,
					   json_pack("{s:s, s:s, s:s, s:s}", "check", name, "state",
						     doctor_state_name(finding.state), "text",
						     finding.text, "advice", finding.advice));
	}
	if (r == 0)
		return json_pack("{s:o, s:b}", "checks", list, "ok", ok);
	json_decref(list);
	return NULL;
}

json_t *doctor_report(const char *where, const json_t *host, const char *no_answer)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	const char *path = getenv("PATH");

	exe[n > 0 ? n : 0] = '\0';
	return examine(&(struct doctor_input){
		.root = "",
		.search_path = path ? path : "/bin:/usr/bin",
		.exe = exe,
		.library = getenv("GOVER_FPS_LIB"),
		.layer = getenv("GOVER_CL_LIB"),
		.where = where,
		.host = host,
		.no_answer = no_answer,
	});
}
