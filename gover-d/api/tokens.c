/* SPDX-License-Identifier: MIT */
/*
 * Routes of tokens. The text of a new token is sent once, after its hash was written to disk. A
 * revoked token is invalid at once.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "gover-d/api/audit.h"
#include "gover-d/api/handler.h"
#include "gover-d/api/problem.h"
#include "gover-d/auth/tokens.h"
#include "gover-d/util/json-decode.h"
#include "gover-d/util/json-encode.h"
#include "gover-d/util/log.h"
#include "gover-d/util/worker.h"

#define SCOPE_MAX 8
#define TTL_MIN_S 60
#define TTL_MAX_S 315360000 /* ten years */

struct token_job {
	struct worker_job job; /* must be the first member: the worker passes it to the callbacks */
	struct api *api;
	struct tokens *tokens; /* owned by authn, which outlives the worker */
	struct api_deferred *deferred;
	char path[PATH_MAX], name[ID_MAX];
	char *text;  /* new contents of tokens.json */
	char *reply; /* reply with the new token; NULL: the job removes a token */
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

static json_t *encode_token(const struct token *token, const char *text)
{
	struct json_encode o = json_encode_begin();

	json_encode_add(&o, "name", json_string(token->name));
	json_encode_add(&o, "scope", json_string(access_scope_name(token->scope)));
	json_encode_add(&o, "created_at", json_encode_time(token->created_ms));
	json_encode_add(&o, "expires_at", json_encode_time(token->expires_ms));
	if (text)
		json_encode_add(&o, "token", json_string(text));
	return json_encode_end(&o);
}

json_t *api_encode_token(struct api *api, const char *name)
{
	const struct token *token = tokens_named(authn_tokens(api->authn), name);

	return token ? encode_token(token, NULL) : NULL;
}

void api_get_tokens(struct api *api, struct api_request *request)
{
	const struct tokens *tokens = authn_tokens(api->authn);
	const struct token *token;
	json_t *list = json_array();

	for (size_t i = 0; (token = tokens_at(tokens, i)); i++)
		json_encode_append(&list, encode_token(token, NULL));
	api_reply_list(request, "tokens", list);
}

static void run(struct worker_job *job)
{
	struct token_job *save = (struct token_job *)job;

	save->result = file_replace(save->path, save->text, strlen(save->text));
}

/*
 * Replies after the write. If the write failed, a new token is not created. A removed token whose
 * removal was not written becomes valid again at a restart.
 */
static void answer(struct token_job *save, struct api_request *request)
{
	if (save->result < 0 && save->reply) {
		api_audit_undone(request);
		problem_reply(request, 507, "token not created: %s cannot be written: %s",
			      save->path, strerror(-save->result));
	} else if (save->result < 0) {
		problem_reply(
			request, 507,
			"token %s: removed, but valid again after a restart, because %s cannot be "
			"written (%s); remove the token again before a restart",
			save->name, save->path, strerror(-save->result));
	} else if (save->reply) {
		api_request_reply_text(request, 201, API_TYPE_JSON, save->reply);
		save->reply = NULL;
		snprintf(request->reply.location, sizeof(request->reply.location), "/v1/tokens/%s",
			 save->name);
	} else {
		api_request_reply_empty(request, 204);
	}
	api_request_answer(request);
}

static void free_job(struct token_job *save)
{
	if (save->reply)
		explicit_bzero(save->reply, strlen(save->reply));
	free(save->reply);
	free(save->text);
	free(save);
}

static void done(struct worker_job *job)
{
	struct token_job *save = (struct token_job *)job;
	struct api_request *request = api_deferred_end(save->deferred);

	save->api->tokens_unsaved = save->result < 0;
	if (save->result < 0) {
		log_error("%s: cannot be written: %s", save->path, strerror(-save->result));
		if (save->reply)
			(void)tokens_remove(save->tokens, save->name);
	}
	if (request)
		answer(save, request);
	free_job(save);
}

/* Writes the tokens to disk, then replies. Takes over @reply. */
static void save_tokens(struct api *api, struct api_request *request, const char *name, char *reply)
{
	struct token_job *save = calloc(1, sizeof(*save));
	int r = -ENOMEM;

	if (save) {
		save->job.run = run;
		save->job.done = done;
		save->api = api;
		save->tokens = authn_tokens(api->authn);
		save->reply = reply;
		save->text = tokens_encode(save->tokens);
		snprintf(save->path, sizeof(save->path), "%s", authn_tokens_path(api->authn));
		memcpy(save->name, name, strlen(name) + 1);
		save->deferred = save->text ? api_deferred_begin(request) : NULL;
	}
	if (save && save->deferred)
		r = worker_submit(api->view->saver, &save->job);
	if (r == 0)
		return;
	if (save && save->deferred) {
		save->result = r;
		done(&save->job);
		return;
	}
	if (reply)
		(void)tokens_remove(authn_tokens(api->authn), name);
	if (save)
		free_job(save);
	else
		free(reply);
	problem_reply(request, 500, "no memory");
}

/* Checks whether tokens can be changed. If not, sets the reply and returns false. */
static bool can_change(struct api *api, struct api_request *request)
{
	if (api->view->dry_run)
		problem_reply(request, 409, "dry run: tokens cannot be changed");
	else if (!authn_tokens_path(api->authn))
		problem_reply(request, 500,
			      "tokens.json of the state directory could not be read at the start "
			      "(see the log): repair or remove it and restart the daemon");
	else
		return true;
	return false;
}

void api_post_token(struct api *api, struct api_request *request)
{
	const int64_t now_ms = clock_now().wall_ms;
	struct wanted wanted = {.ttl_s = 0};
	struct token token = {.created_ms = now_ms};
	char text[TOKEN_TEXT_SIZE];
	struct err err = {""};
	unsigned int bits;
	char *reply;
	int r;

	if (json_decode_object(request->object, fields, WANTED_NAME | WANTED_SCOPE | WANTED_TTL,
			       WANTED_NAME | WANTED_SCOPE, &wanted, &bits, &err) < 0) {
		problem_reply(request, 422, "%s", err.msg);
		return;
	}
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
	r = tokens_add(authn_tokens(api->authn), &token, text, &err);
	if (r < 0) {
		problem_reply_error(request,
				    r == -EEXIST   ? CONTROL_E_EXISTS
				    : r == -ENOSPC ? CONTROL_E_TOO_MANY
						   : r,
				    &err);
		return;
	}
	reply = json_encode_dump(encode_token(&token, text));
	explicit_bzero(text, sizeof(text));
	if (reply) {
		save_tokens(api, request, token.name, reply);
		return;
	}
	(void)tokens_remove(authn_tokens(api->authn), token.name);
	problem_reply(request, 500, "no memory");
}

void api_delete_token(struct api *api, struct api_request *request)
{
	char name[ID_MAX];

	if (!can_change(api, request))
		return;
	if (id_copy(name, request->param) < 0 ||
	    (tokens_remove(authn_tokens(api->authn), name) < 0 && !api->tokens_unsaved)) {
		problem_reply(request, 404, "token %.100s: not found", request->param);
		return;
	}
	api_events_revoke(api, name);
	/* An earlier request may have removed the token without writing the file: write it now. */
	save_tokens(api, request, name, NULL);
}
