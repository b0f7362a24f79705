/* SPDX-License-Identifier: MIT */
/*
 * Routes of tokens. A change is made in a copy of the tokens, which replaces them once it is on
 * disk. The row of the audit log is stored before: after a crash in between, there can be a row of
 * a change that was not made, but no change without a row. The text of a new token is sent once.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/xalloc.h"
#include "gover-d/api/api.h"
#include "gover-d/api/change.h"
#include "gover-d/api/resource.h"
#include "gover-d/api/resource/events-stream.h"
#include "gover-d/api/resource/routes.h"
#include "gover-d/api/serve.h"
#include "gover-d/auth/tokens.h"
#include "gover-d/change/control.h"
#include "gover-d/util/json.h"
#include "gover-d/util/log.h"
#include "gover-d/util/worker.h"

#define SCOPE_MAX 8
#define TTL_MIN_S 60
#define TTL_MAX_S 315360000 /* ten years */

#define EXPIRY_RETRY_NS (60 * NS_PER_S)

struct token_job {
	struct worker_job job; /* must be the first member: the worker passes it to the callbacks */
	struct api *api;
	struct api_change *change;
	struct change_done done;    /* of @change */
	struct tokens *planned;	    /* owned: the tokens after the change */
	char path[PATH_MAX], *text; /* tokens.json and its new contents */
	int result;
};

struct wanted {
	char name[ID_MAX], scope[SCOPE_MAX];
	int ttl_s; /* lifetime of the token; 0: never expires */
};

enum { WANTED_NAME = 1, WANTED_SCOPE = 2, WANTED_TTL = 4 };

static const struct json_decode_field fields[] = {
	{"name", JSON_DECODE_ID, 0, 0, offsetof(struct wanted, name), WANTED_NAME},
	{"scope", JSON_DECODE_TEXT, 0, SCOPE_MAX - 1, offsetof(struct wanted, scope), WANTED_SCOPE},
	{"ttl_s", JSON_DECODE_WHOLE, TTL_MIN_S, TTL_MAX_S, offsetof(struct wanted, ttl_s),
	 WANTED_TTL},
	{.name = NULL},
};

static void get_tokens(struct api *api, struct api_request *request)
{
	const struct tokens *tokens = authn_tokens(api->authn);
	const struct token *token;
	json_t *list = json_array();

	for (size_t i = 0; (token = tokens_at(tokens, i)); i++)
		json_array_append_new(list, resource_encode_token(token, NULL));
	api_request_reply_json(request, 200, json_pack("{s:o}", "tokens", list));
}

static void get_token(struct api *api, struct api_request *request)
{
	const struct token *token = tokens_named(authn_tokens(api->authn), request->param);

	if (token)
		api_request_reply_json(request, 200, resource_encode_token(token, NULL));
	else
		problem_reply(request, 404, "token %.100s: not found", request->param);
}

static void run(struct worker_job *job)
{
	struct token_job *save = (struct token_job *)job;

	save->result = file_replace(save->path, save->text, strlen(save->text));
}

static void free_job(struct token_job *save)
{
	tokens_free(save->planned);
	free(save->text);
	free(save);
}

/* Replies with the new token and its secret text. */
static void reply_created(struct api *api, struct api_request *request)
{
	(void)api;
	api_request_reply_text(request, 201, API_TYPE_JSON, xstrdup(request->change->text));
	request->reply.headers = api_no_store;
	snprintf(request->reply.location, sizeof(request->reply.location), "/v1/tokens/%s",
		 request->change->id);
}

