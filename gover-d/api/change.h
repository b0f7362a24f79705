/* SPDX-License-Identifier: MIT */
/*
 * Requests that change something, and their idempotency keys. The reply is deferred until the
 * change has ended; the audit row is written at the same time. If the client disconnects meanwhile,
 * the change continues.
 */
#ifndef GOVER_D_API_CHANGE_H
#define GOVER_D_API_CHANGE_H

#include "gover-d/api/handler.h"
#include "gover-d/change/change.h"

struct api_change;

/* Sets the reply after request->change was applied. */
typedef void (*api_change_reply)(struct api *api, struct api_request *request);

/* Replies 204, without a body. */
void api_change_reply_none(struct api *api, struct api_request *request);

struct api_change {
	struct api *api;
	api_change_reply reply;
	/* for reply(), set by the handler; unused: empty */
	char id[ID_MAX];
	int64_t number;
	char body_hash[BODY_HASH_MAX];
	char *text;
	/* for the function that begins the change */
	struct err err;
	/* The members below are private. */
	struct change_subject conflict;
	struct api_deferred *deferred;
	struct api_audit *audit;
};

/*
 * Defers the reply to @request. The handler then begins the change with api_change_done() and
 * change->err, and passes the result to api_change_begun().
 */
struct api_change *api_change_new(struct api *api, struct api_request *request,
				  api_change_reply reply);
struct change_done api_change_done(struct api_change *change);
/*
 * If @result is not 0, frees @change and replies with the error. If it is -EBUSY, the request waits
 * instead until the conflicting change has ended, and is then served again.
 */
void api_change_begun(struct api_change *change, int result);

/*
 * Idempotency keys: a request with the key of an earlier request gets the same reply and is not
 * executed again. The replies of the newest API_KEYS_KEPT keys are stored in memory. A contract
 * contains the key of the request that created it, so the key is still known after a restart. Each
 * caller has its own keys.
 */

#define API_KEYS_KEPT 256

struct api_keys;
struct api_keys *api_keys_free(struct api_keys *keys); /* accepts NULL; returns NULL */

/* True if @key has 1 to 127 printable characters without spaces. */
bool api_keys_valid(const char *key);
/* Checks the key of @request, if there is one. -EINVAL: the key is invalid; the reply is set. */
int api_keys_check(struct api_request *request);

/*
 * Writes the stored form of the key, which contains the name of the caller, into @key; "" if the
 * request has no key.
 */
void api_keys_own(const struct api_request *request, char key[CLAIM_MAX]);

/* Writes a hash of @object into @hash. The hash does not depend on the formatting of the body. */
void api_keys_hash(const json_t *object, char hash[BODY_HASH_MAX]);

/*
 * Returns false if the key of @request is not stored. Otherwise returns true and sets the reply:
 * the stored reply, or 422 if @hash differs from that of the first request.
 */
bool api_keys_replay(struct api *api, struct api_request *request, const char *hash);
/*
 * Stores the reply of @request, if it has a key. An error of the server is not stored, because it
 * may not occur when the request is repeated. @hash: hash of the body.
 */
void api_keys_keep(struct api *api, const struct api_request *request, const char *hash);
/* Sets the reply 422: the key was used for a different request. */
void api_keys_refuse(struct api_request *request);

/*
 * The audit log: one row for each request that changed something, with the values of the changed
 * fields before and after the request. Each row is also logged. A row never contains the secret
 * text of a token. If the queue of the history is full, the row is only logged.
 */

/*
 * Encodes the resource before the change. Call it before the handler of a route that changes
 * something.
 */
void api_audit_begin(struct api *api, struct api_request *request);
/* Returns the audit of @request, which the caller must end; NULL: there is none. */
struct api_audit *api_audit_take(struct api_request *request);
/*
 * Ends @audit, which may be NULL. Writes its row if the request has @changed something or if
 * @status is 507. @status 0: the client disconnected before the reply.
 */
void api_audit_end(struct api_audit *audit, unsigned int status, bool changed);

/*
 * Writes the members that differ between @before and @after as JSON into @ret_before and
 * @ret_after, which have @size bytes each. The text of a NULL object is "". Values that do not fit
 * are replaced by "...". Takes over the references to @before and @after.
 */
void api_audit_differ(json_t *before, json_t *after, char *ret_before, char *ret_after,
		      size_t size);

#endif
