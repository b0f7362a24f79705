/* SPDX-License-Identifier: MIT */
/* Replies to requests whose change has ended. */
#include <errno.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "gover-d/api/audit.h"
#include "gover-d/api/change.h"
#include "gover-d/api/serve.h"

void api_change_reply_none(struct api *api, struct api_request *request)
{
	(void)api;
	api_request_reply_empty(request, 204);
}

int api_change_key(struct api_request *request, struct control_key *ret_key)
{
	const char *given = request->idempotency_key;

	if (given && !keys_valid(given)) {
		problem_reply(request, 400,
			      "Idempotency-Key: invalid (allowed: 1 to %d printable characters "
			      "without spaces)",
			      CLAIM_MAX - 1);
		return -EINVAL;
	}
	*ret_key = (struct control_key){
		.owner = request->principal.name,
		.given = given,
		.body = request->object,
	};
	return 0;
}

struct api_change *api_change_new(struct api *api, struct api_request *request,
				  api_change_reply reply)
{
	struct api_change *change = xcalloc(1, sizeof(*change));

	change->deferred = api_deferred_begin(request);
	change->api = api;
	change->reply = reply;
	change->audit = api_audit_take(request);
	return change;
}

/* If the client has disconnected, only the audit row is written. */
static void ended(void *userdata, int result, const struct err *err)
{
	struct api_change *change = userdata;
	struct api *api = change->api;
	struct api_request *request = api_deferred_end(change->deferred);

	if (request && (result == 0 || result == CONTROL_E_REPEATED)) {
		request->change = change;
		change->reply(api, request);
		request->change = NULL;
	} else if (request) {
		problem_reply_error(request, result, err);
	}
	api_audit_end(change->audit, request ? request->reply.status : 0, result == 0);
	api->version++;
	free(change);
	if (request)
		api_request_answer(request);
	api_resume(api);
}

struct change_done api_change_done(struct api_change *change)
{
	return (struct change_done){
		.call = ended,
		.userdata = change,
		.ret_conflict = &change->conflict,
		.audit = api_audit_plan(change->audit),
	};
}

void api_change_begun(struct api_change *change, int result)
{
	if (result == -EBUSY) {
		/* The request begins again later, so this attempt has no audit row. */
		api_audit_end(change->audit, /* status= */ 0, /* changed= */ false);
		api_park(change->api, api_deferred_end(change->deferred), &change->conflict);
		free(change);
	} else if (result != 0) {
		ended(change, result, &change->err);
	}
}