/* Ends the change and frees @save. */
static void end_job(struct token_job *save, int result, const struct err *err)
{
	struct change_done done = save->done;
	char *secret = save->change->text;

	save->api->saving_tokens = false;
	free_job(save);
	done.call(done.userdata, result, err);
	if (secret)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

static void end_unwritten(struct token_job *save, int error)
{
	struct err err = {""};
	int r = err_condition(&err, CONTROL_E_NOT_STORED,
			      "%s cannot be written (%s): nothing was changed", save->path,
			      file_error(error));

	end_job(save, r, &err);
}

static void done(struct worker_job *job)
{
	struct token_job *save = (struct token_job *)job;
	struct api *api = save->api;

	if (save->result < 0) {
		log_error("%s: cannot be written: %s", save->path, file_error(save->result));
		end_unwritten(save, save->result);
		return;
	}
	tokens_assign(authn_tokens(api->authn), save->planned);
	api_events_end_invalid(api);
	end_job(save, 0, &(struct err){""});
}

/* The row of the audit log is stored, or cannot be stored. */
static void write_tokens(void *userdata, int result, const struct err *err)
{
	struct token_job *save = userdata;
	int r;

	if (result != 0) {
		end_job(save, result, err);
		return;
	}
	r = worker_submit(save->api->view->saver, &save->job);
	if (r < 0)
		end_unwritten(save, r);
}

/* Returns a job with a copy of the tokens, for the caller to change. */
static struct token_job *new_job(struct api *api)
{
	struct token_job *save = xcalloc(1, sizeof(*save));

	save->planned = tokens_new();
	tokens_assign(save->planned, authn_tokens(api->authn));
	save->job.run = run;
	save->job.done = done;
	save->api = api;
	snprintf(save->path, sizeof(save->path), "%s", authn_tokens_path(api->authn));
	return save;
}

/* Stores the row of the audit log, then the tokens, makes the change and replies. Takes over @save.
 */
static void save_tokens(struct token_job *save, struct api_change *change)
{
	struct err err = {""};
	int r;

	save->change = change;
	save->done = api_change_done(change);
	save->text = tokens_encode(save->planned);
	save->api->saving_tokens = true;
	r = control_store_audit(save->api->changes,
				(struct change_done){.call = write_tokens,
						     .userdata = save,
						     .audit = save->done.audit},
				&err);
	if (r != 0)
		write_tokens(save, r, &err);
}

static void expiry_written(struct worker_job *job)
{
	struct token_job *save = (struct token_job *)job;
	struct api *api = save->api;

	api->saving_tokens = false;
	api->expiry_due_ns = 0;
	if (save->result < 0) {
		log_error("%s: cannot be written, so expired tokens may be valid again after a "
			  "restart with an earlier time: %s",
			  save->path, file_error(save->result));
		api->expiry_due_ns = clock_now().mono_ns + EXPIRY_RETRY_NS;
	}
	free_job(save);
	api_resume(api);
}

void api_expire_tokens(struct api *api, struct instant now)
{
	struct token_job *save;

	if (api->saving_tokens) /* its tokens would replace the marks */
		return;
	if (tokens_expire(authn_tokens(api->authn), now.wall_ms))
		api->expiry_due_ns = now.mono_ns;
	if (api->expiry_due_ns == 0 || now.mono_ns < api->expiry_due_ns || api->view->dry_run ||
	    !authn_tokens_path(api->authn))
		return;
	save = new_job(api);
	save->job.done = expiry_written;
	save->text = tokens_encode(save->planned);
	api->saving_tokens = worker_submit(api->view->saver, &save->job) == 0;
	if (!api->saving_tokens)
		free_job(save);
}

/* Checks whether tokens can be changed now. If not, sets or defers the reply and returns false. */
static bool can_change(struct api *api, struct api_request *request)
{
	if (api->view->dry_run)
		problem_reply(request, 409, "dry run: tokens cannot be changed");
	else if (!authn_tokens_path(api->authn))
		problem_reply(request, 500,
			      "tokens.json of the state directory could not be read at the start "
			      "(see the log): repair or remove it and restart the daemon");
	else if (api->saving_tokens)
		api_park(api, request, &(struct change_subject){.other = API_TOKENS});
	else
		return true;
	return false;
}

static void post_token(struct api *api, struct api_request *request)
{
	const int64_t now_ms = clock_now().wall_ms;
	struct wanted wanted = {.ttl_s = 0};
	struct token token = {.created_ms = now_ms};
	char text[TOKEN_TEXT_SIZE];
	struct api_change *change;
	struct token_job *save;
	struct err err = {""};
	unsigned int bits;
	int r;

	if (api_decode(request, fields, WANTED_NAME | WANTED_SCOPE, &wanted, &bits) < 0)
		return;
	memcpy(token.name, wanted.name, sizeof(token.name));
	token.scope = access_scope_find(wanted.scope);
	token.expires_ms = wanted.ttl_s ? now_ms + (int64_t)wanted.ttl_s * 1000 : 0;
	if (token.scope == ACCESS_NONE) {
		problem_reply(request, 422,
			      "scope: \"%s\" is invalid (allowed: read, operate, admin)",
			      wanted.scope);
		return;
	}
	if (!can_change(api, request))
		return;
	save = new_job(api);
	r = tokens_add(save->planned, &token, text, &err);
	if (r < 0) {
		problem_reply_error(request,
				    r == -EEXIST   ? CONTROL_E_EXISTS
				    : r == -ENOSPC ? CONTROL_E_TOO_MANY
						   : r,
				    &err);
		free_job(save);
		return;
	}
	change = api_change_new(api, request, reply_created);
	memcpy(change->id, token.name, sizeof(change->id));
	change->text = json_encode_dump(resource_encode_token(&token, text));
	save_tokens(save, change);
	explicit_bzero(text, sizeof(text));
}

static void delete_token(struct api *api, struct api_request *request)
{
	struct token_job *save;

	if (!can_change(api, request))
		return;
	save = new_job(api);
	if (tokens_remove(save->planned, request->param) < 0) {
		problem_reply(request, 404, "token %.100s: not found", request->param);
		free_job(save);
		return;
	}
	save_tokens(save, api_change_new(api, request, api_change_reply_none));
}

const struct api_route tokens_routes[] = {
	{"GET", "/v1/tokens", get_tokens, ACCESS_ADMIN, 0, {NULL}},
	{"POST", "/v1/tokens", post_token, ACCESS_ADMIN, API_OBJECT, {NULL}},
	{"GET", "/v1/tokens/{name}", get_token, ACCESS_ADMIN, 0, {NULL}},
	{"DELETE", "/v1/tokens/{name}", delete_token, ACCESS_ADMIN, 0, {NULL}},
	{.method = NULL},
};
