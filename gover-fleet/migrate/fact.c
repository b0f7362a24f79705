/* SPDX-License-Identifier: MIT */
/* One request for each fact. */
#include <errno.h>
#include <stdio.h>

#include "gover-fleet/migrate/fact.h"

static const char *or_null(const char *text)
{
	return text && text[0] ? text : NULL;
}

int fact_report(struct client *gover, const struct fact *fact, struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[CLIENT_PATH_MAX];
	struct client_call call = {.method = "POST", .path = path};
	json_t *body = json_pack("{s:s, s:s?, s:s?}", "state", fact->state, "to", or_null(fact->to),
				 "reason", or_null(fact->reason));
	json_t *duration = fact->duration_ms < 0 ? json_null() : json_integer(fact->duration_ms);
	int r;

	if (!body || json_object_set_new(body, "duration_ms", duration) < 0) {
		json_decref(body);
		return err_fail(reterr, ENOMEM, "out of memory");
	}
	snprintf(path, sizeof(path), "/v1/vgpus/%s/migration", fact->vgpu);
	call.body = body;
	r = client_request(gover, &call, &reply, reterr);
	json_decref(body);
	return r == CLIENT_REFUSED && reply.status == 404 ? 0 : r;
}
