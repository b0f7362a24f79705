/* SPDX-License-Identifier: MIT */
/* `doctor`: prints the findings. */
#include <string.h>

#include "base/terminal/field.h"
#include "gover-ctl/doctor/report.h"
#include "gover-ctl/verb/verbs.h"

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

enum ctl_exit verb_doctor(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	struct client_call call = {.method = "GET", .path = "/v1/host"};
	struct err err = {.msg = ""};
	const json_t *finding;
	enum ctl_exit done;
	json_t *report;
	size_t i;
	int r = ctl_open_client(ctl, &err);

	(void)args;
	if (r < 0)
		return ctl_fail(ctl_exit_code(r), "%s", err.msg);
	r = ctl_try_request(ctl, &call, &reply, &err);
	report = doctor_report(&(struct doctor_daemon){.where = client_address(ctl->client),
						       .over_socket = !ctl->url,
						       .host = r == 0 ? reply.json : NULL,
						       .no_answer = err.msg,
						       .refused = r == CLIENT_REFUSED});
	done = field_true(report, "ok") ? CTL_DONE : CTL_FAILED;
	if (ctl->writer.json) {
		writer_json(&ctl->writer, report);
	} else {
		json_array_foreach (json_object_get(report, "checks"), i, finding) {
			print(&ctl->writer, finding);
		}
	}
	json_decref(report);
	return done;
}
