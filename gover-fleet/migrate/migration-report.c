/* SPDX-License-Identifier: MIT */
/* One request for each report, and for each read. */
#include <errno.h>
#include <stdio.h>

#include "gover-fleet/migrate/migration-report.h"
#include "gover-fleet/model/host-state.h"

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

	snprintf(path, sizeof(path), "/v1/vgpus/%s/migration", report->vgpu);
	call.body = body;
	r = client_request(gover, &call, &reply, reterr);
	json_decref(body);
	return r == CLIENT_REFUSED && reply.status == 404 ? 0 : r;
}

int migration_report_find_open(struct client *gover, struct migration_open *ret_open,
			       struct err *reterr)
{
	const struct client_call call = {.method = "GET", .path = "/v1/fleet"};
	CLEANUP_REPLY struct reply reply = {0};
	struct migration_open open = {.vgpu = ""};
	const json_t *migration;
	const char *vgpu, *since, *to;
	int r = client_request(gover, &call, &reply, reterr);

	if (r == CLIENT_REFUSED && reply.status == 404)
		r = 0;
	else if (r != 0)
		return r;
	migration = json_object_get(reply.json, "migration");
	if (json_is_object(migration)) {
		vgpu = json_string_value(json_object_get(migration, "vgpu"));
		since = json_string_value(json_object_get(migration, "since"));
		to = json_string_value(json_object_get(migration, "to"));
		snprintf(open.to, sizeof(open.to), "%s", to ? to : "");
		if (!vgpu || id_copy(open.vgpu, vgpu) < 0 || !since ||
		    host_state_parse_time(since, &open.since_ms) < 0)
			return err_fail(reterr, EPROTO,
					"gover-d: the migration in progress cannot be read");
	}
	*ret_open = open;
	return r;
}
