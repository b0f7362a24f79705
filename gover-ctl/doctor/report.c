/* SPDX-License-Identifier: MIT */
/* Runs all checks, also after a failed check, and encodes the findings. */
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gover-ctl/doctor/doctor.h"
#include "gover-ctl/doctor/report.h"
#include "gover-ctl/installation.h"
#include "gover-d/config/config.h"

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

/* Reads the configuration of the installation; NULL: it cannot be read. */
static struct config *read_config(const struct installation *installation)
{
	struct config *config = malloc(sizeof(*config));

	if (!config)
		return NULL;
	config_default(config);
	if (config_load(config, installation->config[0] ? installation->config : NULL, NULL) >= 0)
		return config;
	free(config);
	return NULL;
}

json_t *doctor_report(const struct doctor_daemon *daemon, bool anonymous)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	const char *path = getenv("PATH");
	struct installation installation;
	CLEANUP_FREE struct config *config = NULL;

	installation_examine(daemon->over_socket ? daemon->host : NULL, &installation);
	config = read_config(&installation);
	exe[n > 0 ? n : 0] = '\0';
	return examine(&(struct doctor_input){
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
		.anonymous = anonymous,
		.installation = daemon->over_socket ? &installation : NULL,
		.config = daemon->over_socket ? config : NULL,
	});
}
