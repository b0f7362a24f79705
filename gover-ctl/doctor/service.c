/* SPDX-License-Identifier: MIT */
/* The check of the daemon: the first cure if it does not answer depends on the state of its unit.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/terminal/field.h"
#include "base/terminal/writer.h"
#include "client/denied.h"
#include "gover-ctl/doctor/doctor.h"
#include "gover-ctl/unit.h"

#define LOG_ADVICE "see the log: journalctl -u gover-d -n 20"

/* Texts and cures by the state of the unit; the first row that matches applies. */
static const struct {
	const char *active, *result; /* NULL: any */
	const char *text, *advice;
	bool names_result; /* the result follows the text */
} states[] = {
	{"failed", "exit-code", "gover-d.service has failed: gover-d exits with an error",
	 "sudo gover-ctl config check; journalctl -u gover-d -n 20; then sudo systemctl "
	 "reset-failed gover-d && sudo systemctl start gover-d",
	 false},
	{"failed", NULL, "gover-d.service has failed: ",
	 "journalctl -u gover-d -n 20; then sudo systemctl reset-failed gover-d && sudo systemctl "
	 "start gover-d",
	 true},
	{"inactive", NULL, "gover-d.service is not started", "sudo systemctl enable --now gover-d",
	 false},
	{"activating", NULL, "gover-d.service is starting, or waits for a restart", LOG_ADVICE,
	 false},
	{"deactivating", NULL, "gover-d.service is stopping", LOG_ADVICE, false},
};

static void explain_unit(const struct doctor_input *input, const struct unit *unit,
			 struct finding *finding)
{
	const char *socket = input->config ? field_text(input->config, "socket") : input->where;

	if (!unit->loaded && strcmp(unit->enabled, "masked") != 0) {
		finding_advise(finding, FINDING_FAIL, input->no_answer,
			       "%s is not installed: sudo apt install gover", UNIT_NAME);
		return;
	}
	if (strcmp(unit->enabled, "masked") == 0) {
		finding_set(finding, FINDING_FAIL,
			    "sudo systemctl unmask gover-d && sudo systemctl enable --now gover-d",
			    "gover-d.service is masked");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		if (strcmp(states[i].active, unit->active) != 0 ||
		    (states[i].result && strcmp(states[i].result, unit->result) != 0))
			continue;
		finding_set(finding, FINDING_FAIL, states[i].advice, "%s%s", states[i].text,
			    states[i].names_result ? unit->result : "");
		return;
	}
	if (strcmp(socket, input->where) != 0)
		finding_advise(finding, FINDING_FAIL, input->no_answer,
			       "gover-d.service runs with another socket: set --socket %s, or "
			       "GOVER_SOCKET",
			       socket);
	else
		finding_set(finding, FINDING_FAIL, LOG_ADVICE, "gover-d.service is %s: %s",
			    unit->active, input->no_answer);
}

static void explain_silence(const struct doctor_input *input, struct finding *finding)
{
	const struct installation *i = input->installation;
	struct denied denied;

	if (!input->over_socket)
		finding_set(finding, FINDING_FAIL, "start it: systemctl start gover-d", "%s",
			    input->no_answer);
	else if (denied_explain(input->where, &denied))
		finding_set(finding, FINDING_FAIL, denied.command, "%s", denied.text);
	else if (i && i->unit.known)
		explain_unit(input, &i->unit, finding);
	else
		finding_set(finding, FINDING_FAIL,
			    "start it (systemctl start gover-d), or set --socket or GOVER_SOCKET",
			    "%s", input->no_answer);
}

void doctor_service_check(const struct doctor_input *input, struct finding *finding)
{
	char up[WRITER_SPAN_MAX];

	if (input->refused) {
		finding_set(finding, FINDING_OK, "", "gover-d is running at %s", input->where);
	} else if (!input->host) {
		explain_silence(input, finding);
	} else {
		writer_format_span(field_number(input->host, "uptime_s"), up);
		finding_set(finding, FINDING_OK, "", "gover-d %s is running at %s, up %s",
			    field_text(input->host, "version"), input->where, up);
	}
}
