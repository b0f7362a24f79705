/* SPDX-License-Identifier: MIT */
/* One request for each report. */
#include <errno.h>
#include <stdio.h>

#include "gover-fleet/migrate/migration-report.h"

#define TEXT_MAX 256 /* of gover-d, with the NUL */

/*
 * Returns the text as gover-d accepts it, or null. Texts of libvirt can have other bytes than
 * ASCII, and may be cut within a character.
 */
static json_t *encode_text(const char *text)
{
	char copy[TEXT_MAX];

	if (!text || !text[0])
		return json_null();
	snprintf(copy, sizeof(copy), "%s", text);
	for (char *c = copy; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return json_string(copy);
}

int migration_report_send(struct client *gover, const struct migration_report *report,
			  struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[CLIENT_PATH_MAX];
	struct client_call call = {.method = "POST", .path = path};
	json_t *duration =
		report->duration_ms < 0 ? json_null() : json_integer(report->duration_ms);
	json_t *body = json_pack("{s:s, s:o, s:o, s:o}", "state", report->state, "to",
				 encode_text(report->to), "reason", encode_text(report->reason),
				 "duration_ms", duration);
	int r;

	if (!body)
		return err_fail(reterr, ENOMEM, "out of memory");
	snprintf(path, sizeof(path), "/v1/vgpus/%s/migration", report->vgpu);
	call.body = body;
	r = client_request(gover, &call, &reply, reterr);
	json_decref(body);
	return r == CLIENT_REFUSED && reply.status == 404 ? 0 : r;
}
