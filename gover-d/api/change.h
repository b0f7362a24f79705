/* SPDX-License-Identifier: MIT */
/*
 * Requests that change something. The reply is deferred until the change has ended; the audit row
 * is written at the same time. If the client disconnects meanwhile, the change continues.
 */
#ifndef GOVER_D_API_CHANGE_H
#define GOVER_D_API_CHANGE_H

#include "gover-d/api/handler.h"
#include "gover-d/change/keys.h"

struct api_change;

/* Sets the reply after request->change was applied, now or by an earlier request with this key. */
typedef void (*api_change_reply)(struct api *api, struct api_request *request);

/* Replies 204, without a body. */
void api_change_reply_none(struct api *api, struct api_request *request);

struct api_change {
	struct api *api;
	api_change_reply reply;
	/* for reply(), set by the handler; unused: empty */
	char id[ID_MAX];
	int64_t number;
	char *text;
	/* for the function that begins the change */
	struct err err;
	/* The members below are private. */
	struct change_subject conflict;
	struct api_deferred *deferred;
	struct api_audit *audit;
};

/*
 * Sets @ret_key to the idempotency key of @request, whose strings it borrows. -EINVAL: the key is
 * not allowed; the reply is set.
 */
int api_change_key(struct api_request *request, struct control_key *ret_key);

/*
 * Defers the reply to @request. The handler then begins the change with api_change_done() and
 * change->err, and passes the result to api_change_begun().
 */
struct api_change *api_change_new(struct api *api, struct api_request *request,
				  api_change_reply reply);
struct change_done api_change_done(struct api_change *change);
/*
 * If @result is not 0, frees @change and replies with the error, or for CONTROL_E_REPEATED as after
 * the change. If it is -EBUSY, the request waits instead until the conflicting change has ended,
 * and is then served again.
 */
void api_change_begun(struct api_change *change, int result);

#endif
